"""Export page, which explains every table, and the streamed downloads."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.dashboard.detail import shows_expert
from annotate.dashboard.heading import page_heading
from annotate.dashboard.overall.queries import overall_of
from annotate.dashboard.project_lookup import requested_criterion
from annotate.dashboard.report import FIRST_ROWS, build_report
from annotate.dashboard.report import MAX_ITEMS as MAX_REPORTED
from annotate.files.writers import FORMATS
from annotate.fitting.published import published_fit
from annotate.models import RunRecord
from annotate.publishing.exports.downloads import SPECIAL, file_response
from annotate.publishing.exports.pairs import MAX_ITEMS
from annotate.publishing.exports.preference_options import NAMES, PreferenceForm, PreferenceOptions, other_table_problem
from annotate.publishing.exports.preference_options import TABLE as PREFERENCES
from annotate.publishing.exports.registry import TABLES, listed
from annotate.publishing.preregistration.queries import deviations_of, preregistration_of


@login_required
@require_safe
def choose(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    project = criterion.project
    now = timezone.now()
    is_part = request.htmx.target == "run-record"  # type: ignore[attr-defined]
    records = RunRecord.objects.filter(project=project, criterion=criterion.number).order_by("-pk")
    context = {
        "project": project,
        "criterion": criterion,
        "heading": page_heading(criterion, now),
        "now": now,
        "listed": None if is_part else listed(project),
        "explained": request.GET.get("columns", ""),
        "formats": list(FORMATS),
        "preference_form": PreferenceForm(auto_id="preferences-%s"),
        "has_matrix": project.items.count() <= MAX_ITEMS,
        "record": records.first(),
        "kept": records.filter(status=RunRecord.Status.READY).first(),
    }
    response = render(request, "publishing/run_record.html" if is_part else "publishing/exports.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target", "Cookie"])
    return response


@login_required
@require_safe
def download(
    request: SignedInRequest, project_id: UUID, table: str, file_format: str
) -> HttpResponse | StreamingHttpResponse:
    criterion = requested_criterion(request, project_id)
    if (table, file_format) not in SPECIAL and (table not in TABLES or file_format not in FORMATS):
        raise Http404
    options = requested_options(request, table)
    check_rate_limit(request, "export")
    if request.method == "GET":
        now = timezone.now()
        record_export(project=criterion.project, actor=request.user, table=table, file_format=file_format, now=now)
    return file_response(request, criterion, table, file_format, options)


class BadExportOptions(UserError):
    """Options in the address that are not valid, or that the table does not have."""

    status = 400


def requested_options(request: HttpRequest, table: str) -> PreferenceOptions:
    """Return the options in the address. Raises BadExportOptions."""
    if table != PREFERENCES and any(name in request.GET for name in NAMES):
        raise BadExportOptions(other_table_problem(table))
    form = PreferenceForm(request.GET if table == PREFERENCES else {})
    if not form.is_valid():
        raise BadExportOptions(
            " ".join(f"{form[name].label}: {' '.join(map(str, problems))}" for name, problems in form.errors.items())
        )
    return form.options()


@login_required
@require_safe
def report_page(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show the ranking report, made to be printed."""
    criterion = requested_criterion(request, project_id)
    fit, now = published_fit(criterion), timezone.now()
    frozen, whole = preregistration_of(criterion.project), "all" in request.GET
    size = MAX_REPORTED if whole else FIRST_ROWS
    context = {
        "project": criterion.project,
        "criterion": criterion,
        "heading": page_heading(criterion, now),
        "now": now,
        "expert": shows_expert(request),
        "frozen": frozen,
        "deviations": deviations_of(criterion.project, frozen),
        "overall": overall_of(criterion.project, size=size) if criterion.project.criteria else None,
        "report": build_report(criterion.project, fit, now, whole=whole) if fit and fit.n_items else None,
    }
    return render(request, "publishing/report.html", context)
