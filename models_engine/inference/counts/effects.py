"""Effects of items and annotators alone, of Poisson counts: the same bound by alternating steps, much faster."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from models_engine.errors import InsufficientData
from models_engine.inference.counts.bound import CONSTANT_SD, CountBound, Effects, Scales
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.factorization import (
    FittedCounts,
    log_scale_prior,
    start_constant,
    updated_scales,
)
from models_engine.linalg import sum_by_group
from models_engine.messages import Message, gettext_noop
from models_engine.progress import FitLog, Progress

__all__ = ["fit_effects"]

Floats = NDArray[np.float64]
N_INNER = 4  # Newton steps of each effect in a sweep
MAX_STEP = 2.0
TOLERANCE = 1e-4  # of any effect from one sweep to the next


def fit_effects(
    cells: CountCells, *, max_sweeps: int = 500, n_prior: float = 0.0, progress: Progress | None = None
) -> FittedCounts:
    """Return what CountModel(0, "poisson", n_prior=n_prior) fits, in O(n_cells) a sweep.

    Given the annotators, an item's mean m and variance s maximise y m - A exp(m + s/2) - (m^2 + s)/(2 prior) + log(s)/2
    with A the sum of its cells' exposures times the annotators' expected factors; and the other way round. What items
    or annotators share moves into the constant at once. Raises InsufficientData, Cancelled; warns NotConverged.
    """
    if not cells.n_cells:
        raise InsufficientData("there are no counts; an effect needs at least one cell.")
    log = FitLog(max_sweeps, progress)
    exposures = csr_matrix((cells.exposures, (cells.items, cells.annotators)), (cells.n_items, cells.n_annotators))
    of_items = sum_by_group(cells.items, cells.counts, cells.n_items)
    of_annotators = sum_by_group(cells.annotators, cells.counts, cells.n_annotators)
    constant = start_constant(cells)
    scales = Scales(1.0, 1.0, np.zeros(0), constant)
    item, annotator = (np.stack([np.zeros(n), np.full(n, 0.05)]) for n in exposures.shape)
    bound, change = CountBound(cells), np.inf
    at = _effects(constant, item, annotator)
    while change > TOLERANCE and len(log.objective) < max_sweeps:
        before = np.r_[item[0], annotator[0]]
        item = _one_side(item, of_items, np.exp(constant) * (exposures @ _factors(annotator)), scales.items)
        item, constant = _centred(item, constant, scales.items, scales.constant)
        annotator = _one_side(
            annotator, of_annotators, np.exp(constant) * (exposures.T @ _factors(item)), scales.annotators
        )
        annotator, constant = _centred(annotator, constant, scales.annotators, scales.constant)
        at = _effects(constant, item, annotator)
        scales = updated_scales(at, scales, n_prior)
        change = float(np.abs(np.r_[item[0], annotator[0]] - before).max())
        log.step(bound.evaluate(at, scales)[0] + log_scale_prior(scales, n_prior))
    converged = change <= TOLERANCE
    text = gettext_noop("no effect moved by more than %(change)s")
    text = text if converged else gettext_noop("effects still move by %(change)s")
    message = Message.of(text, change=f"{TOLERANCE if converged else change:g}")
    diagnostics = log.finish(converged=converged, message=message)
    return FittedCounts(cells, at, scales, log.objective[-1], diagnostics)


def _effects(constant: float, item: Floats, annotator: Floats) -> Effects:
    columns = (part[:, None] for part in (*item, *annotator))
    return Effects(constant, *columns)


def _factors(side: Floats) -> Floats:
    """Return the expectations of exp(effect); side: (2, n) means and variances."""
    found: Floats = np.exp(side[0] + side[1] / 2)
    return found


def _one_side(side: Floats, counts: Floats, expected: Floats, prior: float) -> Floats:
    """Return means and variances given the other side. expected: (n,) counts expected of an effect of 0."""
    mean, variance = side.copy()
    for _ in range(N_INNER):
        rate = expected * np.exp(np.minimum(mean + variance / 2, 50.0))
        variance = 1 / (rate + 1 / prior)
        mean = mean + np.clip(variance * (counts - rate - mean / prior), -MAX_STEP, MAX_STEP)
    return np.stack([mean, variance])


def _centred(side: Floats, constant: float, prior: float, middle: float) -> tuple[Floats, float]:
    """Move what all effects share into the constant, as far as the priors of both ask for."""
    mean, variance = side
    pull = mean.sum() / prior - (constant - middle) / CONSTANT_SD**2
    shift = pull / (len(mean) / prior + 1 / CONSTANT_SD**2)
    return np.stack([mean - shift, variance]), float(constant + shift)
