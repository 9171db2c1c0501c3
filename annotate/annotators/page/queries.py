"""Reads one annotator: own ranking beside the consensus, how and when they answer."""

import io
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import Max, Min
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotate.annotators.queries import AnnotatorRow, build_rows, with_undecided
from annotate.core import charts
from annotate.core.charts import Interval, Scale, Tick
from annotate.criteria import Criterion
from annotate.labelling.asked_tasks import mean_size
from annotate.models import Annotator, AnnotatorTaste, Item, Label, Project, TasteMap
from models_engine.constants import Z90
from models_engine.models import Fit

PAGE_SIZE = 50
MIN_ANSWERS = 10  # from which an own ranking is shown; as annotate.annotators.tastes.job
HEIGHT, N_COLUMNS = 120.0, 24


@dataclass(frozen=True)
class OwnRankingQuery:
    sort: str = "difference"
    descending: bool = True
    page: int = 1


@dataclass(frozen=True)
class OwnEstimate:
    """An item in the annotator's own ranking. place, crowd_place: theirs and the consensus'. is_sure: whether the
    engine says that the difference is on this side of 0, few of all it says of a person being wrong."""

    item: Item
    place: int
    crowd_place: int
    utility: float
    low: float
    high: float
    crowd: float
    difference: float
    difference_low: float
    difference_high: float
    is_sure: bool
    mark: Interval
    crowd_mark: str


@dataclass(frozen=True)
class OwnRanking:
    rows: list[OwnEstimate]
    page: Page
    ticks: list[Tick]
    n_items: int
    n_sure: int
    fit_number: int


@dataclass(frozen=True)
class AnnotatorPage:
    """reason: why there is no own ranking: "estimator", "soon", "few" or "not kept"; "" where there is one."""

    row: AnnotatorRow
    taste: AnnotatorTaste | None
    n_groups: int
    ranking: OwnRanking | None
    reason: str
    n_counted: int
    chance: float
    chart: charts.Columns
    starts: str
    ends: str


def annotator_page(
    criterion: Criterion, annotator: Annotator, fit: Fit | None, query: OwnRankingQuery
) -> AnnotatorPage:
    """Read an annotator's page in the same number of queries whatever they answered.

    Raises Annotator.DoesNotExist where they have been erased meanwhile.
    """
    project = criterion.project
    row = next(iter(with_undecided(build_rows([annotator.pk], fit), fit)), None)
    if row is None:
        raise Annotator.DoesNotExist
    n_counted = row.estimate.n_labels if row.estimate else 0
    taste_map = TasteMap.objects.filter(project=project, criterion=criterion.number).first()
    own = None
    if taste_map and taste_map.fit_number is not None:
        own = annotator.tastes.filter(fit_number=taste_map.fit_number).first()
    reason = no_ranking_reason(fit, taste_map, own, n_counted)
    chart, starts, ends = over_time(annotator)
    return AnnotatorPage(
        row=row,
        taste=own,
        n_groups=taste_map.n_groups if taste_map else 0,
        ranking=own_ranking(project, taste_map, own, query) if taste_map and own and not reason else None,
        reason=reason,
        n_counted=n_counted,
        chance=1 / mean_size(project),
        chart=chart,
        starts=starts,
        ends=ends,
    )


def no_ranking_reason(fit: Fit | None, taste_map: TasteMap | None, own: AnnotatorTaste | None, n_counted: int) -> str:
    if n_counted < MIN_ANSWERS:
        return "few"
    if fit is None or not fit.components or fit.components.get("kind") != "tastes":
        return "estimator"
    if taste_map is None or own is None:
        return "soon"
    return "" if own.own else "not kept"


def own_ranking(
    project: Project, taste_map: TasteMap, own: AnnotatorTaste, query: OwnRankingQuery
) -> OwnRanking | None:
    with np.load(io.BytesIO(bytes(taste_map.arrays or b"")), allow_pickle=False) as file:
        items, crowd = file["items"], file["utility"]
    stored = np.frombuffer(bytes(own.own or b""), dtype=np.float16).astype(float)
    if stored.size not in (3 * len(items), 4 * len(items)):
        return None
    # three rows where the engine drew this before it said what is sure: nothing is, until it draws it anew
    mean, sd, difference_sd, sure = np.vstack([stored.reshape(-1, len(items)), np.zeros(len(items))])[:4]
    difference = mean - crowd
    places, crowd_places = ranks(mean), ranks(crowd)
    key = {"difference": -np.abs(difference), "place": places, "crowd": crowd_places}[query.sort]
    order = np.lexsort((places, key if (query.sort == "difference") == query.descending else -key))
    page = Paginator(order.tolist(), PAGE_SIZE).get_page(query.page)
    shown = list(page.object_list)
    known = Item.objects.filter(project=project).in_bulk([int(items[place]) for place in shown])
    low, high = mean - Z90 * sd, mean + Z90 * sd
    scale = Scale.around(float(min(low.min(), crowd.min())), float(max(high.max(), crowd.max())))
    return OwnRanking(
        rows=[
            OwnEstimate(
                item=known[int(items[i])],
                place=int(places[i]),
                crowd_place=int(crowd_places[i]),
                utility=mean[i],
                low=low[i],
                high=high[i],
                crowd=crowd[i],
                difference=difference[i],
                difference_low=difference[i] - Z90 * difference_sd[i],
                difference_high=difference[i] + Z90 * difference_sd[i],
                is_sure=bool(sure[i]),
                mark=scale.interval(low[i], mean[i], high[i]),
                crowd_mark=charts.percent(scale.share(crowd[i])),
            )
            for i in shown
            if int(items[i]) in known
        ],
        page=page,
        ticks=scale.ticks(5),
        n_items=len(items),
        n_sure=int(sure.sum()),
        fit_number=own.fit_number,
    )


def ranks(utilities: np.ndarray) -> np.ndarray:
    """Rank the utilities; 1 is the highest."""
    found = np.empty(len(utilities), dtype=np.int64)
    found[np.argsort(-utilities, kind="stable")] = np.arange(1, len(utilities) + 1)
    return found


def over_time(annotator: Annotator) -> tuple[charts.Columns, str, str]:
    """Return labels that count in equal spans from the first to the last, and when these were."""
    labels = Label.objects.filter(annotator=annotator, voided_at=None)
    ends = labels.aggregate(first=Min("created_at"), last=Max("created_at"))
    if ends["first"] is None:
        return charts.columns([], [], height=HEIGHT), "", ""
    first, last = ends["first"], ends["last"]
    span = (last - first) / N_COLUMNS
    counts = [0] * N_COLUMNS
    for at in labels.values_list("created_at", flat=True).iterator():
        counts[min(N_COLUMNS - 1, int((at - first) / span)) if span else 0] += 1
    names = [render_reason(first + i * span) for i in range(N_COLUMNS)]
    return charts.columns(counts, names, height=HEIGHT), render_reason(first), render_reason(last)


def render_reason(when: datetime) -> str:
    return date_format(when, _("j M Y, H:i"))
