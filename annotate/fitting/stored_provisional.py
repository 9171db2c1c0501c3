"""A provisional ranking as bytes, and back as what pages show; needs numpy alone."""

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from annotate.criteria import Criterion
from annotate.models import ProvisionalRanking
from models_engine.models import Estimate, Fit

# Columns of Estimate that the newest answers change, and the item that they are of.
COLUMNS = (
    *("item_id", "part", "n_comparisons", "utility", "sd", "low", "high", "score", "score_low", "score_high"),
    *("rank", "rank_low", "rank_high", "p_top", "tier", "rank_class", "highest_class", "next_state"),
)
CHANGED = COLUMNS[1:]


@dataclass(frozen=True, eq=False)
class NewestAnswers:
    """The figures of every ranked item in the parts that the newest answers are about, by part and rank.

    n: how many answers; columns: of each of COLUMNS its values, all of one length.
    """

    n: int
    made_at: datetime
    columns: dict[str, list[Any]]

    @cached_property
    def parts(self) -> set[int]:
        return set(self.columns["part"])

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], int]:
        places = zip(self.columns["part"], self.columns["rank"], strict=True)
        return {place: index for index, place in enumerate(places)}

    def replace(self, fit: Fit, estimates: Sequence[Estimate]) -> list[Estimate]:
        """Return the estimates in order of place with, at each place, the item that stands there now; not saved."""
        places = [self._by_place.get((one.part, one.rank)) if one.n_comparisons else None for one in estimates]
        items = [self.columns["item_id"][place] for place in places if place is not None]
        own = {one.item_id: one for one in Estimate.objects.filter(fit=fit, item_id__in=items)}
        found = []
        for one, place in zip(estimates, places, strict=True):
            now = None if place is None else own.get(self.columns["item_id"][place])
            found.append(one if now is None or place is None else self._change(now, place))
        return found

    def _change(self, estimate: Estimate, place: int) -> Estimate:
        for name in CHANGED:
            setattr(estimate, name, self.columns[name][place])
        return estimate

    def add_to(self, totals: dict[str, Any], settled: Collection[str], unsettled: Collection[str]) -> dict[str, Any]:
        """Return the totals of a ranking, without these parts in `settled` and `open`, with them."""
        states = self.columns["next_state"]
        found = dict(totals)
        found["settled"] += sum(state in settled for state in states)
        found["open"] += sum(state in unsettled for state in states)
        for name, furthest in (("low", min), ("high", max), ("score_low", min), ("score_high", max)):
            if found[name] is not None:
                found[name] = furthest(found[name], *self.columns[name])
        return found


def newest_answers(criterion: Criterion, fit: Fit) -> NewestAnswers | None:
    """Return what answers newer than this fit, the published one, change; None where nothing is known of them."""
    row = ProvisionalRanking.objects.filter(
        project=criterion.project, criterion=criterion.number, fit_number=fit.number, rows__isnull=False
    ).first()
    if row is None or row.made_at is None or row.rows is None:
        return None
    return NewestAnswers(row.n_newest, row.made_at, from_bytes(bytes(row.rows)))


def to_bytes(estimates: Sequence[Estimate]) -> bytes:
    file = io.BytesIO()
    arrays: Any = {name: np.array([getattr(one, name) for one in estimates]) for name in COLUMNS}
    np.savez_compressed(file, **arrays | {"next_state": arrays["next_state"].astype(str)})
    return file.getvalue()


def from_bytes(data: bytes) -> dict[str, list[Any]]:
    """Undo `to_bytes`; nothing is unpickled."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name].tolist() for name in COLUMNS}
