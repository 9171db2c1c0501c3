"""Page of the ranking on another scale, and its export."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.dashboard.scale.forms import ScaleForm
from annotate.dashboard.scale.queries import Scaled, scaled_ranking
from annotate.files.downloads import sent
from annotate.files.writers import csv_chunks
from annotate.fitting.published import published_fit
from annotate.models import Project
from models_engine.models import Fit

EVERYTHING = 10**9
COLUMNS = ("item", "title", "value", "value_low", "value_high", "is_anchor", "fit")


def scale_form(request: HttpRequest, project: Project) -> ScaleForm:
    return ScaleForm(project, request.user, request.GET if "kind" in request.GET else None)  # type: ignore[arg-type]


@login_required
@require_safe
def scale(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    project, fit = criterion.project, published_fit(criterion)
    form = scale_form(request, project)
    fits = not form.is_bound or form.is_valid()
    found = scaled_ranking(project, fit, form.scale(), request.GET.get("page", "1")) if fits else None
    context = {"fit": fit, "form": form, "scaled": found, "query": request.GET.urlencode()}
    return render_page(request, criterion, "dashboard/scale", context)


@login_required
@require_safe
def export(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Every item on the scale of the address, as CSV; 404 where it gives none."""
    criterion = requested_criterion(request, project_id)
    project, fit = criterion.project, published_fit(criterion)
    form = scale_form(request, project)
    found = scaled_ranking(project, fit, form.scale(), size=EVERYTHING) if not form.errors else None
    if fit is None or found is None or found.problem:
        raise Http404
    check_rate_limit(request, "export")
    record_export(project=project, actor=request.user, table="scale", file_format="csv", now=timezone.now())
    response = sent(request, csv_chunks(COLUMNS, export_rows(found, fit)), "text/csv; charset=utf-8")
    name = f"{slugify(project.name) or 'project'}-scale.csv"
    response["Content-Disposition"] = content_disposition_header(True, name) or ""
    return response


def export_rows(found: Scaled, fit: Fit) -> list[list[object]]:
    return [
        [row.item.key, row.item.title, row.value, row.low, row.high, row.is_anchor, fit.number] for row in found.rows
    ]
