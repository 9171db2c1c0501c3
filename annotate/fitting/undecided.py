"""Finds items that nobody can decide, and who is undecided more often than their items explain; kept with the fit."""

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.answers import LABEL, Ints, answer_path, counted_label_filter
from annotate.fitting.reading import Labels
from annotate.models import Label, PresentedItem
from models_engine.analysis.undecided import count_ties
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.effects import fit_effects
from models_engine.linalg import sum_by_group

NOT_JUDGED = (Label.Outcome.CANT_JUDGE, Label.Outcome.SKIP)
MIN_UNDECIDED = 20  # answers that call items equal or do not judge them, below which nothing is said
MIN_SHOWN = 5  # times that an item was shown, or an annotator answered, below which nothing is listed
Z_LIMIT = 2.33  # chance alone exceeds it once in 100 cases
MAX_LISTED = 50
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side:
    """Items, or annotators: primary keys, effects (logs of how many times as often as on average) with their standard
    deviations, undecided answers, answers."""

    keys: Ints
    effects: Floats
    deviations: Floats
    undecided: Floats
    shown: Floats

    def times(self) -> Floats:
        """Return (n, 3): how many times as often as on average, with its 90% interval."""
        return np.exp(self.effects[:, None] + np.array([0, -Z90, Z90]) * self.deviations[:, None])

    def restrict(self, kept: NDArray[np.bool_]) -> "Side":
        return Side(*(getattr(self, one.name)[kept] for one in fields(self)))


@dataclass(frozen=True, eq=False)
class Undecided:
    """n: undecided answers. items, annotators: all of them that a counted answer shows, or that gave one."""

    n: int
    items: Side
    annotators: Side


def measure_undecided(criterion: Criterion, labels: Labels) -> Undecided | None:
    """Explains undecided answers; None for fewer of them than MIN_UNDECIDED, or without convergence."""
    cells, item_ids, annotator_ids, n_undecided = count_undecided(criterion, labels)
    if n_undecided < MIN_UNDECIDED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # then nothing is said
        found = fit_effects(cells)
    if not found.diagnostics.converged:
        return None
    of_items, of_annotators = found.standard_deviations()
    return Undecided(
        n_undecided,
        _side(cells, cells.items, item_ids, found.item_effects, of_items),
        _side(cells, cells.annotators, annotator_ids, found.annotator_effects, of_annotators),
    )


def undecided_json(found: Undecided | None, labels: Labels) -> dict[str, Any] | None:
    """Return what the page of trust shows, as JSON.

    "items" and "annotators" have n, n_listed and the worst: primary key, how many times as often as on average with its
    90% interval, undecided answers, answers. Items that are not ranked are left out.
    """
    if found is None:
        return None
    ranked = np.isin(found.items.keys, labels.item_ids[labels.ranked])
    sides = {"items": found.items.restrict(ranked), "annotators": found.annotators}
    return {"n_undecided": found.n, **{name: _listed(side) for name, side in sides.items()}}


def undecided_arrays(found: Undecided | None) -> dict[str, NDArray[Any]]:
    """Return the figures of all with MIN_SHOWN answers, to be kept with the published fit."""
    if found is None:
        return {}
    arrays: dict[str, NDArray[Any]] = {}
    for name in ("items", "annotators"):
        whole: Side = getattr(found, name)
        side = whole.restrict(whole.shown >= MIN_SHOWN)
        arrays[f"undecided_{name}"] = side.keys
        arrays[f"undecided_times_{name}"] = side.times().astype(np.float32)
        arrays[f"undecided_counts_{name}"] = np.stack([side.undecided, side.shown], axis=1).astype(np.int64)
    return arrays


def count_undecided(criterion: Criterion, labels: Labels) -> tuple[CountCells, Ints, Ints, int]:
    """Return the counts by item and annotator, their primary keys, and how many answers were undecided."""
    people = labels.of_people
    ties = count_ties(people)
    items, annotators = labels.item_ids[ties.items], labels.annotator_ids[ties.annotators]
    skipped = not_judged(criterion)
    item_ids, item = np.unique(np.r_[items, skipped[:, 0]], return_inverse=True)
    annotator_ids, annotator = np.unique(np.r_[annotators, skipped[:, 1]], return_inverse=True)
    cells = CountCells.from_rows(
        item,
        annotator,
        np.r_[ties.counts, np.ones(len(skipped))],
        np.r_[ties.exposures, np.ones(len(skipped))],
        n_items=len(item_ids),
        n_annotators=len(annotator_ids),
    )
    return cells, item_ids, annotator_ids, n_ties(people) + n_not_judged(criterion)


def n_ties(people: Comparisons) -> int:
    """Return how many labels put all their items in one place."""
    if not people.n_labels:
        return 0
    last = np.maximum.reduceat(people.ranks, people.starts[:-1])
    return int(np.count_nonzero((last == 0) & (people.weights > 0)))


def n_not_judged(criterion: Criterion) -> int:
    return PresentedItem.objects.filter(
        presentation__label__project=criterion.project, position=0, **filter_of_not_judged(criterion)
    ).count()


def not_judged(criterion: Criterion) -> Ints:
    """Return (n, 2) item and annotator of every item shown in an answer that judged nothing."""
    kept = filter_of_not_judged(criterion)
    rows = PresentedItem.objects.filter(presentation__label__project=criterion.project, **kept)
    found = rows.values_list("item_id", f"{LABEL}annotator_id").iterator(20_000)
    table: Ints = np.fromiter(found, dtype=np.dtype((np.int64, 2)))
    return table.reshape(-1, 2)


def filter_of_not_judged(criterion: Criterion) -> dict[str, Any]:
    return counted_label_filter(criterion) | {f"{answer_path(criterion)}outcome__in": NOT_JUDGED}


def _side(cells: CountCells, of_cells: Ints, keys: Ints, effects: Floats, deviations: Floats) -> Side:
    undecided, shown = (sum_by_group(of_cells, values, len(keys)) for values in (cells.counts, cells.exposures))
    return Side(keys, effects, deviations, undecided, shown)


def _listed(side: Side) -> dict[str, Any]:
    enough = side.shown >= MIN_SHOWN
    high = np.flatnonzero(enough & (side.effects > Z_LIMIT * side.deviations))
    worst = high[np.argsort(-side.effects[high], kind="stable")][:MAX_LISTED]
    times = side.times()
    rows = [[int(side.keys[i]), *times[i].tolist(), int(side.undecided[i]), int(side.shown[i])] for i in worst]
    return {"n": int(enough.sum()), "n_listed": len(high), "worst": rows}
