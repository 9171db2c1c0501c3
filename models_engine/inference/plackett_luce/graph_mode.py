"""The mode of thousands of utilities f = x w + e given choices, without a matrix over all items."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.determinant import log_determinant
from models_engine.covariance.graph import GraphCovariance
from models_engine.graphs import GraphPrecision
from models_engine.linalg import cholesky

__all__ = ["FeaturePrior", "GraphMode", "fit_graph_mode"]

Floats = NDArray[np.float64]
SOLVED = 1e-9  # residual of conjugate gradients
MAX_HALVINGS = 27


class GraphLikelihood(Protocol):
    """A concave log likelihood of utilities (n_items,) whose curvature is a Laplacian."""

    def objective(self, f: Floats) -> float: ...
    def gradient(self, f: Floats) -> Floats: ...
    def precision(self, f: Floats) -> GraphPrecision: ...


@dataclass(frozen=True, eq=False)
class FeaturePrior:
    """f = x w + e, w ~ N(0, prior_sd^2 I), e ~ N(0, item_sd^2 I), item_sd above 0; x (n_items, d), d of 0 or more.

    Its precision is I / item_sd^2 - low low' (Woodbury), low (n_items, d).
    """

    x: Floats
    prior_sd: float
    item_sd: float

    @property
    def within(self) -> Floats:
        """Return I + (prior_sd / item_sd)^2 x'x, (d, d)."""
        return np.eye(self.x.shape[1]) + (self.prior_sd / self.item_sd) ** 2 * self.x.T @ self.x

    def low(self) -> Floats:
        root = np.linalg.cholesky(np.linalg.inv(self.within)) if self.x.shape[1] else np.zeros((0, 0))
        return self.prior_sd / self.item_sd**2 * self.x @ root

    def log_determinant(self) -> float:
        """Return that of the covariance of f."""
        return float(2 * len(self.x) * np.log(self.item_sd) + np.linalg.slogdet(self.within)[1])


@dataclass(frozen=True, eq=False)
class GraphMode:
    """Gaussian f ~ N(mean, P^-1), P = precision - low low'; evidence: log p(labels) by Laplace's method."""

    prior: FeaturePrior
    mean: Floats
    precision: GraphPrecision
    low: Floats
    evidence: float
    converged: bool

    def covariance(self) -> GraphCovariance:
        """Return P^-1 = precision^-1 + extra extra' as the covariance of centred utilities."""
        reach = self.precision.solve(self.low, tolerance=SOLVED)
        return GraphCovariance.of(self.precision, reach @ cholesky(np.linalg.inv(_rest(self.low, reach))))

    def weights(self) -> tuple[Floats, Floats]:
        """Return the posterior mean (d,) of w and a root (d, d) of its covariance.

        w | f ~ N(back f, C), C = (I / prior_sd^2 + x'x / item_sd^2)^-1, back = C x' / item_sd^2.
        """
        given_f = self.prior.prior_sd**2 * np.linalg.inv(self.prior.within)
        back = given_f @ self.prior.x.T / self.prior.item_sd**2
        return back @ self.mean, cholesky(given_f + back @ _solve(self.precision, self.low, back.T))


def fit_graph_mode(
    prior: FeaturePrior,
    likelihood: GraphLikelihood,
    start: Floats,
    *,
    tolerance: float,
    max_iterations: int,
    on_step: Callable[[float], None],
) -> GraphMode:
    """Maximise log p(labels | f) + log p(f) by Newton steps, halved where it would fall. on_step: the log posterior.

    tolerance: the largest step in a utility, in prior standard deviations of the item's own effect.
    """
    low, ridge = prior.low(), np.full(len(start), prior.item_sd**-2.0)

    def value_at(f: Floats) -> float:
        return likelihood.objective(f) - float(ridge @ f**2 - ((low.T @ f) ** 2).sum()) / 2

    def precision_at(f: Floats) -> GraphPrecision:
        found = likelihood.precision(f)
        return found.graph.precision(found.weights, found.ridge + ridge)

    f, value, converged = start, value_at(start), False
    for _ in range(max_iterations):
        gradient = likelihood.gradient(f) - ridge * f + low @ (low.T @ f)
        step = _solve(precision_at(f), low, gradient[:, None])[:, 0]
        sizes = 0.5 ** np.arange(MAX_HALVINGS)
        size = next((one for one in sizes if value_at(f + one * step) >= value - 1e-12 * abs(value)), 0.0)
        f = f + size * step
        value = value_at(f)
        on_step(value)
        if size == 1.0 and np.abs(step).max(initial=0.0) < tolerance * prior.item_sd:
            converged = True
            break
    precision = precision_at(f)
    rest = np.linalg.slogdet(_rest(low, precision.solve(low, tolerance=SOLVED)))[1]
    half = (log_determinant(precision) + float(rest) + prior.log_determinant()) / 2
    return GraphMode(prior, f, precision, low, value - half, converged)


def _rest(low: Floats, reach: Floats) -> Floats:
    """Return I - low' precision^-1 low, (d, d)."""
    return np.eye(low.shape[1]) - low.T @ reach


def _solve(precision: GraphPrecision, low: Floats, b: Floats) -> Floats:
    """Solve (precision - low low') x = b, b (n_items, m)."""
    solved = precision.solve(np.hstack([b, low]), tolerance=SOLVED)
    plain, reach = solved[:, : b.shape[1]], solved[:, b.shape[1] :]
    return plain + reach @ np.linalg.solve(_rest(low, reach), low.T @ plain)
