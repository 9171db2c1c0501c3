"""The prior scale of a Bradley-Terry-Davidson posterior, learned by the evidence: nearest Gaussians, scale by scale."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.davidson.mode import DavidsonProblem
from models_engine.inference.davidson.scale_mixture import Mixed, mix_over_scales
from models_engine.inference.davidson.variational import VariationalGaussian, find_nearest_gaussian, start_gaussian
from models_engine.inference.graded.problem import GradedProblem
from models_engine.progress import FitLog

__all__ = ["CENTRAL_SD", "HIGHEST_SD", "LOWEST_SD", "VariationalFits"]

Floats = NDArray[np.float64]
Problem = DavidsonProblem | GradedProblem
CENTRAL_SD = 1.5  # median of the log-normal prior of a learned prior_sd, whose log has sd 1
# The likeliest is at most this, at which eight of ten pairs of items are surer than nine to one. Where all answers
# agree the evidence would have utilities grow nearly without end, and fits would take ever more steps.
HIGHEST_SD = 6.0
# A learned scale is at least this, half the central one. Of a chain, each item compared with the next alone and all
# agreed, utilities in that very order are so improbable a draw from one normal distribution (1 in n!) that the exact
# evidence, too, takes chance and a scale near 0 for likelier, and would have the first hardly above the last. Truths
# more alike than this have wider intervals than they need, never narrower ones.
LOWEST_SD = CENTRAL_SD / 2
SCALE_STEPS = 30
NODE_TOLERANCE = 2e-5  # of the fits that are averaged
SMALLEST = 1e-300  # weight of a pair whose logarithm is taken


class VariationalFits:
    """The nearest Gaussians to a posterior at one prior scale after another, each started from those before.

    problem: the posterior; its own prior of the utilities is not used.   start: mean and weights to begin with.
    log: counts the steps of all fits together, each of which may take as many as its total.   nearest: the last one.
    converged: whether all were found.
    """

    def __init__(self, problem: Problem, start: VariationalGaussian, tolerance: float, log: FitLog) -> None:
        self.problem, self.nearest, self.tolerance, self.log = problem, start, tolerance, log
        self.converged = True
        self._found: list[tuple[float, Floats, Floats]] = []  # log prior_sd, mean, log weights

    def fit(self, prior_sd: float, within: float = 0.0) -> VariationalGaussian:
        """Find the nearest Gaussian under this prior, to `within` if that is coarser than 100 times the tolerance."""
        position = float(np.log(prior_sd))
        mean, weights = self._expect(position)
        begin = start_gaussian(self.nearest.problem.with_prior_sd(prior_sd), mean, weights)
        self.nearest, found = find_nearest_gaussian(
            begin, tolerance=max(within, 100 * self.tolerance), limit=self.log.total, step_done=self.log.step
        )
        self.converged &= found
        self._found.append((position, self.nearest.state.x, np.log(np.maximum(self.nearest.weights, SMALLEST))))
        return self.nearest

    def learn_scale(self, first: float) -> float:
        """Solve d log evidence / d log prior_sd = 0 by the secant rule from MacKay's first step; the fit is then there.

        The slope of the log evidence is that of its bound (MacKay 1992), with the log-normal prior's. HIGHEST_SD is
        found where it still rises there, LOWEST_SD where it already falls.
        """
        ends = {float(np.log(sd)): sd for sd in (LOWEST_SD, HIGHEST_SD)}
        lowest, highest = ends

        def ends_at(position: float, slope: float, level: float) -> bool:
            beyond = (position == highest and slope > 0) or (position == lowest and slope < 0)
            return beyond or abs(slope) < level

        position, before, step = float(np.clip(np.log(first), lowest, highest)), (np.nan, np.nan), 1e-2
        for _ in range(SCALE_STEPS):
            sd = ends.get(position, float(np.exp(position)))
            within = min(1e-3, 0.1 * abs(step))
            slope, first_step = self._evidence_slope(self.fit(sd, within), sd)
            level = 1e-6 * self.problem.n_items
            if ends_at(position, slope, level) and within > 100 * self.tolerance:
                slope, first_step = self._evidence_slope(self.fit(sd), sd)  # what a rough fit says may be chance
                level *= 10
            if ends_at(position, slope, level):
                return sd
            secant = -slope * (position - before[0]) / (slope - before[1]) if slope != before[1] else np.nan
            step = float(np.clip(secant if np.isfinite(secant) else first_step, -0.7, 0.7))
            before, position = (position, slope), float(np.clip(position + step, lowest, highest))
        self.converged = False
        return sd

    def mix_over_scales(self, sd: float) -> Mixed | None:
        """Return the moments of x over scales, of which sd is the likeliest; see mix_over_scales. None where sd is
        HIGHEST_SD, which then stands for all, or where there are none, which counts as not converged. None is below
        LOWEST_SD.

        The fit is at sd before and after. The others begin with it alone, so that they end alike, whatever the start.
        """
        if not self.converged or sd == HIGHEST_SD:
            return None
        likeliest, mode = self.nearest, float(np.log(sd))
        self._found = self._found[-1:]

        def fit(position: float) -> tuple[float, Floats, Callable[[], Floats]] | None:
            scale = float(np.exp(position))
            found = likeliest if position == mode else self.fit(scale, within=NODE_TOLERANCE)
            if not self.converged:
                return None
            return self._evidence_slope(found, scale)[0], found.state.x, lambda: found.whole_covariance

        mixed = mix_over_scales(mode, fit, float(np.log(LOWEST_SD)))
        self.nearest = likeliest
        self.converged &= mixed is not None
        return mixed

    def _expect(self, position: float) -> tuple[Floats, Floats]:
        """Return mean and weights at this log prior_sd by the line through the two nearest fits; nuisances, which
        hardly depend on it, as in the nearest.
        """
        near = sorted(self._found, key=lambda one: abs(one[0] - position))[:2]
        if not near:
            return self.nearest.state.x, self.nearest.weights
        at, mean, log_weights = near[0]
        if len(near) == 2 and near[1][0] != at:
            share = float(np.clip((position - at) / (near[1][0] - at), -2.0, 1.0))
            moved = np.zeros(len(mean))
            moved[: self.problem.n_items] = share * (near[1][1] - mean)[: self.problem.n_items]
            mean, log_weights = mean + moved, log_weights + share * (near[1][2] - log_weights)
        return mean, np.exp(log_weights)

    def _evidence_slope(self, found: VariationalGaussian, sd: float) -> tuple[float, float]:
        """Return E|f|^2/sd^2 - n plus the log-normal prior's gradient; and MacKay's step, the log of effective
        sd over sd.
        """
        f = self.problem.split(found.state.x)[0]
        pull = -np.log(sd / CENTRAL_SD)
        fitted, free = float(f @ f) / sd**2, self.problem.n_items - float(np.trace(found.covariance)) / sd**2
        return fitted - free + pull, 0.5 * np.log(max(fitted + max(pull, 0), 1e-2) / max(free - min(pull, 0), 1e-2))
