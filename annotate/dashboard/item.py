"""Builds the page of one item: place, history over fits, rivals, results of its comparisons, who disagrees."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from annotate.core.charts import Scale
from annotate.criteria import Criterion
from annotate.dashboard.fits.figures import ItemFigures, figures_of, rivals_of
from annotate.fitting.stored_undecided import Times, stored_undecided
from annotate.labelling.asked_tasks import shows_pairs_only
from annotate.labelling.label_rows import (
    ShownItem,
    fields_by_criterion,
    labels_by_criterion,
    ranked_groups,
    tied_within,
    with_items,
    without_prefix,
)
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import Annotator, Item, Label
from models_engine.constants import Z90
from models_engine.models import Estimate, Fit

MAX_LABELS = 2_000  # the latest answers on the item that are read
MAX_FITS = 20
MAX_ROWS = 30
WIDTH, HEIGHT = 480.0, 140.0


@dataclass(frozen=True)
class HeadToHead:
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
class HistoryPoint:
    """One fit in the history, with its place in the drawing: of the scores, or of utilities where a fit has none."""

    number: int
    utility: float
    low: float
    high: float
    score: float | None
    score_low: float | None
    score_high: float | None
    x: float
    y: float
    low_y: float
    high_y: float


@dataclass(frozen=True)
class ItemPage:
    item: Item
    estimate: Estimate | None
    n_part: int
    rivals: list[HeadToHead]
    opponents: list[HeadToHead]
    n_opponents: int
    n_answers: int
    is_cut: bool
    outcomes: Counter[str]
    undecided: Times | None
    dissenters: list[Dissenter]
    n_with_view: int
    history: list[HistoryPoint]
    ticks: list[tuple[float, str]]

    width = WIDTH
    height = HEIGHT

    @property
    def puts_between(self) -> bool:
        """Return whether answers can put an item between others."""
        return not shows_pairs_only(self.item.project)

    @property
    def shows_scores(self) -> bool:
        return all(one.score is not None for one in self.history)


def item_page(criterion: Criterion, item: Item, fit: Fit | None) -> ItemPage:
    """Read an item's page in the same number of queries whatever its comparisons."""
    estimates = Estimate.objects.filter(fit=fit)
    estimate = estimates.filter(item_id=item.pk).first()
    part = dict(estimates.filter(part=estimate.part).values_list("item_id", "rank")) if estimate else {}
    utilities = dict(estimates.values_list("item_id", "utility")) if estimate else {}
    answers = answers_on(criterion, item)
    records, outcomes = count_records(answers, item)
    beats = probabilities_above(fit, item) if estimate and estimate.n_comparisons else {}
    shown = sorted(records, key=lambda pk: (-sum(records[pk]), pk))[:MAX_ROWS]
    items = Item.objects.filter(project=criterion.project).in_bulk({*shown, *beats})

    def against(pk: int) -> HeadToHead:
        return HeadToHead(items[pk], part.get(pk), *records.get(pk, (0, 0, 0)), beats.get(pk))

    views = count_dissent(answers, item, utilities if estimate else {})
    history, ticks = utility_history(criterion, item)
    return ItemPage(
        item=item,
        estimate=estimate,
        n_part=len(part),
        rivals=sorted((against(pk) for pk in beats if pk in items), key=lambda one: one.rank or 0),
        opponents=[against(pk) for pk in shown if pk in items],
        n_opponents=len(records),
        n_answers=len(answers),
        is_cut=len(answers) == MAX_LABELS,
        outcomes=outcomes,
        undecided=stored_undecided(fit, "items").get(item.pk),
        dissenters=dissenters(views),
        n_with_view=len(views),
        history=history,
        ticks=ticks,
    )


Answer = tuple[int, list[list[ShownItem]], bool]  # annotator, groups best first, whether items of a group are tied


def answers_on(criterion: Criterion, item: Item) -> list[Answer]:
    """Return the latest answers that count and showed the item."""
    found = Label.objects.filter(project=criterion.project, voided_at=None, presentation__presented__item=item)
    labels: list[dict[str, Any]] = list(
        labels_by_criterion(criterion, found, outcomes=INFORMATIVE)
        .order_by("-pk")
        .values(*fields_by_criterion(criterion), "annotator")[:MAX_LABELS]
    )
    labels = [without_prefix(label) for label in labels]
    labels, shown, items = with_items(labels)
    return [
        (
            label["annotator"],
            ranked_groups(label, [items[pk] for pk in shown[label["presentation"]]]),
            tied_within(label),
        )
        for label in labels
    ]


def count_records(answers: list[Answer], item: Item) -> tuple[dict[int, tuple[int, int, int]], Counter[str]]:
    """Return (won, lost, tied) against each other item, and how many answers put the item first, last, between or
    nowhere."""
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    outcomes: Counter[str] = Counter()
    for _who, groups, tied in answers:
        place = next(i for i, group in enumerate(groups) if any(one.pk == item.pk for one in group))
        if len(groups) == 1:
            outcomes["tied"] += 1
            for other in groups[0]:
                if other.pk != item.pk:
                    counts[other.pk][2] += 1
            continue
        outcomes["first" if place == 0 else "last" if place == len(groups) - 1 else "between"] += 1
        for i, group in enumerate(groups):
            for other in group:
                if i != place:
                    counts[other.pk][0 if place < i else 1] += 1
                elif tied and other.pk != item.pk:
                    counts[other.pk][2] += 1
    return {pk: (won, lost, tied) for pk, (won, lost, tied) in counts.items()}, outcomes


def count_dissent(answers: list[Answer], item: Item, utilities: dict[int, float]) -> dict[int, tuple[int, int]]:
    """Count by annotator how many of the item's pairs went against the order of the utilities, and how many pairs."""
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    for who, groups, _tied in answers:
        for above, below in combinations(groups, 2):
            for better in above:
                for worse in below:
                    if item.pk in (better.pk, worse.pk) and better.pk in utilities and worse.pk in utilities:
                        counts[who][0] += utilities[better.pk] < utilities[worse.pk]
                        counts[who][1] += 1
    return {who: (against, n) for who, (against, n) in counts.items()}


def dissenters(views: dict[int, tuple[int, int]], most: int = 10) -> list[Dissenter]:
    """Return those who said more often than not that the item belongs elsewhere, most answers first."""
    found = sorted((pk for pk, (against, n) in views.items() if 2 * against > n), key=lambda pk: (-views[pk][0], pk))
    people = Annotator.objects.in_bulk(found[:most])
    return [Dissenter(people[pk], *views[pk]) for pk in found[:most]]


def probabilities_above(fit: Fit | None, item: Item) -> dict[int, float]:
    return rivals_of(fit, item.pk) if fit else {}


def utility_history(criterion: Criterion, item: Item) -> tuple[list[HistoryPoint], list[tuple[float, str]]]:
    """Return the latest fits that hold the item, oldest first, and the lines of the drawing."""
    done = Fit.objects.filter(project_id=criterion.project.pk, criterion=criterion.number, status=Fit.Status.DONE)
    fits = done.exclude(arrays=None)
    rows = [
        (fit.number, figures[item.pk])
        for fit in reversed(fits.only("number", "arrays").order_by("-number")[:MAX_FITS])
        if item.pk in (figures := figures_of(fit))
    ]
    if not rows:
        return [], []
    drawn = [ends_of(one) for _number, one in rows]
    if None in drawn:
        drawn = [(one.utility - Z90 * one.sd, one.utility, one.utility + Z90 * one.sd) for _number, one in rows]
    ends = [one for one in drawn if one is not None]
    scale = Scale.around(min(low for low, *_ in ends), max(high for *_, high in ends))

    def up(value: float) -> float:
        return round(HEIGHT * (1 - scale.share(value)), 1)

    step = WIDTH / max(1, len(rows) - 1)
    history = [
        HistoryPoint(
            number=number,
            utility=one.utility,
            low=one.utility - Z90 * one.sd,
            high=one.utility + Z90 * one.sd,
            score=one.score,
            score_low=one.score_low,
            score_high=one.score_high,
            x=round(i * step, 1),
            y=up(middle),
            low_y=up(low),
            high_y=up(high),
        )
        for i, ((number, one), (low, middle, high)) in enumerate(zip(rows, ends, strict=True))
    ]
    return history, [(up(value), label) for value, label, _reference in scale.tick_values(4)]


def ends_of(figures: ItemFigures) -> tuple[float, float, float] | None:
    """Return the score between the ends of its interval; None without a score."""
    if figures.score is None or figures.score_low is None or figures.score_high is None:
        return None
    return figures.score_low, figures.score, figures.score_high
