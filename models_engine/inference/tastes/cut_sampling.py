"""Draws the cut points of graded answers given utilities and reliabilities, what was perceived integrated out."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.graded.cut_points import (
    CutScores,
    cuts_from_gaps,
    log_cut_density,
    log_cut_prior,
    starting_log_gaps,
    thresholds,
    tie_scores,
)
from models_engine.inference.probit_ep.interval_sites import IntervalMoments, interval_moments, log_interval_chance
from models_engine.linalg import sum_by_group

__all__ = ["CutSampler"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
N_PROPOSALS = 3  # per sweep
SPAN = 2.38  # of a proposal, over the root of the number of unknowns (Gelman, Roberts & Gilks 1996)
RESHAPED_EVERY = 25  # sweeps of the warm-up


class CutSampler:
    """Metropolis steps of the log gaps between cut points, with the prior of `log_cut_prior` (as Cowles 1996).

    Cut points drawn given what was perceived would hardly move, each being held by the nearest answers on both sides.
    Proposals have the shape of the inverse curvature of the log likelihood, by the answers' own scores; it is computed
    anew in the warm-up only, so that the chain afterwards has the right limit.
    grade (n,): of the winner, 0 for any; tied (n,).
    """

    def __init__(self, grade: Ints, tied: NDArray[np.bool_], n_grades: int) -> None:
        self._grade, self._tied = grade, tied
        counted = np.where(tied | (grade > 0), 1.0, 0.0)
        self.log_gaps = starting_log_gaps(sum_by_group(grade, counted, n_grades + 1), "probit")
        self._free = np.isfinite(self.log_gaps)
        self._root, self._sweeps = np.zeros((0, 0)), 0

    @property
    def cuts(self) -> Floats:
        return cuts_from_gaps(self.log_gaps)

    def draw(self, margin: Floats, lapse: Floats, rng: np.random.Generator, *, warming_up: bool) -> None:
        """Draw anew, given the winners' margins and the share of reversed answers of those who answered, (n,) each."""
        if not self._free.any():
            return
        if warming_up and self._sweeps % RESHAPED_EVERY == 0:
            self._root = self._shape(margin, lapse)
        self._sweeps += 1
        now = self._log_density(self.log_gaps, margin, lapse)
        for _ in range(N_PROPOSALS):
            proposed = self.log_gaps.copy()
            proposed[self._free] += self._root @ rng.standard_normal(len(self._root))
            then = self._log_density(proposed, margin, lapse)
            if np.log(rng.random()) < then - now:
                self.log_gaps, now = proposed, then

    def log_density(self, margin: Floats, lapse: Floats, factor: float) -> float:
        """Return the log density, were the winners' margins these (n,) and the cut points times `factor`."""
        return self._log_density(self.log_gaps + np.log(factor), margin, lapse)

    def prior_gain(self, factor: float) -> float:
        """Return by how much the log prior grows as cut points grow by this factor."""
        return log_cut_density(self.log_gaps + np.log(factor)) - log_cut_density(self.log_gaps)

    def ends(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Return between what the winner's perceived margin lies, (n,) each."""
        low, high = thresholds(cuts, self._grade)
        return np.where(self._tied, -cuts[0], low), np.where(self._tied, cuts[0], high)

    def _moments(self, log_gaps: Floats, margin: Floats, lapse: Floats) -> IntervalMoments:
        ends, certain = self.ends(cuts_from_gaps(log_gaps)), np.zeros(len(margin))
        return interval_moments(margin, certain, *ends, np.ones(len(margin)), lapse)

    def _log_density(self, log_gaps: Floats, margin: Floats, lapse: Floats) -> float:
        likelihood = log_interval_chance(margin, *self.ends(cuts_from_gaps(log_gaps)), lapse).sum()
        return float(likelihood) + log_cut_density(log_gaps)

    def _shape(self, margin: Floats, lapse: Floats) -> Floats:
        """Return the root of the proposals' covariance."""
        at, n = self._moments(self.log_gaps, margin, lapse), len(self.log_gaps)
        won, tied = np.flatnonzero(~self._tied), self._tied
        scores = CutScores.of(n, self._grade[won], np.ones(len(won)), at.by_low[won], at.by_high[won])
        scores += tie_scores(n, 1.0, at.by_high[tied] - at.by_low[tied])
        scores += log_cut_prior(self.log_gaps, "probit")[1]
        curvature = scores.in_log_gaps(self.log_gaps).curvature[np.ix_(self._free, self._free)]
        values, vectors = np.linalg.eigh(curvature)
        return vectors * (SPAN / np.sqrt(len(values)) / np.sqrt(np.maximum(values, 1.0)))
