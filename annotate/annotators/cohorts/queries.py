"""Reads two cohorts side by side: both rankings, and each item's difference with its interval."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from annotate.annotators.cohorts.groupings import Grouping, groupings
from annotate.annotators.page.queries import ranks
from annotate.core.charts import Interval, Scale, Tick
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.dashboard.fits.comparison import correlation
from annotate.dashboard.leaderboard.queries import (
    LeaderboardPage,
    Section,
    StyleRow,
    rows_side_by_side,
    scale_of_rows,
    sections_of,
)
from annotate.dashboard.ranking.queries import AVERAGE_SCORE
from annotate.models import CohortComparison, Item, Project, Tag
from models_engine.constants import Z90

PAGE_SIZE = 50
MAX_TAGS = 300
MIN_MEMBERS, MIN_LABELS = 2, 20  # of a cohort that is compared, or has a leaderboard of its own
Status = CohortComparison.Status


@dataclass(frozen=True)
class SideBySideQuery:
    show: int | None = None
    sort: str = "difference"
    descending: bool = True
    tag: str = ""
    page: int = 1


@dataclass(frozen=True)
class SideBySideRow:
    """first, second: (place, utility, low, high). is_separated: the 90% interval of the difference leaves 0 out.

    scores: of both cohorts (score, low, high); None in a comparison of a version before 0.2, which has none.
    """

    item: Item
    first: tuple[int, float, float, float]
    second: tuple[int, float, float, float]
    scores: tuple[tuple[float, float, float], tuple[float, float, float]] | None
    difference: float
    low: float
    high: float
    marks: tuple[Interval, Interval]  # of both cohorts, on one scale

    @property
    def is_separated(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class SideBySide:
    rows: list[SideBySideRow]
    page: Page
    ticks: list[Tick]
    n_items: int
    n_separated: int
    correlation: float | None
    has_scores: bool


@dataclass(frozen=True)
class ComparisonStatus:
    """A comparison with its cohorts in words."""

    comparison: CohortComparison
    by: str
    first: str
    second: str

    @property
    def why(self) -> str:
        """Return why it failed; empty if it did not."""
        return render_message(self.comparison.message)

    @property
    def is_waiting(self) -> bool:
        return self.comparison.status in (Status.ASKED, Status.RUNNING)


@dataclass(frozen=True)
class CohortBoard:
    """The leaderboard of one cohort; no sections where it has too few answers, or compared no two competitors."""

    key: str
    name: str
    n_annotators: int
    n_labels: int
    sections: list[Section]
    caption_id: str
    style_rows: list[StyleRow]  # beside those with style held equal; empty where the project holds none


@dataclass(frozen=True)
class CohortBoards:
    """problem: why there are none; then nothing else holds.   page: what the tables are drawn with.

    style: the features held equal with what they add; None where the project holds none equal.
    """

    problem: str
    boards: list[CohortBoard]
    page: LeaderboardPage
    style: dict[str, Any] | None = None
    has_categories: bool = False
    least_people: int = MIN_MEMBERS
    least_labels: int = MIN_LABELS


@dataclass(frozen=True)
class Cohorts:
    divisions: list[Grouping]
    kept: list[ComparisonStatus]
    shown: ComparisonStatus | None
    table: SideBySide | None
    boards: CohortBoards | None


def cohorts(criterion: Criterion, query: SideBySideQuery) -> Cohorts:
    found = groupings(criterion)
    rows = list(comparisons(criterion))
    kept = [comparison_status(row, found) for row in rows]
    shown = next((one for one in kept if one.comparison.pk == query.show), kept[0] if kept and not query.show else None)
    table = boards = None
    if shown and shown.comparison.status == Status.READY:  # one more query: those of the list come without
        row = CohortComparison.objects.get(pk=shown.comparison.pk)
        table = side_by_side(criterion.project, bytes(row.arrays), query) if row.arrays else None
        boards = cohort_boards(row, found)
    return Cohorts(found, kept, shown, table, boards)


def cohort_boards(row: CohortComparison, found: list[Grouping]) -> CohortBoards | None:
    """Return the stored leaderboards by cohort, None where the project has no competitors."""
    stored = row.boards
    if not stored:
        return None
    if stored["problem"]:
        return CohortBoards(render_message(stored["problem"]), [], LeaderboardPage())
    division = next((one for one in found if one.key == row.by), Grouping(row.by, row.by, []))
    every = [one for cohort in stored["cohorts"] for one in cohort["rows"]]
    scale = scale_of_rows(every)
    page = LeaderboardPage(board={"rows": every, "k": stored["k"], "has_contexts": stored["has_contexts"]}, scale=scale)
    boards = [
        CohortBoard(
            one["key"],
            division.named(one["key"]),
            one["n_annotators"],
            one["n_labels"],
            sections_of(one["rows"], scale),
            f"cohort-board-{number}",
            rows_side_by_side(one["rows"], one.get("equal", ())),
        )
        for number, one in enumerate(stored["cohorts"], start=1)
    ]
    return CohortBoards("", boards, page, stored.get("style"), stored.get("has_categories", False))


def comparisons(criterion: Criterion) -> QuerySet[CohortComparison]:
    """Return those kept by this criterion, the latest first."""
    rows = criterion.project.cohort_comparisons.filter(criterion=criterion.number)
    return rows.defer("arrays", "boards").order_by("-asked_at", "-pk")


def tags_of(project: Project) -> list[str]:
    return list(Tag.objects.filter(project=project).order_by("name").values_list("name", flat=True)[:MAX_TAGS])


def comparison_status(row: CohortComparison, found: list[Grouping]) -> ComparisonStatus:
    division = next((one for one in found if one.key == row.by), Grouping(row.by, row.by, []))
    return ComparisonStatus(row, division.name, division.named(row.first), division.named(row.second))


def side_by_side(project: Project, data: bytes, query: SideBySideQuery) -> SideBySide:
    """Compare places among the items of a tag, where one is chosen; utilities are centred over all items."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    if query.tag:
        tagged = Item.objects.filter(project=project, tags__name=query.tag).values_list("pk", flat=True)
        inside = np.isin(arrays["items"], np.fromiter(tagged, dtype=np.int64))
        arrays = {name: values[inside] for name, values in arrays.items()}
    items, first, second = arrays["items"], arrays["first"], arrays["second"]
    difference = first - second
    reach = Z90 * np.hypot(arrays["first_sd"], arrays["second_sd"])
    low, high = difference - reach, difference + reach
    places = ranks(first), ranks(second)
    key = {"difference": -np.abs(difference), "first": places[0], "second": places[1]}[query.sort]
    order = np.lexsort((places[0], key if (query.sort == "difference") == query.descending else -key))
    page = Paginator(order.tolist(), PAGE_SIZE).get_page(query.page)
    shown = [int(i) for i in page.object_list]
    known = Item.objects.filter(project=project).in_bulk([int(items[i]) for i in shown])
    has_scores = "first_scores" in arrays
    scale = scale_of(arrays)

    def told_of(name: str, place: np.ndarray, i: int) -> tuple[int, float, float, float]:
        middle, half = float(arrays[name][i]), Z90 * float(arrays[f"{name}_sd"][i])
        return int(place[i]), middle, middle - half, middle + half

    def scores_of(name: str, i: int) -> tuple[float, float, float]:
        score, least, most = arrays[f"{name}_scores"][i].tolist()
        return score, least, most

    def marks_of(i: int) -> tuple[Interval, Interval]:
        drawn = [scores_of(name, i) if has_scores else both[i][n][1:] for n, name in enumerate(("first", "second"))]
        first, second = (scale.interval(least, middle, most) for middle, least, most in drawn)
        return first, second

    both = {i: (told_of("first", places[0], i), told_of("second", places[1], i)) for i in shown}
    return SideBySide(
        rows=[
            SideBySideRow(
                item=known[int(items[i])],
                first=both[i][0],
                second=both[i][1],
                difference=float(difference[i]),
                low=float(low[i]),
                high=float(high[i]),
                marks=marks_of(i),
                scores=(scores_of("first", i), scores_of("second", i)) if has_scores else None,
            )
            for i in shown
            if int(items[i]) in known
        ],
        page=page,
        ticks=scale.ticks(5),
        n_items=len(items),
        n_separated=int(((low > 0) | (high < 0)).sum()),
        correlation=correlation(first.tolist(), second.tolist()),
        has_scores=has_scores,
    )


def scale_of(arrays: dict[str, np.ndarray]) -> Scale:
    """Return a scale that holds the intervals of every item in both cohorts, and an average item."""
    if "first_scores" in arrays:
        scores = np.concatenate([arrays["first_scores"], arrays["second_scores"]])
        low, high = float(scores.min(initial=AVERAGE_SCORE)), float(scores.max(initial=AVERAGE_SCORE))
        return Scale.around(low, high, reference=AVERAGE_SCORE)
    middles = np.concatenate([arrays["first"], arrays["second"]])
    reach = Z90 * np.concatenate([arrays["first_sd"], arrays["second_sd"]])
    return Scale.around(float((middles - reach).min(initial=0)), float((middles + reach).max(initial=0)))
