"""P(answer) given Gaussian utilities, by quadrature: logit and probit links, ties, side effect, lapses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_ndtr, ndtr

from models_engine.normal_intervals import log_interval

__all__ = ["Likelihood", "expectation", "log_expectation"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Likelihood:
    """Likelihood of an answer to a pair given its margin (utility of left minus utility of right).

    link: logit, P = 1/(1+exp(-margin)); probit, P = Phi(margin).
    side: utility added to the item shown left.
    lapse: share of reversed answers, 0 to 1; P becomes lapse + (1 - 2 lapse) P.
    tie: Davidson's nu (logit only): P(tie) = nu / (2 cosh(margin/2) + nu).
    tie_rate: where there is no nu, the constant share of answers that are ties, used only by log_outcome.
    side_sd: posterior standard deviation of side, reported (and of one annotator's posterior counted in its margins'
        variance); None where no side effect was inferred.
    cuts: cut points c_0 <= ... of graded answers, in the link's units: P(tie) is that margin plus noise lies within
        c_0 of 0, P(grade g) that it lies between c_{g-1} and c_g, the highest beyond the last. c_0 is 0 without ties.
    cut_sds: posterior standard deviations of the cut points, reported only.
    """

    link: Literal["logit", "probit"] = "logit"
    side: float = 0.0
    lapse: float = 0.0
    tie: float | None = None
    tie_rate: float | None = None
    side_sd: float | None = None
    cuts: tuple[float, ...] | None = None
    cut_sds: tuple[float, ...] | None = None

    def preference(self, mean: ArrayLike, variance: ArrayLike) -> Floats:
        """Return P(left preferred | no tie), averaged over who is shown left, margin ~ N(mean, variance)."""
        mean, variance = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
        shown_left = self._no_tie(mean + self.side, variance)
        average = (shown_left + self._no_tie(mean - self.side, variance)) / 2 if self.side else shown_left
        return np.clip(self.lapse + (1 - 2 * self.lapse) * average, 0.0, 1.0)  # rounding errors of the quadrature

    def log_outcome(
        self,
        outcome: ArrayLike,
        mean: ArrayLike,
        variance: ArrayLike,
        *,
        sided: ArrayLike = True,
        grade: ArrayLike | None = None,
    ) -> Floats:
        """Return log P(outcome 1 left, 0 right, 0.5 tie) of pairs as shown, margin ~ N(mean, variance).

        grade: of the preferred item, 0 for any; used where there are cut points.

        sided: whether the order shown is known, so that the side effect applies. Without tie and tie_rate a tie counts
        as half a win each way, which gives a score and not a probability.
        """
        outcome, mean, variance, sided = np.broadcast_arrays(outcome, mean, variance, sided)
        mean = np.asarray(mean, float) + self.side * sided
        towards = np.where(outcome >= 0.5, mean, -mean)
        is_tie = outcome == 0.5
        if self.cuts is not None:
            return self._log_graded(np.where(is_tie, -1, 0 if grade is None else grade), towards, variance)
        win = self._log_win(towards, variance)
        if self.tie is not None:
            nu = self.tie
            tied = log_expectation(
                lambda z: np.log(nu) - np.logaddexp(np.logaddexp(z / 2, -z / 2), np.log(nu)), mean, variance
            )
            return np.where(is_tie, tied, win)
        if self.tie_rate is not None and 0 < self.tie_rate < 1:
            return np.where(is_tie, np.log(self.tie_rate), np.log1p(-self.tie_rate) + win)
        return np.where(is_tie, (win + self._log_win(-towards, variance)) / 2, win)

    def _log_graded(self, grade: Floats, mean: Floats, variance: Floats) -> Floats:
        """Return log P(grade of the side of this margin); 0: any grade, -1: a tie. Without ties their P is a rate's."""
        cuts, lapse = np.array([*(self.cuts or ()), np.inf]), self.lapse
        tie_rate = self.tie_rate if self.tie_rate is not None and cuts[0] == 0 else None
        result = np.empty(np.shape(mean))
        for one in np.unique(grade).astype(np.int64).tolist():
            at = grade == one
            if one < 0 and cuts[0] == 0:
                both = [self._log_graded(np.zeros(at.sum()), way * mean[at], variance[at]) for way in (1, -1)]
                result[at] = (both[0] + both[1]) / 2 if tie_rate is None else np.log(tie_rate)
                continue
            low, high = (-cuts[0], cuts[0]) if one < 0 else (cuts[max(one - 1, 0)], cuts[one] if one else np.inf)
            if self.link == "probit":
                result[at] = _log_normal_between(mean[at], variance[at], low, high, lapse)
            else:
                between = partial(_log_between, low=low, high=high, lapse=lapse)
                result[at] = log_expectation(between, mean[at], variance[at])
            result[at] += np.log1p(-tie_rate) if tie_rate is not None and 0 < tie_rate < 1 else 0.0
        return result

    def _no_tie(self, mean: Floats, variance: Floats) -> Floats:
        cut = self.cuts[0] if self.cuts is not None else 0.0
        if self.link == "probit" and cut > 0:
            return expectation(lambda z: -np.logaddexp(0, log_ndtr(-z - cut) - log_ndtr(z - cut)), mean, variance)
        if self.link == "probit":
            return ndtr(mean / np.sqrt(1 + variance))
        if cut > 0:
            return expectation(lambda z: log_expit(z + np.logaddexp(0, z + cut) - np.logaddexp(z, cut)), mean, variance)
        return expectation(log_expit, mean, variance)

    def _log_win(self, mean: Floats, variance: Floats) -> Floats:
        """Return log P(this side is preferred and it is no tie)."""
        if self.link == "probit" and not self.lapse:
            return log_ndtr(mean / np.sqrt(1 + variance))
        if (self.tie is None or self.tie <= 0) and not self.lapse:
            return log_expectation(log_expit, mean, variance)
        if self.tie is None or self.tie <= 0:
            return np.log(self.lapse + (1 - 2 * self.lapse) * self._no_tie(mean, variance))
        log_tie, lapse = np.log(self.tie), self.lapse

        def log_probability(z: Floats) -> Floats:  # Davidson (1970), eq. 2.4, with exp(z) = pi_left / pi_right
            scale = np.logaddexp(np.logaddexp(z / 2, -z / 2), log_tie)
            return np.logaddexp(np.log1p(-lapse) + z / 2, np.log(lapse) - z / 2 if lapse else -np.inf) - scale

        return log_expectation(log_probability, mean, variance)


def _log_between(z: Floats, low: float, high: float, lapse: float) -> Floats:
    """Return log of P(low < z + logistic noise < high), of -z in a share of lapse."""
    gap = np.log(-np.expm1(low - high)) if np.isfinite(high) else 0.0

    def one_way(z: Floats) -> Floats:
        return log_expit(z - low) + (log_expit(high - z) if np.isfinite(high) else 0.0) + gap

    if not lapse:
        return one_way(z)
    return np.logaddexp(np.log1p(-lapse) + one_way(z), np.log(lapse) + one_way(-z))


def _log_normal_between(mean: Floats, variance: Floats, low: float, high: float, lapse: float) -> Floats:
    """Return log of P(low < z + normal noise < high), z ~ N(mean, variance), of -z in a share of lapse."""
    scale = np.sqrt(1 + variance)
    kept = log_interval((low - mean) / scale, (high - mean) / scale)
    if not lapse:
        return kept
    turned = log_interval((low + mean) / scale, (high + mean) / scale)
    return np.logaddexp(np.log1p(-lapse) + kept, np.log(lapse) + turned)


def expectation(log_function: Callable[[Floats], Floats], mean: ArrayLike, variance: ArrayLike) -> Floats:
    """Return E[exp(log_function(z))], z ~ N(mean, variance), elementwise; see `log_expectation`."""
    return np.exp(log_expectation(log_function, mean, variance))


def log_expectation(log_function: Callable[[Floats], Floats], mean: ArrayLike, variance: ArrayLike) -> Floats:
    """Return log E[exp(log_function(z))], z ~ N(mean, variance), elementwise; relative error of E below 1e-9.

    Trapezoidal rule over z, which converges exponentially for functions analytic in a strip; the step is at most 0.6
    (the logistic's poles lie pi from the real line) and a third of the standard deviation, over 9 of those each way, or
    more where exp(log_function), which must not rise or fall faster than e^z, moves the middle of what is summed.
    """
    means, variances = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
    flat_mean, flat_sd = means.ravel(), np.sqrt(np.maximum(variances.ravel(), 0.0))
    result = np.empty(len(flat_mean))
    order = np.argsort(flat_sd, kind="stable")  # a chunk shares its nodes: group similar widths
    start = 0
    while start < len(order):
        widest = flat_sd[order[min(start + 20_000, len(order)) - 1]]
        rows = order[start : start + 20_000]
        reach = _reach(flat_mean[rows], flat_sd[rows])
        n_points = _n_points(widest, reach)
        rows = rows[: max(1, 2_000_000 // n_points)]
        unit = np.linspace(-reach, reach, n_points)
        weight = np.exp(-(unit**2) / 2)
        values = log_function(flat_mean[rows, None] + flat_sd[rows, None] * unit)
        largest = values.max(axis=1)
        result[rows] = largest + np.log(np.exp(values - largest[:, None]) @ (weight / weight.sum()))
        start += len(rows)
    return result.reshape(means.shape)


def _reach(mean: Floats, sd: Floats) -> float:
    """Return how many standard deviations to go each way: 6.5 beyond the largest move of the middle.

    A factor e^z moves it by sd of them, but only to where the factor levels off, as probabilities do near 0; two more
    allow for side effects, ties and cut points.
    """
    moves = np.minimum(sd, 2.0 + np.abs(mean) / np.maximum(sd, 1e-300))
    return max(9.0, 6.5 + float(moves.max()))


def _n_points(sd: float, reach: float) -> int:
    if sd == 0:
        return 1
    return int(np.ceil(2 * reach / min(1 / 3, 0.6 / sd))) | 1
