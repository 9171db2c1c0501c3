"""PlackettLuce: choices and rankings by their exact likelihood, Gamma prior on the worths; mode or Gibbs draws."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import polygamma

from models_engine.covariance.forms import Covariance, DenseCovariance, LowRankCovariance, SumCovariance
from models_engine.covariance.graph import GraphCovariance
from models_engine.data import Comparisons
from models_engine.estimators.settings import check_settings
from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.implied_pairs import Stages
from models_engine.linalg import sum_by_group
from models_engine.messages import SPLIT_RHAT, Message, gettext_noop
from models_engine.posterior import BasePosterior, GaussianPosterior, Likelihood, Posterior, SamplePosterior
from models_engine.progress import FitLog, Progress

__all__ = ["ChoiceProblem", "PlackettLuce"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_DENSE_ITEMS = 2_000  # up to here the curvature is a matrix over all items


@dataclass(frozen=True)
class PlackettLuce:
    """Model P(a is chosen out of a set) = worth_a / sum of the set's worths; a ranking is k-1 choices (Plackett 1975).

    Worths have independent Gamma(a, a) priors; utilities are their logs. Only proportions of worths matter, so the
    rate of the prior has no effect on centred utilities.
    prior_sd: prior standard deviation of a utility, in logits; it sets a by trigamma(a) = prior_sd^2.
    inference: "map", the mode of the utilities, its covariance as in ChoiceProblem.covariance, or "gibbs", draws by the
        data augmentation of Caron & Doucet (2012), section 3: given exponential arrival times, worths are Gamma.
    n_draws, n_burn_in: sweeps of the Gibbs sampler that are stored, and discarded at the start.
    A tied pair counts half a choice each way; for best-worst labels see Comparisons.stages.
    """

    prior_sd: float = 1.5
    inference: Literal["map", "gibbs"] = "map"
    n_draws: int = 2_000
    n_burn_in: int = 500
    max_iterations: int = 200
    tolerance: float = 1e-8

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> BasePosterior:
        """See Estimator.fit. By "map" the covariance of more than 2,000 items holds no matrix over them."""
        check_settings(self)
        problem = ChoiceProblem(data, match_gamma_shape(self.prior_sd))
        utilities = np.zeros(data.n_items)
        if start is not None:
            known = start.utilities()[: data.n_items]
            utilities[: len(known)] = known
        likelihood = Likelihood(tie_rate=data.pairs().tie_rate())
        if self.inference == "gibbs":
            return self._by_gibbs(problem, utilities, likelihood, rng or np.random.default_rng(0), progress)
        return self._by_map(problem, utilities, likelihood, progress)

    def _by_map(
        self, problem: "ChoiceProblem", utilities: Floats, likelihood: Likelihood, progress: Progress | None
    ) -> GaussianPosterior:
        """Find the mode by two MM sweeps, then Newton steps, halved where the log posterior would decrease."""
        log = FitLog(self.max_iterations, progress)
        for _ in range(2):
            utilities = problem.mm_step(utilities)
        value, converged = problem.objective(utilities), False
        log.step(value)
        for _ in range(self.max_iterations):
            step, size = problem.newton_step(utilities), 1.0
            while (new := problem.objective(utilities + size * step)) < value - 1e-12 * abs(value) and size > 1e-8:
                size /= 2
            utilities, value = utilities + size * step, new
            log.step(value)
            if size == 1.0 and np.abs(step).max() < self.tolerance:
                converged = True
                break
        text = gettext_noop("largest step below %(tolerance)s")
        text = text if converged else gettext_noop("largest step not below %(tolerance)s")
        diagnostics = log.finish(converged=converged, message=Message.of(text, tolerance=f"{self.tolerance:g}"))
        mean, spread = utilities - utilities.mean(), problem.covariance(utilities)
        shape = problem.shape
        return GaussianPosterior(mean, spread, diagnostics, likelihood, prior_sd=self.prior_sd, prior_shape=shape)

    def _by_gibbs(
        self,
        problem: "ChoiceProblem",
        utilities: Floats,
        likelihood: Likelihood,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> SamplePosterior:
        """Sample (arrival times | worths), (worths | arrival times) in turn; converged by the utilities' split
        R-hat.
        """
        log = FitLog(self.n_burn_in + self.n_draws, progress)
        draws = np.empty((self.n_draws, problem.n_items))
        for sweep in range(self.n_burn_in + self.n_draws):
            utilities = problem.gibbs_step(utilities, rng)
            if sweep >= self.n_burn_in:
                draws[sweep - self.n_burn_in] = utilities
            log.step(problem.objective(utilities))
        spread = split_rhat(draws - draws.mean(axis=1, keepdims=True))
        message = Message.of(SPLIT_RHAT, spread=f"{spread:.3f}")
        diagnostics = log.finish(converged=spread <= 1.05, message=message)
        return SamplePosterior.of(draws, diagnostics, likelihood, prior_sd=self.prior_sd, prior_shape=problem.shape)


class ChoiceProblem:
    """Log posterior of the utilities f = log worth: sum of w (f_winner - log sum_set e^f) + sum_i (a f_i - a e^f_i).

    shape: a; with 0 it is the log likelihood.
    """

    def __init__(self, data: Comparisons, shape: float) -> None:
        self.n_items, self.shape = data.n_items, shape
        self.stages = [_keep_positive(stages) for stages in data.stages()]
        self.wins = np.zeros(data.n_items)
        for stages in self.stages:
            self.wins += np.bincount(stages.winner, stages.weight, minlength=data.n_items)

    def objective(self, f: Floats) -> float:
        value = self.wins @ f + self.shape * (f - np.exp(f)).sum()
        for stages in self.stages:
            value -= stages.weight @ np.logaddexp.reduce(f[stages.items], axis=1)
        return float(value)

    def gradient(self, f: Floats) -> Floats:
        result = self.wins + self.shape * (1 - np.exp(f))
        for stages in self.stages:
            result -= self._sum_to_items(stages, stages.weight[:, None] * softmax(f[stages.items]))
        return result

    def curvature(self, f: Floats) -> Floats:
        """Return minus the Hessian, dense (n_items, n_items): diag(w p) - sum of w p p' over stages, plus the
        prior's.
        """
        matrix = np.diag(self.shape * np.exp(f))
        for stages in self.stages:
            p = softmax(f[stages.items])
            matrix[np.diag_indices(self.n_items)] += self._sum_to_items(stages, stages.weight[:, None] * p)
            values = (np.sqrt(stages.weight)[:, None] * p).ravel()
            starts = np.arange(0, len(values) + 1, stages.size)
            rows = scipy.sparse.csr_array((values, stages.items.ravel(), starts), shape=(len(p), self.n_items))
            matrix -= np.asarray((rows.T @ rows).toarray(), dtype=np.float64)
        return matrix

    @cached_property
    def _pairs(self) -> tuple[PairGraph, list[Ints]]:
        """Return the pairs of items that share a set, and of each Stages that of every two of its places, (m, q)."""
        left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for stages in self.stages:
            first, second = np.triu_indices(stages.size, 1)
            left.append(stages.items[:, first].ravel())
            right.append(stages.items[:, second].ravel())
        graph, pair = PairGraph.of(np.concatenate(left), np.concatenate(right), self.n_items)
        ends = np.cumsum([len(one) for one in left])[1:]
        found = np.split(pair.ravel(), ends[:-1]) if len(self.stages) else []
        return graph, [rows.reshape(len(one.items), -1) for rows, one in zip(found, self.stages, strict=True)]

    def precision(self, f: Floats) -> GraphPrecision:
        """Return the curvature without a matrix over all items.

        A stage's w (diag(p) - p p') is the Laplacian of the weights w p_i p_j between its items, since p sums to 1.
        """
        graph, pairs = self._pairs
        weights = np.zeros(graph.n_pairs)
        for stages, pair in zip(self.stages, pairs, strict=True):
            p = softmax(f[stages.items])
            first, second = np.triu_indices(stages.size, 1)
            products = stages.weight[:, None] * p[:, first] * p[:, second]
            weights += sum_by_group(pair.ravel(), products.ravel(), graph.n_pairs)
        return graph.precision(weights, self.shape * np.exp(f))

    def curvature_times(self, f: Floats, columns: Floats) -> Floats:
        """Return the curvature times columns (n_items, m)."""
        if self.n_items > MAX_DENSE_ITEMS:
            return self.precision(f).times(columns)
        return self.curvature(f) @ columns

    def newton_step(self, f: Floats) -> Floats:
        """Solve curvature x = gradient: by a dense factor, or by conjugate gradients above MAX_DENSE_ITEMS."""
        if self.n_items > MAX_DENSE_ITEMS:
            return self.precision(f).solve(self.gradient(f)[:, None], tolerance=1e-9)[:, 0]
        factor = scipy.linalg.cho_factor(self.curvature(f), lower=True)
        return np.asarray(scipy.linalg.cho_solve(factor, self.gradient(f)))

    def covariance(self, f: Floats) -> Covariance:
        """Return the covariance of centred utilities at their mode f; above MAX_DENSE_ITEMS without a matrix.

        Laplace's method has the inverse curvature. Given arrival times (see gibbs_step) worth_i is Gamma(s_i, .) with
        s_i = a + wins_i, whose log has variance trigamma(s_i) where that method has 1 / s_i. The difference is added to
        each item by itself. This gives the variances of the posterior without labels, and those of two items, whose
        share of the worths is Beta(s_1, s_2).
        """
        shape = self.shape + self.wins
        missed = polygamma(1, shape) - 1 / shape
        if self.n_items > MAX_DENSE_ITEMS:
            own = LowRankCovariance(np.zeros((self.n_items, 0)), missed)
            return SumCovariance(GraphCovariance.of(self.precision(f)), own)
        factor = scipy.linalg.cho_factor(self.curvature(f), lower=True)
        return DenseCovariance.of(scipy.linalg.cho_solve(factor, np.eye(self.n_items)) + np.diag(missed))

    def mm_step(self, f: Floats) -> Floats:
        """Take one step of Hunter's (2004) MM algorithm with the prior of Caron & Doucet (2012), to the mode of log
        worths.

        worth_i = (a + wins_i) / (a + sum over stages holding i of w / sum of the set's worths).
        """
        rate = np.full(self.n_items, self.shape)
        for stages in self.stages:
            total = np.exp(np.logaddexp.reduce(f[stages.items], axis=1))
            rate += self._sum_to_items(stages, np.repeat((stages.weight / total)[:, None], stages.size, axis=1))
        return np.log(self.shape + self.wins) - np.log(rate)

    def gibbs_step(self, f: Floats, rng: np.random.Generator) -> Floats:
        """Draw arrival times z ~ Gamma(w, sum of the set's worths), then worth_i ~ Gamma(a + wins_i, a + sum of z)."""
        rate = np.full(self.n_items, self.shape)
        for stages in self.stages:
            total = np.exp(np.logaddexp.reduce(f[stages.items], axis=1))
            arrival = rng.gamma(stages.weight) / total
            rate += self._sum_to_items(stages, np.repeat(arrival[:, None], stages.size, axis=1))
        return np.log(np.maximum(rng.gamma(self.shape + self.wins), 1e-300)) - np.log(rate)

    def _sum_to_items(self, stages: Stages, values: Floats) -> Floats:
        """Sum values (m, k) of the stages' places by item (n_items,)."""
        return sum_by_group(stages.items.ravel(), values.ravel(), self.n_items)


def _keep_positive(stages: Stages) -> Stages:
    kept = stages.weight > 0
    return Stages(stages.size, stages.items[kept], stages.annotator[kept], stages.weight[kept], stages.label[kept])


def softmax(f: Floats) -> Floats:
    """Return choice probabilities (m, k) of sets with utilities f (m, k)."""
    return np.exp(f - np.logaddexp.reduce(f, axis=1)[:, None])


def match_gamma_shape(prior_sd: float) -> float:
    """Return the Gamma shape a whose log has this standard deviation: trigamma(a) = prior_sd^2."""
    return float(match_gamma_shapes(np.array([prior_sd]))[0])


def match_gamma_shapes(sds: Floats) -> Floats:
    """Return the shapes (n,) of Gammas whose logs have these standard deviations, by Newton in log a."""
    target, a = sds**2, 1 / sds + 0.5 / sds**2
    for _ in range(100):
        change = (polygamma(1, a) - target) / (a * polygamma(2, a))
        a = a * np.exp(-np.clip(change, -1, 1))
        if np.all(np.abs(change) < 1e-12):
            break
    return np.asarray(a)


def split_rhat(draws: Floats) -> float:
    """Return the largest split R-hat over columns of draws (n_draws, n) (Gelman et al., Bayesian Data
    Analysis, 11.4).
    """
    half = len(draws) // 2
    chains = np.stack([draws[:half], draws[half : 2 * half]])
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = half * chains.mean(axis=1).var(axis=0, ddof=1)
    return float(np.sqrt(((half - 1) / half * within + between / half) / within).max())
