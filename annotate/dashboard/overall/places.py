"""Reads stored derived rankings: places of items with intervals, P(first) and P(top k)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

from annotate.models import DerivedRanking, Project
from models_engine.models import Estimate


@dataclass(frozen=True)
class Place:
    """Figures of one item, named as in Estimate.   p_first: P(it is the best), None where it was not computed."""

    item_id: int
    rank: int
    rank_low: int
    rank_high: int
    utility: float
    sd: float
    low: float
    high: float
    score: float | None
    score_low: float | None
    score_high: float | None
    p_top: float
    rank_class: int | None
    highest_class: int | None
    next_state: str
    n_comparisons: int
    p_first: float | None = None

    @classmethod
    def of_estimate(cls, estimate: Estimate) -> Self:
        own = {field.name: getattr(estimate, field.name) for field in fields(cls) if field.name != "p_first"}
        return cls(**own)


def stored_places(row: DerivedRanking | None) -> list[Place]:
    """Return every place, the best first; none where there is no ranking."""
    if row is None or not row.columns:
        return []
    names = [field.name for field in fields(Place)]
    return [Place(*values) for values in zip(*(row.columns[name] for name in names), strict=True)]


def track_places(project: Project, criterion: int, track: str, fit_number: int | None) -> list[Place]:
    """Return the places within a track, the best first; none where the published fit did not rank it."""
    if not track or fit_number is None:
        return []
    rows = DerivedRanking.objects.filter(project=project, criterion=criterion, track=track, fit_number=fit_number)
    return stored_places(rows.first())


def tracks_of(project: Project, criterion: int) -> list[str]:
    """Return the names of the tracks that are ranked."""
    rows = DerivedRanking.objects.filter(project=project, criterion=criterion).exclude(track="")
    return list(rows.order_by("track").values_list("track", flat=True))


def may_be_first(places: Sequence[Place], least: float = 0.05) -> list[Place]:
    """Return the items besides the leader that may be the best: by their chance, else by the interval of places."""
    return [one for one in places[1:] if (one.rank_low == 1 if one.p_first is None else one.p_first >= least)]
