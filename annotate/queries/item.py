"""One item: its place, its history over fits, its rivals, what its comparisons came to and who sees it otherwise."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from annotate.charts import Scale
from annotate.exporting.labels import Shown, by_criterion, fields, plain, ranking, shown_in
from annotate.models import Annotator, Item, Label, Project
from annotate.orders import COUNTED
from annotate.queries.fit_figures import figures_of, rivals_of
from models_engine.models import Estimate, Fit

MOST_LABELS = 2_000  # the latest answers on the item that are gone through
MOST_FITS = 20
MOST_ROWS = 30
Z = 1.6449
WIDTH, HEIGHT = 480.0, 140.0


@dataclass(frozen=True)
class Against:
    """How the item fared against another. beats: P(it is above the other), where the other is among its rivals."""

    item: Item
    rank: int | None
    won: int
    lost: int
    tied: int
    beats: float | None

    @property
    def n(self) -> int:
        return self.won + self.lost + self.tied


@dataclass(frozen=True)
class Dissenter:
    annotator: Annotator
    n_against: int
    n: int


@dataclass(frozen=True)
class Moment:
    """One fit in the history, with its place in the drawing."""

    number: int
    utility: float
    low: float
    high: float
    x: float
    y: float
    low_y: float
    high_y: float


@dataclass(frozen=True)
class ItemPage:
    item: Item
    estimate: Estimate | None
    n_part: int
    rivals: list[Against]
    opponents: list[Against]
    n_opponents: int
    n_answers: int
    is_cut: bool
    outcomes: Counter[str]
    dissenters: list[Dissenter]
    n_with_view: int
    history: list[Moment]
    ticks: list[tuple[float, str]]

    width = WIDTH
    height = HEIGHT


def item_page(project: Project, item: Item, fit: Fit | None) -> ItemPage:
    """In the same number of queries whatever the item's comparisons."""
    estimates = Estimate.objects.filter(fit=fit)
    estimate = estimates.filter(item_id=item.pk).first()
    part = dict(estimates.filter(part=estimate.part).values_list("item_id", "rank")) if estimate else {}
    utilities = dict(estimates.values_list("item_id", "utility")) if estimate else {}
    answers = answers_on(project, item)
    records, outcomes = records_of(answers, item)
    beats = beats_of(fit, item) if estimate and estimate.n_comparisons else {}
    shown = sorted(records, key=lambda pk: (-sum(records[pk]), pk))[:MOST_ROWS]
    items = Item.objects.filter(project=project).in_bulk({*shown, *beats})

    def against(pk: int) -> Against:
        return Against(items[pk], part.get(pk), *records.get(pk, (0, 0, 0)), beats.get(pk))

    views = views_of(answers, item, utilities if estimate else {})
    history, ticks = history_of(project, item)
    return ItemPage(
        item=item,
        estimate=estimate,
        n_part=len(part),
        rivals=sorted((against(pk) for pk in beats if pk in items), key=lambda one: one.rank or 0),
        opponents=[against(pk) for pk in shown if pk in items],
        n_opponents=len(records),
        n_answers=len(answers),
        is_cut=len(answers) == MOST_LABELS,
        outcomes=outcomes,
        dissenters=dissenters(views),
        n_with_view=len(views),
        history=history,
        ticks=ticks,
    )


Answer = tuple[int, list[list[Shown]]]  # annotator, groups best first


def answers_on(project: Project, item: Item) -> list[Answer]:
    """The latest answers that count and showed the item."""
    found = Label.objects.filter(project=project, voided_at=None, presentation__presented__item=item)
    labels: list[dict[str, Any]] = list(
        by_criterion(project, found, outcomes=COUNTED)
        .order_by("-pk")
        .values(*fields(project), "annotator")[:MOST_LABELS]
    )
    labels = [plain(label) for label in labels]
    shown, items = shown_in(labels)
    return [
        (label["annotator"], ranking(label, [items[pk] for pk in shown[label["presentation"]]])) for label in labels
    ]


def records_of(answers: list[Answer], item: Item) -> tuple[dict[int, tuple[int, int, int]], Counter[str]]:
    """(won, lost, tied) against each other item, and how many answers put the item first, last, between or nowhere."""
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    outcomes: Counter[str] = Counter()
    for _who, groups in answers:
        place = next(i for i, group in enumerate(groups) if any(one.pk == item.pk for one in group))
        if len(groups) == 1:
            outcomes["tied"] += 1
            for other in groups[0]:
                if other.pk != item.pk:
                    counts[other.pk][2] += 1
            continue
        outcomes["first" if place == 0 else "last" if place == len(groups) - 1 else "between"] += 1
        for i, group in enumerate(groups):
            if i != place:
                for other in group:
                    counts[other.pk][0 if place < i else 1] += 1
    return {pk: (won, lost, tied) for pk, (won, lost, tied) in counts.items()}, outcomes


def views_of(answers: list[Answer], item: Item, utilities: dict[int, float]) -> dict[int, tuple[int, int]]:
    """By annotator, (how many of the item's pairs went against the order of the utilities, how many pairs)."""
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    for who, groups in answers:
        for above, below in combinations(groups, 2):
            for better in above:
                for worse in below:
                    if item.pk in (better.pk, worse.pk) and better.pk in utilities and worse.pk in utilities:
                        counts[who][0] += utilities[better.pk] < utilities[worse.pk]
                        counts[who][1] += 1
    return {who: (against, n) for who, (against, n) in counts.items()}


def dissenters(views: dict[int, tuple[int, int]], most: int = 10) -> list[Dissenter]:
    """Those who said more often than not that the item belongs elsewhere, most answers first."""
    found = sorted((pk for pk, (against, n) in views.items() if 2 * against > n), key=lambda pk: (-views[pk][0], pk))
    people = Annotator.objects.in_bulk(found[:most])
    return [Dissenter(people[pk], *views[pk]) for pk in found[:most]]


def beats_of(fit: Fit | None, item: Item) -> dict[int, float]:
    kept = Fit.objects.filter(pk=fit.pk).only("arrays").first() if fit else None
    return rivals_of(kept, item.pk) if kept else {}


def history_of(project: Project, item: Item) -> tuple[list[Moment], list[tuple[float, str]]]:
    """The latest fits that hold the item, oldest first, and the lines of the drawing."""
    done = Fit.objects.filter(project_id=project.pk, criterion=project.criterion, status=Fit.Status.DONE)
    fits = done.exclude(arrays=None)
    rows = [
        (fit.number, figures[item.pk])
        for fit in reversed(fits.only("number", "arrays").order_by("-number")[:MOST_FITS])
        if item.pk in (figures := figures_of(fit))
    ]
    if not rows:
        return [], []
    ends = [(utility - Z * sd, utility + Z * sd) for _number, (utility, sd) in rows]
    scale = Scale.around(min(low for low, _ in ends), max(high for _, high in ends))

    def up(value: float) -> float:
        return round(HEIGHT * (1 - scale.share(value)), 1)

    step = WIDTH / max(1, len(rows) - 1)
    history = [
        Moment(number, utility, low, high, round(i * step, 1), up(utility), up(low), up(high))
        for i, ((number, (utility, _sd)), (low, high)) in enumerate(zip(rows, ends, strict=True))
    ]
    return history, [(up(value), label) for value, label, _zero in scale.tick_values(4)]
