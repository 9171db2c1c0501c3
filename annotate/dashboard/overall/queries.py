"""Reads the weighted total of a project's criteria, or says why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext as _

from annotate.core.charts import Interval, Scale, Span, Tick, place_span
from annotate.core.quoting import quoted
from annotate.criteria import Criterion, named_criteria
from annotate.dashboard.overall.competitors import CompetitorTotal, competitor_total
from annotate.dashboard.overall.places import Place, stored_places, track_places, tracks_of
from annotate.dashboard.overall.podium import STEPS, Podium, podium
from annotate.dashboard.ranking.queries import AVERAGE_SCORE
from annotate.fitting.weights import weights_of
from annotate.models import OVERALL, DerivedRanking, Item, Project
from models_engine.models import Estimate, Fit

PAGE_SIZE = 50
MAX_PODIUM_NAMES = 10


@dataclass(frozen=True)
class CountedCriterion:
    """weight: its part of the total, 0 to 1.   share: of the differences between totals that come from it, None where
    unknown.   is_older: its fit has not seen the newest answers that another's has."""

    criterion: Criterion
    weight: float
    share: float | None
    fit: int | None
    is_older: bool


@dataclass(frozen=True)
class OverallRow:
    """scores: by each criterion that counts, None where unknown."""

    item: Item
    place: Place
    mark: Interval | None
    places: Span
    scores: list[tuple[str, float | None]]


@dataclass(frozen=True)
class Overall:
    """why: empty where there is a ranking, else why there is none.   leaderboard: None within a track."""

    criteria: list[CountedCriterion]
    rows: list[OverallRow]
    page: Page
    ticks: list[Tick]
    podium: Podium | None
    why: str
    n_left_out: int
    k: int
    made_at: datetime | None
    fit: int | None
    track: str = ""
    tracks: Sequence[str] = ()
    leaderboard: CompetitorTotal | None = None

    @property
    def n_items(self) -> int:
        return int(self.page.paginator.count)

    @property
    def shows_top(self) -> bool:
        return self.n_items > self.k

    @property
    def older(self) -> list[str]:
        return [one.criterion.name for one in self.criteria if one.is_older]


def overall_ranking(project: Project) -> DerivedRanking | None:
    return DerivedRanking.objects.filter(project=project, criterion=OVERALL, track="").first()


def overall_of(project: Project, page: int | str = 1, size: int = PAGE_SIZE, track: str = "") -> Overall:
    """Return one page of the total, in the same number of queries however many items there are.

    track: the tag within whose items places are shown.
    """
    row = overall_ranking(project)
    places = track_places(project, OVERALL, track, row.fit_number if row else None) if track else stored_places(row)
    shown = Paginator(places, size).get_page(page)
    criteria = counted_criteria(project, row)
    ends = [end for one in places for end in (one.score_low, one.score_high) if end is not None]
    scale = Scale.around(min(ends, default=0.0), max(ends, default=100.0), reference=AVERAGE_SCORE)
    details = row.details if row else {}
    first = places[: STEPS + MAX_PODIUM_NAMES]
    items = Item.objects.in_bulk([one.item_id for one in [*shown.object_list, *first]])
    by = project.items_shown_by
    titles = {one.item_id: items[one.item_id].shown_as(by) for one in first if one.item_id in items}
    return Overall(
        criteria=criteria,
        rows=overall_rows(list(shown.object_list), items, criteria, scale, len(places)),
        page=shown,
        ticks=scale.ticks(),
        podium=podium(places, titles),
        why="" if places else why_no_track(track) if track and row and row.columns else why_none(project, row),
        track=track,
        tracks=tracks_of(project, OVERALL),
        n_left_out=0 if track else details.get("n_left_out", 0),
        k=details.get("top_k", project.top_k),
        made_at=row.made_at if row else None,
        fit=row.fit_number if row else None,
        leaderboard=None if track else competitor_total(project, row),
    )


def counted_criteria(project: Project, row: DerivedRanking | None) -> list[CountedCriterion]:
    """Return every criterion with the weight that the stored total has, or that is set where none is stored."""
    details = row.details if row and row.columns else {}
    weights = details.get("weights") or weights_of(project)
    stored = {one["number"]: one for one in details.get("criteria", [])}
    newest = max((one["data_version"] for one in stored.values()), default=0)
    return [
        CountedCriterion(
            criterion=one,
            weight=weights[one.number - 1],
            share=stored[one.number]["share"] if one.number in stored else None,
            fit=stored[one.number]["fit"] if one.number in stored else None,
            is_older=one.number in stored and stored[one.number]["data_version"] < newest,
        )
        for one in named_criteria(project)
        if one.number <= len(weights)
    ]


def overall_rows(
    places: list[Place], items: dict[int, Item], criteria: list[CountedCriterion], scale: Scale, n: int
) -> list[OverallRow]:
    """Return the rows of one page; an item erased since has nothing to show."""
    counted = [one for one in criteria if one.weight > 0]
    scores = scores_by_criterion(counted, [one.item_id for one in places])
    return [
        OverallRow(
            item=items[one.item_id],
            place=one,
            mark=scale.interval(one.score_low, one.score, one.score_high)
            if one.score is not None and one.score_low is not None and one.score_high is not None
            else None,
            places=place_span(one.rank, one.rank_low, one.rank_high, n),
            scores=[(by.criterion.name, scores.get((by.criterion.number, one.item_id))) for by in counted],
        )
        for one in places
        if one.item_id in items
    ]


def scores_by_criterion(criteria: list[CountedCriterion], items: list[int]) -> dict[tuple[int, int], float | None]:
    """Return scores by the published fits, by number of the criterion and item."""
    if not criteria:
        return {}
    numbers = [one.criterion.number for one in criteria]
    project = criteria[0].criterion.project
    fits = Fit.objects.filter(project_id=project.pk, published=True, criterion__in=numbers)
    found = Estimate.objects.filter(fit__in=fits, item_id__in=items).values_list("fit__criterion", "item_id", "score")
    return {(number, item): score for number, item, score in found}


def why_no_track(track: str) -> str:
    return _("Nothing is ranked within “%(track)s” yet: it takes two items with this tag and the next fit.") % {
        "track": track
    }


def why_none(project: Project, row: DerivedRanking | None) -> str:
    """Return why there is no total, with what to do."""
    if not project.criteria:
        return _("This project asks one question, so there is nothing to add up. See its ranking.")
    if row is None:
        return _("It appears here with the next fit, once people have compared some items by every criterion.")
    if row.details.get("why") == "missing":
        names = {str(one.number): one.name for one in named_criteria(project)}
        missing = ", ".join(quoted(names.get(number, number)) for number in row.details["missing"])
        return _("No ranking yet by %(names)s. The total appears once every criterion that counts has its ranking.") % {
            "names": missing
        }
    if row.details.get("why") == "few":
        return _("Fewer than two items have a place by every criterion that counts. Collect more answers.")
    return _("It could not be computed from the newest answers. The rankings by each criterion are not affected.")
