"""One annotator: own ranking beside the consensus, what makes them differ, how they answer, when."""

import io
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import Max, Min
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotate import charts
from annotate.charts import Interval, Scale, Tick
from annotate.models import Annotator, AnnotatorPortrait, Item, Label, Portrait, Project
from annotate.queries.annotators import Row, rows
from models_engine.models import Fit

PAGE_SIZE = 50
FEWEST_ANSWERS = 10  # from which somebody is said to have a taste of their own; as annotate.portraying
Z = 1.6449
HEIGHT, N_COLUMNS = 120.0, 24


@dataclass(frozen=True)
class Wish:
    sort: str = "difference"
    descending: bool = True
    page: int = 1


@dataclass(frozen=True)
class Own:
    """An item in the annotator's own ranking. place, crowd_place: theirs and the consensus'. is_sure: the 90% interval
    of the difference leaves 0 out."""

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
    mark: Interval
    crowd_mark: str

    @property
    def is_sure(self) -> bool:
        return self.difference_low > 0 or self.difference_high < 0


@dataclass(frozen=True)
class OwnRanking:
    rows: list[Own]
    page: Page
    ticks: list[Tick]
    n_items: int
    n_sure: int
    fit_number: int


@dataclass(frozen=True)
class Person:
    """reason: why there is no own ranking: "estimator", "soon", "few" or "not kept"; "" where there is one."""

    row: Row
    portrait: AnnotatorPortrait | None
    n_groups: int
    ranking: OwnRanking | None
    reason: str
    n_counted: int
    chance: float
    chart: charts.Columns
    starts: str
    ends: str


def person(project: Project, annotator: Annotator, fit: Fit | None, wish: Wish) -> Person:
    """In the same number of queries whatever they answered."""
    row = rows([annotator.pk], fit)[0]
    n_counted = row.estimate.n_labels if row.estimate else 0
    portrait = Portrait.objects.filter(project=project, criterion=project.criterion).first()
    own = None
    if portrait and portrait.fit_number is not None:
        own = annotator.portraits.filter(fit_number=portrait.fit_number).first()
    reason = why_not(fit, portrait, own, n_counted)
    chart, starts, ends = over_time(annotator)
    return Person(
        row=row,
        portrait=own,
        n_groups=portrait.n_groups if portrait else 0,
        ranking=own_ranking(project, portrait, own, wish) if portrait and own and not reason else None,
        reason=reason,
        n_counted=n_counted,
        chance=1 / project.k,
        chart=chart,
        starts=starts,
        ends=ends,
    )


def why_not(fit: Fit | None, portrait: Portrait | None, own: AnnotatorPortrait | None, n_counted: int) -> str:
    if n_counted < FEWEST_ANSWERS:
        return "few"
    if fit is None or not fit.components or fit.components.get("kind") != "tastes":
        return "estimator"
    if portrait is None or own is None:
        return "soon"
    return "" if own.own else "not kept"


def own_ranking(project: Project, portrait: Portrait, own: AnnotatorPortrait, wish: Wish) -> OwnRanking | None:
    with np.load(io.BytesIO(bytes(portrait.arrays or b"")), allow_pickle=False) as file:
        items, crowd = file["items"], file["utility"]
    mean, sd, difference_sd = np.frombuffer(bytes(own.own or b""), dtype=np.float16).astype(float).reshape(3, -1)
    if len(mean) != len(items):
        return None
    difference = mean - crowd
    places, crowd_places = ranks(mean), ranks(crowd)
    sure = np.abs(difference) > Z * difference_sd
    key = {"difference": -np.abs(difference), "place": places, "crowd": crowd_places}[wish.sort]
    order = np.lexsort((places, key if (wish.sort == "difference") == wish.descending else -key))
    page = Paginator(order.tolist(), PAGE_SIZE).get_page(wish.page)
    shown = list(page.object_list)
    known = Item.objects.filter(project=project).in_bulk([int(items[place]) for place in shown])
    low, high = mean - Z * sd, mean + Z * sd
    scale = Scale.around(float(min(low.min(), crowd.min())), float(max(high.max(), crowd.max())))
    return OwnRanking(
        rows=[
            Own(
                item=known[int(items[i])],
                place=int(places[i]),
                crowd_place=int(crowd_places[i]),
                utility=mean[i],
                low=low[i],
                high=high[i],
                crowd=crowd[i],
                difference=difference[i],
                difference_low=difference[i] - Z * difference_sd[i],
                difference_high=difference[i] + Z * difference_sd[i],
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
    """1 is the highest."""
    found = np.empty(len(utilities), dtype=np.int64)
    found[np.argsort(-utilities, kind="stable")] = np.arange(1, len(utilities) + 1)
    return found


def over_time(annotator: Annotator) -> tuple[charts.Columns, str, str]:
    """Labels that count in equal spans from the first to the last, and when these were."""
    labels = Label.objects.filter(annotator=annotator, voided_at=None)
    ends = labels.aggregate(first=Min("created_at"), last=Max("created_at"))
    if ends["first"] is None:
        return charts.columns([], [], height=HEIGHT), "", ""
    first, last = ends["first"], ends["last"]
    span = (last - first) / N_COLUMNS
    counts = [0] * N_COLUMNS
    for at in labels.values_list("created_at", flat=True).iterator():
        counts[min(N_COLUMNS - 1, int((at - first) / span)) if span else 0] += 1
    names = [told(first + i * span) for i in range(N_COLUMNS)]
    return charts.columns(counts, names, height=HEIGHT), told(first), told(last)


def told(when: datetime) -> str:
    return date_format(when, _("j M Y, H:i"))
