"""The prior scale of a Bradley-Terry-Davidson posterior, learned by the evidence: nearest Gaussians, scale by scale."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.davidson.evidence import evidence_above_bound
from models_engine.inference.davidson.mode import DavidsonProblem
from models_engine.inference.davidson.scale_mixture import Mixed, mix_over_scales
from models_engine.inference.davidson.variational import VariationalGaussian, find_nearest_gaussian, start_gaussian
from models_engine.inference.graded.problem import GradedProblem
from models_engine.progress import FitLog

__all__ = ["AGREED_SD", "CENTRAL_SD", "HIGHEST_SD", "LOWEST_SD", "VariationalFits"]

Floats = NDArray[np.float64]
Problem = DavidsonProblem | GradedProblem
Moments = tuple[Floats, Callable[[], Floats]]  # a mean, and how to compute its covariance
CENTRAL_SD = 1.5  # median of the log-normal prior of a learned prior_sd, whose log has sd 1
# The likeliest is at most this, at which eight of ten pairs of items are surer than nine to one. Where all answers
# agree the evidence would have utilities grow nearly without end, and fits would take ever more steps.
HIGHEST_SD = 6.0
LOWEST_SD = 0.05  # a learned scale is at least this, at which most pairs of items are no surer than 51 to 49
# It is at least this, half the central one, where people agree more than a smaller one explains. Of a chain, each item
# compared with the next alone and all agreed, utilities in that very order are so improbable a draw from one normal
# distribution (1 in n!) that the exact evidence, too, takes chance and a scale near 0 for likelier, and would have the
# first hardly above the last.
AGREED_SD = CENTRAL_SD / 2
WIDE_SD = 2 * CENTRAL_SD  # a maximum above it may have another at AGREED_SD or below
WELL_KNOWN = 0.1  # share of the prior's variance left open, below which one at AGREED_SD or below is the only one
SCALE_STEPS = 30
MAX_STEP = 0.7  # of log prior_sd
SCALE_TOLERANCE = 1e-5  # of log prior_sd
LEAST_APART = 1e-3  # of two values of log prior_sd whose slopes tell how the slope changes
ROUGH = 1e-3  # of the first fits of a search
NODE_TOLERANCE = 2e-5  # of the fits that are averaged
SMALLEST = 1e-300  # weight of a pair whose logarithm is taken


class VariationalFits:
    """The nearest Gaussians to a posterior at one prior scale after another, each started from those before.

    problem: the posterior; its own prior of the utilities is not used.   start: mean and weights to begin with.
    lowest: a learned scale is at least this.   log: counts the steps of all fits together, each of which may take as
    many as its total.   nearest: the last one.
    converged: whether all were found.
    """

    def __init__(
        self, problem: Problem, start: VariationalGaussian, tolerance: float, log: FitLog, lowest: float
    ) -> None:
        self.problem, self.nearest, self.tolerance, self.log = problem, start, tolerance, log
        self.lowest = lowest
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
        """Find the likeliest scale from `first` on; the fit is then there.

        Where items are hardly compared with any but their neighbours the density may have two maxima: at AGREED_SD
        or below, and above WIDE_SD. Where the climb ends at one of them and the density rises towards another on the
        other side, the greater one is taken, so that the end does not depend on where the climb begins.
        """
        found = self._climb(first)
        wide, fitted = found > WIDE_SD, self.nearest
        open_share = float(np.trace(fitted.covariance)) / (self.problem.n_items * found**2)
        if not self.converged or not (wide or (found <= AGREED_SD and open_share > WELL_KNOWN)):
            return found
        beyond = AGREED_SD if wide else WIDE_SD
        if (self._evidence_slope(self.fit(beyond, ROUGH), beyond) < 0) == wide:
            other, density = self._climb(beyond), self._log_density(found, fitted)
            if self._log_density(other, self.nearest) > density:
                return other
        self.nearest = fitted
        return found

    def _climb(self, first: float) -> float:
        """Solve d log density / d log prior_sd = 0 by the secant rule, within the signs of the slope that were seen.

        HIGHEST_SD is found where the density still rises there, `lowest` where it already falls.
        """
        ends = {float(np.log(sd)): sd for sd in (self.lowest, HIGHEST_SD)}
        lowest, highest = ends
        low, high = -np.inf, np.inf  # where it rises and where it falls
        position, within, bend = float(np.clip(np.log(first), lowest, highest)), ROUGH, 0.0
        before: tuple[float, float] | None = None  # position and slope
        for _ in range(SCALE_STEPS):
            sd = ends.get(position, float(np.exp(position)))
            found = self.fit(sd, within)
            slope = self._evidence_slope(found, sd)
            if before is None:
                bend = self._evidence_bend(found, sd)
            elif abs(position - before[0]) > LEAST_APART:
                bend = (slope - before[1]) / (position - before[0])
            step = float(np.clip(-slope / bend if bend < 0 else np.copysign(MAX_STEP, slope), -MAX_STEP, MAX_STEP))
            new = float(np.clip(position + step, lowest, highest))
            if abs(new - position) < SCALE_TOLERANCE:
                if within == 0:
                    return sd
                within = 0.0  # what a rough fit says may be chance
                continue
            if abs(step) > 10 * within:
                low, high = (position, high) if slope > 0 else (low, position)
            if not low < new < high and np.isfinite(high - low):
                new = (low + high) / 2
            before, within, position = (position, slope), min(ROUGH, abs(new - position) / 10), new
        self.converged = False
        return sd

    def mix_over_scales(self, sd: float) -> Mixed | None:
        """Return the moments of x over scales, of which sd is the likeliest; see mix_over_scales. None where sd is
        HIGHEST_SD, which then stands for all, or where there are none, which counts as not converged. None is below
        `lowest`.

        The fit is at sd before and after. The others begin with it alone, so that they end alike, whatever the start.
        """
        return self._mix(sd, lambda found, position: (found.state.x, lambda: found.whole_covariance))

    def log_scale(self, sd: float) -> tuple[float, float]:
        """Return mean and standard deviation of log prior_sd, of which sd is the likeliest, as mix_over_scales has it;
        0 for the latter where that is None.
        """
        mixed = self._mix(sd, lambda found, position: (np.array([position]), lambda: np.zeros((1, 1))))
        return (float(np.log(sd)), 0.0) if mixed is None else (float(mixed.mean[0]), float(mixed.along[0]))

    def _mix(self, sd: float, moments: Callable[[VariationalGaussian, float], Moments]) -> Mixed | None:
        if not self.converged or sd == HIGHEST_SD:
            return None
        likeliest, mode = self.nearest, float(np.log(sd))
        self._found = self._found[-1:]

        def fit(position: float) -> tuple[float, float, Floats, Callable[[], Floats]] | None:
            scale = float(np.exp(position))
            found = likeliest if position == mode else self.fit(scale, within=NODE_TOLERANCE)
            if not self.converged:
                return None
            return self._evidence_slope(found, scale), evidence_above_bound(found), *moments(found, position)

        mixed = mix_over_scales(mode, fit, float(np.log(self.lowest)))
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

    def _evidence_slope(self, found: VariationalGaussian, sd: float) -> float:
        """Return E|f|^2/sd^2 - n plus the log-normal prior's gradient: that of the bound (MacKay 1992)."""
        f = self.problem.split(found.state.x)[0]
        return float(f @ f + np.trace(found.covariance)) / sd**2 - self.problem.n_items - np.log(sd / CENTRAL_SD)

    def _evidence_bend(self, found: VariationalGaussian, sd: float) -> float:
        """Return the slope's own slope, as it would be if the pairs' weights stayed as they are."""
        f, covariance = self.problem.split(found.state.x)[0], found.covariance
        square = float(f @ f + np.trace(covariance)) / sd**2
        shrinks = float(2 * f @ (covariance @ f) + np.vdot(covariance, covariance)) / sd**4
        return 2 * (shrinks - square) - 1

    def _log_density(self, sd: float, found: VariationalGaussian) -> float:
        return found.bound + evidence_above_bound(found) - np.log(sd / CENTRAL_SD) ** 2 / 2
