"""Learns the cut points of graded answers by EP's evidence, all else being given, and what is open about them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.graded.cut_points import (
    CutScores,
    cut_deviations,
    cuts_from_gaps,
    log_cut_prior,
    starting_log_gaps,
)
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.linalg import sum_by_group

__all__ = [
    "KnownCuts",
    "improve_cuts",
    "learn_cuts",
    "log_gaps_of",
    "measure_cuts",
    "root_of_deviations",
    "root_of_draws",
    "starting_cuts",
]

Floats = NDArray[np.float64]
MAX_STEP = 0.7  # of a log gap
MAX_ROUNDS = 12
TOLERANCE = 1e-2  # of a step, in standard deviations of a log gap given all else
DIFFERENCE = 0.05  # of a log gap, for differences of the gradient
MAX_SD = 3.0  # of a log gap: of more, the quadratic approximation means nothing


def log_gaps_of(cuts: Floats) -> Floats:
    """Return the log gaps of cut points, -inf for a c_0 of 0."""
    gaps = np.diff(cuts, prepend=0.0)
    return np.log(np.maximum(gaps, 1e-300), out=np.full(len(gaps), -np.inf), where=gaps > 0)


def starting_cuts(sites: PairSites, n_grades: int, margin_variance: float) -> Floats:
    """Return the cut points that give the shares of the graded answers for margins N(0, margin_variance)."""
    grade = np.zeros(len(sites), np.int64) if sites.grade is None else sites.grade
    has_grade = ((grade > 0) | (sites.wins == sites.losses)) & ~sites.ranked
    weight = sites.copies * (sites.wins + sites.losses) * has_grade
    equal = starting_log_gaps(sum_by_group(np.maximum(grade, 0), weight, n_grades + 1), "probit")
    return np.sqrt(1 + margin_variance) * cuts_from_gaps(equal)


def _scores(log_gaps: Floats, result: EPResult) -> CutScores:
    """Return the derivatives of evidence and prior in the learned log gaps, at a fixed point of EP."""
    if result.by_cuts is None:
        raise ValueError("the result is of sites without grades.")
    whole = (result.by_cuts + log_cut_prior(log_gaps, "probit")[1]).in_log_gaps(log_gaps)
    free = np.isfinite(log_gaps)
    return CutScores(whole.score[free], whole.curvature[np.ix_(free, free)])


def improve_cuts(cuts: Floats, result: EPResult) -> tuple[Floats, float]:
    """Return cut points after one step up the evidence by the answers' own scores, and its size in standard
    deviations of a log gap; `result`: EP at `cuts`."""
    gaps = log_gaps_of(cuts)
    free, found = np.isfinite(gaps), _scores(gaps, result)
    if not free.any():
        return cuts, 0.0
    step = np.clip(np.linalg.lstsq(found.curvature, found.score, rcond=1e-9)[0], -MAX_STEP, MAX_STEP)
    size = float(np.abs(step * np.sqrt(np.diagonal(found.curvature))).max())
    moved = gaps.copy()
    moved[free] += step
    return cuts_from_gaps(moved), size


def learn_cuts(
    crowd: CrowdPrior, run: Callable[[CrowdPrior, EPResult | None], EPResult], max_rounds: int = MAX_ROUNDS
) -> tuple[CrowdPrior, EPResult]:
    """Alternate EP and steps of the cut points until these are below TOLERANCE; return the prior with them and EP's
    result there.

    run: EP under a prior, started from an earlier result.
    """
    result = run(crowd, None)
    for _ in range(max_rounds):
        if crowd.cuts is None:
            break
        cuts, size = improve_cuts(crowd.cuts, result)
        if size < TOLERANCE:
            break
        crowd = crowd.changed(cuts=cuts)
        result = run(crowd, result)
    return crowd, result


@dataclass(frozen=True, eq=False)
class KnownCuts:
    """Cut points (n_grades,) with their standard deviations; widening (n_items, k): the moves of the consensus mean by
    what is open about them, one column for each independent direction."""

    values: tuple[float, ...]
    deviations: tuple[float, ...]
    widening: Floats

    def spread_over(self, others: list[Floats], weights: list[float]) -> "KnownCuts":
        """Return the same with deviations that count how cut points vary over other settings of these weights."""
        if not others:
            return self
        share = np.asarray(weights) / np.sum(weights)
        apart = share @ (np.asarray(others) - share @ np.asarray(others)) ** 2
        return replace(self, deviations=tuple(np.sqrt(np.asarray(self.deviations) ** 2 + apart).tolist()))


def measure_cuts(
    crowd: CrowdPrior,
    result: EPResult,
    run: Callable[[CrowdPrior, EPResult | None], EPResult] | None,
    root: Floats | None = None,
) -> KnownCuts | None:
    """Return the cut points with what is open about them: the covariance root root' of their log gaps, (n_grades, k),
    where that is known, else by Laplace's approximation of evidence times prior.

    The curvature and how the consensus follows are central differences of the gradient and of EP's mean; without `run`,
    for so many answers that repeating EP takes long and little is open, the answers' own scores and no widening.
    """
    if crowd.cuts is None:
        return None
    gaps = log_gaps_of(crowd.cuts)
    free = np.flatnonzero(np.isfinite(gaps))
    curvature, follow = _scores(gaps, result).curvature, np.zeros((len(result.mean), len(free)))
    for place, gap in enumerate(free):
        if run is None:
            break
        ends = []
        for way in (1, -1):
            moved = gaps.copy()
            moved[gap] += way * DIFFERENCE
            found = run(crowd.changed(cuts=cuts_from_gaps(moved)), result)
            ends.append((_scores(moved, found).score, found.mean))
        curvature[place] = (ends[1][0] - ends[0][0]) / (2 * DIFFERENCE)
        follow[:, place] = (ends[0][1] - ends[1][1]) / (2 * DIFFERENCE)
    open_ = _root_of_inverse(curvature) if root is None else root[free]
    return KnownCuts(tuple(crowd.cuts.tolist()), cut_deviations(gaps, open_ @ open_.T), follow @ open_)


def _root_of_inverse(curvature: Floats) -> Floats:
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    return np.asarray(vectors / np.sqrt(np.maximum(values, MAX_SD**-2)))


def root_of_draws(log_gaps: Floats) -> Floats:
    """Return a root (n_grades, n_grades) of the covariance of draws (n_draws, n_grades); 0 where a gap is fixed."""
    free, root = np.isfinite(log_gaps[0]), np.zeros((log_gaps.shape[1], log_gaps.shape[1]))
    some = log_gaps[:, free] - log_gaps[:, free].mean(axis=0)
    values, vectors = np.linalg.eigh(some.T @ some / max(1, len(some) - 1))
    root[np.ix_(free, free)] = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def root_of_deviations(cuts: Floats, deviations: Floats) -> Floats:
    """Return the root (n_grades, 1) of a covariance of log gaps that gives cut points these deviations, if all are too
    large or too small together, as they are where the scale of all is what is open."""
    gaps, moved = np.diff(cuts, prepend=0.0), np.diff(deviations, prepend=0.0)
    return np.divide(moved, gaps, out=np.zeros(len(gaps)), where=gaps > 0)[:, None]
