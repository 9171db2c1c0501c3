"""Page of the ranking on another scale, and its export."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.dashboard.scale.actions import keep_anchors
from annotate.dashboard.scale.anchor_files import read_anchor_file
from annotate.dashboard.scale.forms import AnchorsFileForm, ScaleForm
from annotate.dashboard.scale.queries import Anchors, Scale, Scaled, anchors_to_keep, scaled_ranking
from annotate.files.downloads import sent
from annotate.files.limits import BadFile
from annotate.files.writers import csv_chunks
from annotate.fitting.published import published_fit
from models_engine.models import Fit

EVERYTHING = 10**9
COLUMNS = ("item", "title", "value", "value_low", "value_high", "is_anchor", "fit", "deviation")


def scale_form(request: HttpRequest, criterion: Criterion) -> ScaleForm:
    return ScaleForm(criterion, request.user, request.GET if "kind" in request.GET else None)  # type: ignore[arg-type]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def scale(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Show the ranking on the scale of the address; POST keeps it, forgets it, or keeps the anchors of a file."""
    roles = access.MANAGE if request.method == "POST" else access.SEE
    criterion = requested_criterion(request, project_id, roles)
    project, fit = criterion.project, published_fit(criterion)
    form, file_form = scale_form(request, criterion), AnchorsFileForm()
    fits = not form.is_bound or form.is_valid()
    if request.method == "POST":
        file_form = AnchorsFileForm(request.POST, request.FILES) if request.FILES else file_form
        if save_scale(request, criterion, form.scale() if fits else None, file_form):
            return redirect(reverse("scale", args=[project.pk]) + criterion.query)
    found = scaled_ranking(project, fit, form.scale(), request.GET.get("page", "1")) if fits else None
    context = {"fit": fit, "form": form, "scaled": found, "query": request.GET.urlencode(), "file_form": file_form}
    response = render_page(request, criterion, "dashboard/scale", context)
    response.status_code = 400 if file_form.errors else 200
    return response


def save_scale(request: SignedInRequest, criterion: Criterion, shown: Scale | None, file_form: AnchorsFileForm) -> bool:
    """Keep the scale shown, that of the file, or none; whether it is done."""
    action, anchors, n_others = request.POST.get("action"), Anchors(), 0
    if action == "file":
        if not file_form.is_valid():
            return not request.FILES
        try:
            anchors, n_others = read_anchor_file(criterion.project, file_form.cleaned_data["file"])
        except BadFile as refusal:
            file_form.add_error("file", str(refusal))
            return False
    elif action == "keep" and shown:
        anchors = anchors_to_keep(criterion.project, published_fit(criterion), shown)
    if action in ("keep", "file") and not anchors:
        messages.error(request, _("There is no scale to keep yet. Nothing was changed."))
        return True
    keep_anchors(criterion=criterion, actor=request.user, anchors=anchors, now=timezone.now())
    messages.success(request, scale_message(len(anchors), n_others))
    return True


def scale_message(n: int, n_others: int) -> str:
    if not n:
        return _("The scale is no longer kept.")
    kept = ngettext(
        "The scale is kept by %(n)d anchor, whatever answers come.",
        "The scale is kept by %(n)d anchors, whatever answers come.",
        n,
    ) % {"n": n}
    if not n_others:
        return kept
    left = ngettext(
        "%(n)d item of the file is not in this project.", "%(n)d items of the file are not in this project.", n_others
    )
    return f"{kept} {left % {'n': n_others}}"


@login_required
@require_safe
def export(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Every item on the scale of the address, as CSV; 404 where it gives none."""
    criterion = requested_criterion(request, project_id)
    project, fit = criterion.project, published_fit(criterion)
    form = scale_form(request, criterion)
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
        [row.item.key, row.item.title, row.value, row.low, row.high, row.is_anchor, fit.number, row.deviation]
        for row in found.rows
    ]
