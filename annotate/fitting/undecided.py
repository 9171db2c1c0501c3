"""Finds items that nobody can decide, and who is undecided more often than their items explain; kept with the fit."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.reading import LABEL, Ints, Labels, answer_path, counted_label_filter
from annotate.models import Label, PresentedItem
from models_engine.analysis.undecided import count_ties
from models_engine.constants import Z90
from models_engine.errors import NotConverged
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.effects import fit_effects

NOT_JUDGED = (Label.Outcome.CANT_JUDGE, Label.Outcome.SKIP)
MIN_UNDECIDED = 20  # answers that call items equal or do not judge them, below which nothing is said
MIN_SHOWN = 5  # times that an item was shown, or an annotator answered, below which nothing is listed
Z_LIMIT = 2.33  # chance alone exceeds it once in 100 cases
MAX_LISTED = 50
Floats = NDArray[np.float64]


def measure_undecided(criterion: Criterion, labels: Labels) -> dict[str, Any] | None:
    """Returns what pages show, as JSON; None for fewer undecided answers than MIN_UNDECIDED, or without convergence.

    "items" and "annotators" have n, n_listed and the worst: primary key, how many times as often as on average with its
    90% interval, undecided answers, answers.
    """
    cells, item_ids, annotator_ids, n_undecided = count_undecided(criterion, labels)
    if n_undecided < MIN_UNDECIDED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # then nothing is said
        found = fit_effects(cells)
    if not found.diagnostics.converged:
        return None
    sd_items, sd_annotators = found.standard_deviations()
    here = np.isin(item_ids, labels.item_ids[labels.ranked])
    everybody = np.ones(len(annotator_ids), dtype=bool)
    return {
        "n_undecided": n_undecided,
        "items": _listed(cells, cells.items, item_ids[here], found.item_effects[here], sd_items[here], here),
        "annotators": _listed(
            cells, cells.annotators, annotator_ids, found.annotator_effects, sd_annotators, everybody
        ),
    }


def count_undecided(criterion: Criterion, labels: Labels) -> tuple[CountCells, Ints, Ints, int]:
    """Returns the counts by item and annotator, their primary keys, and how many answers were undecided."""
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
    return cells, item_ids, annotator_ids, round(float(cells.counts.sum()) / criterion.project.k)


def not_judged(criterion: Criterion) -> Ints:
    """Returns (n, 2) item and annotator of every item shown in an answer that judged nothing."""
    kept = counted_label_filter(criterion) | {f"{answer_path(criterion)}outcome__in": NOT_JUDGED}
    rows = PresentedItem.objects.filter(presentation__label__project=criterion.project, **kept)
    found = rows.values_list("item_id", f"{LABEL}annotator_id").iterator(20_000)
    table: Ints = np.fromiter(found, dtype=np.dtype((np.int64, 2)))
    return table.reshape(-1, 2)


def _listed(
    cells: CountCells, side: Ints, keys: Ints, effects: Floats, deviations: Floats, kept: NDArray[np.bool_]
) -> dict[str, Any]:
    undecided, shown = (np.bincount(side, values, len(kept))[kept] for values in (cells.counts, cells.exposures))
    enough = shown >= MIN_SHOWN
    high = np.flatnonzero(enough & (effects > Z_LIMIT * deviations))
    worst = high[np.argsort(-effects[high], kind="stable")][:MAX_LISTED]
    rows = [
        [
            int(keys[i]),
            *(float(np.exp(effects[i] + z * deviations[i])) for z in (0, -Z90, Z90)),
            int(undecided[i]),
            int(shown[i]),
        ]
        for i in worst
    ]
    return {"n": int(enough.sum()), "n_listed": len(high), "worst": rows}
