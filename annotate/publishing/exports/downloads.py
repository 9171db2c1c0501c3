"""Makes the responses that hold an export, whether a page or the API asks for it."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotate.criteria import Criterion
from annotate.dashboard.ranking.forest_plot import forest_plot
from annotate.dashboard.ranking.queries import RankingQuery, ranking
from annotate.files.downloads import sent
from annotate.files.writers import FORMATS, csv_chunks
from annotate.fitting.published import published_fit
from annotate.labelling.asked_tasks import shows_pairs
from annotate.labelling.label_rows import require_labels
from annotate.publishing.exports import preferences
from annotate.publishing.exports.dataset import dataset_chunks
from annotate.publishing.exports.label_studio import label_studio_chunks
from annotate.publishing.exports.pairs import MAX_ITEMS, matrix
from annotate.publishing.exports.preference_options import TABLE as PREFERENCES
from annotate.publishing.exports.preference_options import PreferenceOptions
from annotate.publishing.exports.preflib import kind, preflib_chunks
from annotate.publishing.exports.registry import TABLES


def file_response(
    request: HttpRequest,
    criterion: Criterion,
    table: str,
    file_format: str,
    options: PreferenceOptions = preferences.ALL,
) -> HttpResponse | StreamingHttpResponse:
    """Send what there is under this name and format, to be saved under a name with the project's.

    options: of the preference pairs; other tables have none. Raises LabelsArchived.
    """
    if table not in TABLES or TABLES[table].of_answers:
        require_labels(criterion.project)
    special = SPECIAL.get((table, file_format))
    if (table, file_format) == PREFLIB:
        file_format = kind(criterion)
    if special:
        response = special(request, criterion, file_format)
    elif table == PREFERENCES:
        response = preference_pairs(request, criterion, file_format, options)
    else:
        response = stream(request, criterion, table, file_format)
    number = f"-{criterion.number}" if criterion.project.criteria and table not in ALL_CRITERIA else ""
    side = "" if options.split == "all" else f"-{options.split}"
    ending = ENDINGS.get(file_format, file_format)
    name = f"{slugify(criterion.project.name)[:60] or 'project'}-{table}{number}{side}.{ending}"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def is_available(criterion: Criterion) -> dict[str, tuple[str, str, list[str]]]:
    """Return title, explanation and formats of everything that can be exported now, by name."""
    special = dict.fromkeys(SPECIAL, True)
    special["matrix", "csv"] = criterion.project.items.count() <= MAX_ITEMS
    fit = published_fit(criterion)
    special[LABEL_STUDIO] = shows_pairs(criterion.project)
    special["ranking", "svg"] = bool(fit and fit.n_items)
    found = {
        name: (str(table.title), str(table.about), [*FORMATS, *(kind for one, kind in SPECIAL if one == name)])
        for name, table in TABLES.items()
    }
    found["matrix"] = (_("Win matrix"), _("How often each item was preferred to each other item."), ["csv"])
    found["dataset"] = (_("Data set"), _("Answers, items and ranking as Parquet files, with a data card."), ["zip"])
    for (name, file_format), there in special.items():
        if not there:
            found[name][2].remove(file_format)
    return {name: one for name, one in found.items() if one[2]}


def stream(request: HttpRequest, criterion: Criterion, table: str, file_format: str) -> StreamingHttpResponse:
    content_type, encode = FORMATS[file_format]
    return sent(request, encode(TABLES[table].columns(criterion.project), TABLES[table].rows(criterion)), content_type)


def preference_pairs(
    request: HttpRequest, criterion: Criterion, file_format: str, options: PreferenceOptions
) -> StreamingHttpResponse:
    content_type, encode = FORMATS[file_format]
    return sent(request, encode(preferences.columns(options), preferences.rows(criterion, options)), content_type)


def win_matrix(request: HttpRequest, criterion: Criterion, _ending: str) -> StreamingHttpResponse:
    if criterion.project.items.count() > MAX_ITEMS:
        raise Http404
    return sent(request, csv_chunks(*matrix(criterion)), FORMATS["csv"][0])


def preflib(request: HttpRequest, criterion: Criterion, ending: str) -> StreamingHttpResponse:
    return sent(request, preflib_chunks(criterion, ending, timezone.now()), "text/plain; charset=utf-8")


def label_studio(request: HttpRequest, criterion: Criterion, _ending: str) -> StreamingHttpResponse:
    return sent(request, label_studio_chunks(criterion), "application/json")


def dataset(request: HttpRequest, criterion: Criterion, _ending: str) -> StreamingHttpResponse:
    return sent(request, dataset_chunks(criterion, timezone.now()), "application/zip")


def plot(request: HttpRequest, criterion: Criterion, _ending: str) -> HttpResponse:
    """Send the forest plot of the ranking's first page as a file of its own."""
    fit = published_fit(criterion)
    if fit is None or not fit.n_items:
        raise Http404
    table = ranking(criterion.project, fit, RankingQuery())
    context = {"project": criterion.project, "ranking": table, "forest": forest_plot(table), "is_file": True}
    return HttpResponse(render_to_string("dashboard/forest.svg", context), content_type="image/svg+xml")


ALL_CRITERIA = ("labels", "items", "fits", "deviations")
PREFLIB = ("comparisons", "preflib")
LABEL_STUDIO = ("comparisons", "labelstudio")
# What the end of the file's name is where it is not the format's own.
ENDINGS = {"labelstudio": "label-studio.json"}
# What is no table in a format of tables; each is given the end of its file's name.
SPECIAL: dict[tuple[str, str], Callable[[HttpRequest, Criterion, str], HttpResponse | StreamingHttpResponse]] = {
    ("ranking", "svg"): plot,
    ("matrix", "csv"): win_matrix,
    PREFLIB: preflib,
    LABEL_STUDIO: label_studio,
    ("dataset", "zip"): dataset,
}
