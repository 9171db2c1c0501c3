"""CountModel: effects of items and annotators and a given number of factors, from counts (Y. J. Ko's thesis, 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, diags, vstack
from scipy.special import gammaln, logsumexp

from models_engine.covariance.forms import DenseCovariance, LowRankCovariance
from models_engine.covariance.graph import GraphCovariance
from models_engine.errors import InsufficientData, InvalidSetting
from models_engine.inference.counts.bound import CONSTANT_SD, MAX_VARIANCE, CountBound, Effects, Scales
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.graph_spread import effects_covariance
from models_engine.linalg import check_dense, cholesky, chunk_slices
from models_engine.messages import Message, gettext_noop
from models_engine.progress import FitLog, Progress
from models_engine.summaries import Diagnostics

__all__ = ["CountModel", "FittedCounts", "log_scale_prior", "start_constant", "updated_scales"]

Floats = NDArray[np.float64]
Family = Literal["poisson", "negative binomial", "best"]
FAMILIES: Sequence[Family] = ("poisson", "negative binomial", "best")
MAX_FACTORS = 50
MAX_SIDE = 2_000  # the smaller of the numbers of items and annotators, up to which its covariance is a matrix
MAX_LOW_RANK = 25_000_000  # items times annotators, of a covariance of low rank: 200 MB
STEPS = 40  # evaluations between two updates of the prior variances
START_VARIANCE, START_FACTOR_VARIANCE = 0.05, 0.01
MIN_PRIOR_VARIANCE = 1e-8
LOG_BOUNDS = (-25.0, 12.0)  # of a variance, of the dispersion
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(16)


@dataclass(frozen=True)
class CountModel:
    """Effects and this many factors, fitted by joint steps.

    n_factors: factors shared by items and annotators besides their effects; those that the counts do not ask for
    shrink to 0. family: "poisson", "negative binomial" (variance above the mean), or the one whose bound is larger.
    max_rounds: of STEPS steps and an update of the prior variances each.
    n_prior: as how many effects of variance 1 the prior of both effects' variances counts; 0 is no prior.
    """

    n_factors: int = 0
    family: Family = "best"
    max_rounds: int = 20
    tolerance: float = 1e-6  # of the bound, from one round to the next
    seed: int = 0
    n_prior: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.n_factors <= MAX_FACTORS:
            raise InvalidSetting(f"n_factors is {self.n_factors}; it is between 0 and {MAX_FACTORS}.")
        if self.family not in FAMILIES:
            raise InvalidSetting(f"family is {self.family!r}; it is one of {', '.join(FAMILIES)}.")
        if self.max_rounds < 1 or not self.tolerance > 0:
            raise InvalidSetting("max_rounds is at least 1 and tolerance above 0.")

    def fit(self, cells: CountCells, *, progress: Progress | None = None) -> "FittedCounts":
        """Return the posterior. Raises InsufficientData without a cell, Cancelled; warns NotConverged."""
        if not cells.n_cells:
            raise InsufficientData("there are no counts; an effect needs at least one cell.")
        families = FAMILIES[:2] if self.family == "best" else [self.family]
        log = FitLog(self.max_rounds * len(families), progress)
        found = [self._fit(CountBound(cells), family, log) for family in families]
        effects, scales, bounds, settled = max(found, key=lambda one: one[2][-1])
        log.objective = bounds
        text = gettext_noop("the bound rose by less than %(share)s of itself")
        text = text if settled else gettext_noop("the bound still rises")
        message = Message.of(text, share=f"{self.tolerance:g}")
        diagnostics = log.finish(converged=settled, message=message)
        return FittedCounts(cells, effects, scales, bounds[-1], diagnostics)

    def _fit(self, bound: CountBound, family: Family, log: FitLog) -> tuple[Effects, Scales, list[float], bool]:
        at, scales = self._start(bound.cells, family)
        limits = _limits(at)
        bounds: list[float] = []
        for _ in range(self.max_rounds):

            def loss(vector: Floats, at: Effects = at, scales: Scales = scales) -> tuple[float, Floats]:
                log.check()
                value, gradient = bound.evaluate(at.unpack(vector), scales)
                return -value, -gradient

            done = minimize(loss, at.pack(), jac=True, method="L-BFGS-B", bounds=limits, options={"maxfun": STEPS})
            at = at.unpack(done.x)
            scales = updated_scales(at, scales, self.n_prior)
            bounds.append(bound.evaluate(at, scales)[0] + log_scale_prior(scales, self.n_prior))
            log.step(bounds[-1])
            if len(bounds) > 1 and bounds[-1] - bounds[-2] < self.tolerance * abs(bounds[-1]):
                return at, scales, bounds, True
        return at, scales, bounds, False

    def _start(self, cells: CountCells, family: Family) -> tuple[Effects, Scales]:
        constant = start_constant(cells)
        rng, width = np.random.default_rng(self.seed), 1 + self.n_factors

        def side(n: int) -> tuple[Floats, Floats]:
            mean, variance = np.zeros((n, width)), np.full((n, width), START_FACTOR_VARIANCE)
            mean[:, 1:] = rng.normal(0, 0.3, (n, self.n_factors))
            variance[:, 0] = START_VARIANCE
            return mean, variance

        dispersion = 0.0 if family == "negative binomial" else None
        at = Effects(constant, *side(cells.n_items), *side(cells.n_annotators), dispersion)
        return at, Scales(1.0, 1.0, np.full(self.n_factors, 0.5), constant)


def _limits(at: Effects) -> list[tuple[float | None, float | None]]:
    """Return the bounds of each entry of the packed vector."""
    free: tuple[float | None, float | None] = (None, None)
    found: list[tuple[float | None, float | None]] = []
    for mean in (at.item_mean, at.annotator_mean):
        row = [(LOG_BOUNDS[0], LOG_BOUNDS[1]), *[(LOG_BOUNDS[0], float(np.log(MAX_VARIANCE)))] * (mean.shape[1] - 1)]
        found += [free] * mean.size + row * mean.shape[0]
    return [*found, free] + ([] if at.log_dispersion is None else [(-LOG_BOUNDS[1], LOG_BOUNDS[1])])


def start_constant(cells: CountCells) -> float:
    """Return the logarithm of the rate of all cells together, about which the constant lies."""
    return float(np.log((cells.counts.sum() + 0.5) / cells.exposures.sum()))


def updated_scales(at: Effects, scales: Scales, n_prior: float = 0.0) -> Scales:
    """Return the prior variances at which the bound of these effects plus `log_scale_prior` is largest."""
    item = (at.item_mean**2 + at.item_variance).sum(axis=0)
    annotator = (at.annotator_mean**2 + at.annotator_variance).sum(axis=0)
    n, k = len(at.item_mean), len(at.annotator_mean)
    return replace(
        scales,
        items=max((float(item[0]) + n_prior) / (n + n_prior), MIN_PRIOR_VARIANCE),
        annotators=max((float(annotator[0]) + n_prior) / (k + n_prior), MIN_PRIOR_VARIANCE),
        factors=np.maximum((item[1:] + annotator[1:]) / (n + k), MIN_PRIOR_VARIANCE),
    )


def log_scale_prior(scales: Scales, n_prior: float) -> float:
    """Return the log prior of both effects' variances, up to a constant: that of n_prior more effects of variance 1.

    Few effects, or none that the counts tell apart, would else have a variance of 0 and count as known to be equal.
    """
    return sum(-n_prior / 2 * (float(np.log(one)) + 1 / one) for one in (scales.items, scales.annotators))


@dataclass(frozen=True)
class FittedCounts:
    """Effects of items and annotators on the log of the expected count, each about 0, and the constant."""

    cells: CountCells
    effects: Effects
    scales: Scales
    bound: float
    diagnostics: Diagnostics

    @property
    def dispersion(self) -> float:
        """Return rho of the negative binomial, infinity for Poisson: the variance is mean + mean^2 / rho."""
        at = self.effects.log_dispersion
        return float("inf") if at is None else float(np.exp(at))

    @property
    def item_effects(self) -> Floats:
        """Return (n_items,) means of the items' effects, in natural logarithms."""
        return self.effects.item_mean[:, 0]

    @property
    def annotator_effects(self) -> Floats:
        """Return (n_annotators,) means of the annotators' effects, in natural logarithms."""
        return self.effects.annotator_mean[:, 0]

    def standard_deviations(self) -> tuple[Floats, Floats]:
        """Return (n_items,) and (n_annotators,) standard deviations of the effects.

        Of the Gaussian with the curvature at the posterior mean over both sides and the constant together: mean field's
        own are too small. Where items and annotators both exceed MAX_SIDE, see effects_covariance.
        """
        return self._deviations

    def item_covariance(self) -> Floats:
        """Return the (n_items, n_items) covariance of the items' effects; annotators and constant are marginalised.

        Raises TooLarge for more items than a matrix may have.
        """
        check_dense(self.cells.n_items)
        covariance, _ = _joint_covariance(self._weights, self.scales.items, self.scales.annotators)
        return covariance[:-1, :-1]

    def item_spread(self) -> DenseCovariance | LowRankCovariance | GraphCovariance:
        """Return `item_covariance` about the items' mean, in the form that takes least memory.

        Of fewer annotators than items: each item's own variance and what annotators and constant add, of low rank. Of
        more than MAX_SIDE of both, or more than MAX_LOW_RANK numbers of the low rank: by the graph of the cells.
        """
        n, k = self.cells.n_items, self.cells.n_annotators
        if self._is_large or (n > k + 1 and n * k > MAX_LOW_RANK):
            return self._graph.restrict(np.arange(n))
        if n <= k + 1:
            return DenseCovariance.of(self.item_covariance())
        scales = self.scales
        covariance, joined = _joint_covariance(csr_matrix(self._weights.T), scales.annotators, scales.items)
        diagonal = np.asarray(self._weights.sum(axis=1)).ravel() + 1 / scales.items
        factor = (joined.T @ cholesky(covariance)) / diagonal[:, None]
        return LowRankCovariance(np.ascontiguousarray(factor), 1 / diagonal)

    @property
    def _is_large(self) -> bool:
        return min(self.cells.n_items, self.cells.n_annotators) > MAX_SIDE

    @cached_property
    def _graph(self) -> GraphCovariance:
        return effects_covariance(self._weights, self.scales)

    @cached_property
    def _weights(self) -> csr_matrix:
        cells = self.cells
        curvature = CountBound(cells).curvature(self.effects)
        return csr_matrix((curvature, (cells.items, cells.annotators)), shape=(cells.n_items, cells.n_annotators))

    @cached_property
    def _deviations(self) -> tuple[Floats, Floats]:
        cells, scales = self.cells, self.scales
        if self._is_large:
            deviations = np.sqrt(self._graph.marginals)
            return deviations[: cells.n_items], deviations[cells.n_items :]
        if cells.n_items <= cells.n_annotators:
            return _side_deviations(self._weights, scales.items, scales.annotators)
        return _side_deviations(csr_matrix(self._weights.T), scales.annotators, scales.items)[::-1]

    def log_predictive(
        self,
        items: ArrayLike,
        annotators: ArrayLike,
        counts: ArrayLike,
        exposures: ArrayLike | None = None,
        *,
        n_draws: int = 100,
        seed: int = 0,
    ) -> Floats:
        """Return (n,) log probabilities of these counts: factors of items drawn, the rest by quadrature."""
        rows, who = np.asarray(items, dtype=np.int64), np.asarray(annotators, dtype=np.int64)
        y = np.asarray(counts, dtype=np.float64)
        offset = np.zeros(len(rows)) if exposures is None else np.log(np.asarray(exposures, dtype=np.float64))
        at, rng = self.effects, np.random.default_rng(seed)
        mean = at.constant + at.item_mean[rows, 0] + at.annotator_mean[who, 0] + offset
        variance = at.item_variance[rows, 0] + at.annotator_variance[who, 0]
        n_factors = at.item_mean.shape[1] - 1
        draws = []
        for _ in range(n_draws if n_factors else 1):
            noise = rng.standard_normal((self.cells.n_items, n_factors))
            drawn = (at.item_mean[:, 1:] + np.sqrt(at.item_variance[:, 1:]) * noise)[rows]
            centre = mean + (drawn * at.annotator_mean[who, 1:]).sum(axis=1)
            spread = np.sqrt(variance + (drawn**2 * at.annotator_variance[who, 1:]).sum(axis=1))
            f = centre[:, None] + spread[:, None] * POINTS
            draws.append(logsumexp(self._log_likelihood(y[:, None], f), b=WEIGHTS / WEIGHTS.sum(), axis=1))
        result: Floats = logsumexp(draws, axis=0) - np.log(len(draws))
        return result

    def _log_likelihood(self, y: Floats, f: Floats) -> Floats:
        if self.effects.log_dispersion is None:
            return y * f - np.exp(f) - gammaln(y + 1)
        rho = self.dispersion
        total = np.logaddexp(np.log(rho), f)
        return y * (f - total) + rho * (np.log(rho) - total) + gammaln(y + rho) - gammaln(rho) - gammaln(y + 1)


def _joint_covariance(weights: csr_matrix, prior: float, other_prior: float) -> tuple[Floats, csr_matrix]:
    """Return the (n_rows + 1,)^2 covariance of the rows' effects and the constant, and the weights with its row.

    With the negative Hessian [[A, W], [W', D]], D the columns' diagonal, it is (A - W D^-1 W')^-1.
    """
    n = weights.shape[0]
    of_rows, of_columns = (np.asarray(weights.sum(axis=axis)).ravel() for axis in (1, 0))
    corner = np.diag(np.r_[of_rows + 1 / prior, of_rows.sum() + 1 / CONSTANT_SD**2])
    corner[:n, n] = corner[n, :n] = of_rows
    joined: csr_matrix = vstack([weights, csr_matrix(of_columns[None, :])], format="csr")
    corner -= (joined @ diags(1 / (of_columns + 1 / other_prior)) @ joined.T).toarray()
    return np.linalg.inv(corner), joined


def _side_deviations(weights: csr_matrix, prior: float, other_prior: float) -> tuple[Floats, Floats]:
    """Return standard deviations of the rows' and of the columns' effects, whose variances are 1/D + W' cov W / D^2."""
    covariance, joined = _joint_covariance(weights, prior, other_prior)
    diagonal = np.asarray(weights.sum(axis=0)).ravel() + 1 / other_prior
    columns = joined.tocsc()
    spread = np.empty(weights.shape[1])
    for part in chunk_slices(weights.shape[1], len(covariance)):
        some = columns[:, part].toarray()
        spread[part] = (some * (covariance @ some)).sum(axis=0)
    return np.sqrt(np.diag(covariance)[:-1]), np.sqrt(1 / diagonal + spread / diagonal**2)
