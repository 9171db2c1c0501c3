"""Export page, which explains every table, and the streamed downloads."""

from collections.abc import Callable
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate.access import SignedInRequest
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.dashboard.detail import shows_expert
from annotate.dashboard.heading import page_heading
from annotate.dashboard.project_lookup import requested_criterion
from annotate.dashboard.ranking.forest_plot import forest_plot
from annotate.dashboard.ranking.queries import RankingQuery, ranking
from annotate.dashboard.report import build_report
from annotate.files.downloads import sent
from annotate.files.writers import FORMATS, csv_chunks
from annotate.fitting.published import published_fit
from annotate.models import RunRecord
from annotate.publishing.exports.pairs import MAX_ITEMS, matrix
from annotate.publishing.exports.preflib import kind, preflib_chunks
from annotate.publishing.exports.registry import TABLES


@login_required
@require_safe
def choose(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    project = criterion.project
    now = timezone.now()
    records = RunRecord.objects.filter(project=project, criterion=criterion.number).order_by("-pk")
    context = {
        "project": project,
        "criterion": criterion,
        "heading": page_heading(criterion, now),
        "now": now,
        "tables": [(table, table.columns(project)) for table in TABLES.values()],
        "formats": list(FORMATS),
        "has_matrix": project.items.count() <= MAX_ITEMS,
        "record": records.first(),
        "kept": records.filter(status=RunRecord.Status.READY).first(),
    }
    is_part = request.htmx.target == "run-record"  # type: ignore[attr-defined]
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
    check_rate_limit(request, "export")
    if request.method == "GET":
        now = timezone.now()
        record_export(project=criterion.project, actor=request.user, table=table, file_format=file_format, now=now)
    return file_response(request, criterion, table, file_format)


def file_response(
    request: HttpRequest, criterion: Criterion, table: str, file_format: str
) -> HttpResponse | StreamingHttpResponse:
    """Send what there is under this name and format, to be saved under a name with the project's."""
    special = SPECIAL.get((table, file_format))
    if (table, file_format) == PREFLIB:
        file_format = kind(criterion)
    response = special(request, criterion, file_format) if special else stream(request, criterion, table, file_format)
    number = f"-{criterion.number}" if criterion.project.criteria and table not in ALL_CRITERIA else ""
    name = f"{slugify(criterion.project.name)[:60] or 'project'}-{table}{number}.{file_format}"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def is_available(criterion: Criterion) -> dict[str, tuple[str, str, list[str]]]:
    """Return title, explanation and formats of everything that can be exported now, by name."""
    special = dict.fromkeys(SPECIAL, True)
    special["matrix", "csv"] = criterion.project.items.count() <= MAX_ITEMS
    fit = published_fit(criterion)
    special["ranking", "svg"] = bool(fit and fit.n_items)
    found = {
        name: (str(table.title), str(table.about), [*FORMATS, *(kind for one, kind in SPECIAL if one == name)])
        for name, table in TABLES.items()
    }
    found["matrix"] = (_("Win matrix"), _("How often each item was preferred to each other item."), ["csv"])
    for (name, file_format), there in special.items():
        if not there:
            found[name][2].remove(file_format)
    return {name: one for name, one in found.items() if one[2]}


def stream(request: HttpRequest, criterion: Criterion, table: str, file_format: str) -> StreamingHttpResponse:
    content_type, encode = FORMATS[file_format]
    return sent(request, encode(TABLES[table].columns(criterion.project), TABLES[table].rows(criterion)), content_type)


def win_matrix(request: HttpRequest, criterion: Criterion, _ending: str) -> StreamingHttpResponse:
    if criterion.project.items.count() > MAX_ITEMS:
        raise Http404
    return sent(request, csv_chunks(*matrix(criterion)), FORMATS["csv"][0])


def preflib(request: HttpRequest, criterion: Criterion, ending: str) -> StreamingHttpResponse:
    return sent(request, preflib_chunks(criterion, ending, timezone.now()), "text/plain; charset=utf-8")


def plot(request: HttpRequest, criterion: Criterion, _ending: str) -> HttpResponse:
    """Send the forest plot of the ranking's first page as a file of its own."""
    fit = published_fit(criterion)
    if fit is None or not fit.n_items:
        raise Http404
    table = ranking(criterion.project, fit, RankingQuery())
    context = {"project": criterion.project, "ranking": table, "forest": forest_plot(table), "is_file": True}
    return HttpResponse(render_to_string("dashboard/forest.svg", context), content_type="image/svg+xml")


@login_required
@require_safe
def report_page(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show the ranking report, made to be printed."""
    criterion = requested_criterion(request, project_id)
    fit, now = published_fit(criterion), timezone.now()
    context = {
        "project": criterion.project,
        "criterion": criterion,
        "heading": page_heading(criterion, now),
        "now": now,
        "expert": shows_expert(request),
        "report": build_report(criterion.project, fit) if fit and fit.n_items else None,
    }
    return render(request, "publishing/report.html", context)


ALL_CRITERIA = ("labels", "items", "fits")
PREFLIB = ("comparisons", "preflib")
# What is no table in a format of tables; each is given the end of its file's name.
SPECIAL: dict[tuple[str, str], Callable[[HttpRequest, Criterion, str], HttpResponse | StreamingHttpResponse]] = {
    ("ranking", "svg"): plot,
    ("matrix", "csv"): win_matrix,
    PREFLIB: preflib,
}
