"""The angle-based likelihood of rankings: sufficient statistics, Gaussian at the mode, variational form."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from models_engine.data import Comparisons
from models_engine.inference.angle.permutations import (
    EXACT_LIMIT,
    compatible_moments,
    log_compatible,
    log_constant,
    place_scores,
)
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean, mean_length
from models_engine.linalg import sum_by_group

__all__ = [
    "AngleLabels",
    "AngleTarget",
    "Mode",
    "Variational",
    "fit_variational",
    "label_rows",
    "match_gamma",
    "root_of_inverse",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_LENGTH = 500.0  # largest length of eta


@dataclass(frozen=True, eq=False)
class AngleLabels:
    """Statistics of labels: the weighted sum of y of complete rankings, and the distinct incomplete ones. t = n_items.

    resultant (t,), total: sum of w y and of w over complete rankings.
    before (m, t): up to eight items bit a of before[l, b] says that a precedes b in label l; above, 1 + the rank of
    each item of the label's set, 0 for the others (see Orders).   weight (m,).
    """

    t: int
    resultant: Floats
    total: float
    before: Ints
    weight: Floats
    n_incomplete: int

    @classmethod
    def of(cls, data: Comparisons) -> "AngleLabels":
        """Summarise labels; a tied pair enters as half a label each way, labels of weight 0 not at all."""
        y, which, before, _, weight = label_rows(data)
        partial = which >= 0
        among = sum_by_group(which[partial], weight[partial], len(before))
        resultant, total = weight @ y, float(weight[~partial].sum())
        return cls(data.n_items, resultant, total, before, among, int(partial.sum()))


def label_rows(data: Comparisons) -> tuple[Floats, Ints, Ints, Ints, Floats]:
    """List labels of positive weight by row: y, which, before, label, weight; a tied pair is two rows of half weight.

    y (n, t): of complete rankings, else 0.   which (n,): the row of `before` of an incomplete label, else -1.
    before (m, t): distinct, see AngleLabels.   label, weight (n,).
    """
    t, scores = data.n_items, place_scores(data.n_items)
    y, before = [np.zeros((0, t))], [np.zeros((0, t), dtype=np.int64)]
    partial, label, weight = [np.zeros(0, dtype=bool)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for group in data.groups():
        for items, ranks, rows in _both_ways(*group.best_first()):
            share = group.weights[rows] / (2 if group.size == 2 and len(rows) and ranks[0, 0] < 0 else 1)
            kept = share > 0
            items, ranks = items[kept], ranks[kept]
            complete = np.all(np.diff(ranks, axis=1) > 0, axis=1) & np.full(len(items), group.size == t)
            values = np.zeros((len(items), t))
            values[np.flatnonzero(complete)[:, None], items[complete]] = scores[: group.size]
            y.append(values)
            before.append((_predecessors if t <= EXACT_LIMIT else _codes)(items, ranks, t))
            partial.append(~complete)
            label.append(group.label[rows][kept])
            weight.append(share[kept])
    apart = np.concatenate(partial)
    distinct, found = np.unique(np.concatenate(before)[apart], axis=0, return_inverse=True)
    which = np.full(len(apart), -1, dtype=np.int64)
    which[apart] = found.ravel()
    return np.concatenate(y), which, distinct, np.concatenate(label), np.concatenate(weight)


def _both_ways(items: Ints, ranks: Ints) -> list[tuple[Ints, Ints, Ints]]:
    """Return (items, ranks, rows) of labels; a tied pair once each way, its ranks -1 and 0 marking half a label."""
    everything = np.arange(len(items))
    if items.shape[1] != 2:
        return [(items, ranks, everything)]
    tied = ranks[:, 0] == ranks[:, 1]
    half = np.broadcast_to(np.array([-1, 0]), (int(tied.sum()), 2))
    return [
        (items[~tied], ranks[~tied], everything[~tied]),
        (items[tied], half, everything[tied]),
        (items[tied][:, ::-1], half, everything[tied]),
    ]


def _predecessors(items: Ints, ranks: Ints, t: int) -> Ints:
    before = np.zeros((len(items), t), dtype=np.int64)
    rows = np.arange(len(items))
    for better in range(items.shape[1]):
        for worse in range(items.shape[1]):
            bit = np.where(ranks[:, better] < ranks[:, worse], np.int64(1) << items[:, better], 0)
            before[rows, items[:, worse]] |= bit
    return before


def _codes(items: Ints, ranks: Ints, t: int) -> Ints:
    """Return (m, t): 1 + the rank of each item of the set, equal ranks alike and none left out; 0 for the others."""
    codes = np.zeros((len(items), t), dtype=np.int64)
    dense = 1 + np.cumsum(np.diff(ranks, axis=1, prepend=ranks[:, :1]) > 0, axis=1)
    codes[np.arange(len(items))[:, None], items] = dense
    return codes


@dataclass(frozen=True, eq=False)
class Mode:
    """Gaussian z ~ N(mean, root root') at the mode, z (p,); value: the log density there."""

    mean: Floats
    root: Floats
    value: float
    converged: bool


@dataclass(frozen=True, eq=False)
class AngleTarget:
    """Log posterior of z (p = t-1,), eta = kappa theta = basis z: the log likelihood - |z|^2 / (2 prior_sd^2).

    Exact for t <= 8; beyond, complete rankings only, by the von Mises-Fisher constant (OrderTarget takes the others).
    """

    labels: AngleLabels
    prior_sd: float

    @cached_property
    def basis(self) -> Floats:
        """Return an orthonormal basis (t, p) of the vectors of sum zero: a common shift is not identified."""
        return scipy.linalg.helmert(self.labels.t).T

    def log_density(self, z: Floats) -> Floats:
        """Return the log density at z (n, p), (n,); -inf above length 500."""
        labels, length = self.labels, np.linalg.norm(z, axis=1)
        eta = np.where(length > MAX_LENGTH, 0.0, 1.0)[:, None] * z @ self.basis.T
        value = eta @ labels.resultant - (labels.total + labels.weight.sum()) * log_constant(eta)
        if len(labels.weight):
            value += log_compatible(eta, labels.before) @ labels.weight
        return np.where(length > MAX_LENGTH, -np.inf, value - length**2 / (2 * self.prior_sd**2))

    def mode(
        self,
        start: Floats | None = None,
        max_iterations: int = 100,
        tolerance: float = 1e-6,
        on_iteration: Callable[[], None] | None = None,
    ) -> Mode:
        """Find the mode by Newton's method, to `tolerance` or to the rounding error of the log density.

        Stops, not converged, where the mode diverges (a likelihood that increases without bound). on_iteration may
        raise, to cancel.
        """
        if self.labels.t > EXACT_LIMIT:
            return self._mode_on_sphere()
        z = np.zeros(self.labels.t - 1) if start is None else start
        value = float(self.log_density(z[None])[0])
        for _ in range(max_iterations):
            if on_iteration is not None:
                on_iteration()
            gradient, curvature, error = self._derivatives(z)
            root = root_of_inverse(curvature)
            step, size = root @ (root.T @ gradient), 1.0
            gain = float(gradient @ step) / 2
            step *= min(1.0, 10.0 / max(float(np.linalg.norm(step)), 1e-300))
            while (new := float(self.log_density((z + size * step)[None])[0])) < value - error and size > 1e-6:
                size /= 2
            z, value = z + size * step, new
            if np.abs(step).max() < tolerance or gain < error:
                return Mode(z, root_of_inverse(curvature), value, True)
            if np.linalg.norm(z) > MAX_LENGTH / 5:
                break
        return Mode(z, root_of_inverse(curvature), value, False)

    def _derivatives(self, z: Floats) -> tuple[Floats, Floats, float]:
        """Return gradient (p,) and minus the Hessian (p, p) at z, and the rounding error of the density there."""
        labels, eta, slack = self.labels, self.basis @ z, self.prior_sd**-2
        n = labels.total + float(labels.weight.sum())
        free = np.zeros((1, labels.t), dtype=np.int64)
        level, mean, spread = compatible_moments(eta, np.concatenate([free, labels.before]))
        slope = labels.resultant - n * mean[0] + labels.weight @ mean[1:]
        curvature = n * spread[0] - np.einsum("l,lij->ij", labels.weight, spread[1:])
        size = float(np.abs(eta) @ np.abs(labels.resultant)) + n * abs(float(level[0])) + 1.0
        error = max(1e-9, 16 * float(np.finfo(np.float64).eps) * size)
        return (
            self.basis.T @ slope - slack * z,
            self.basis.T @ curvature @ self.basis + slack * np.eye(len(z)),
            error,
        )

    def _mode_on_sphere(self) -> Mode:
        """Find eta along the resultant; its length solves |resultant| = total A(kappa) + kappa / prior_sd^2."""
        labels, p, slack = self.labels, self.labels.t - 1, self.prior_sd**-2
        along = self.basis.T @ labels.resultant
        beta = float(np.linalg.norm(along))
        low, high = 0.0, MAX_LENGTH * 10
        for _ in range(200):
            kappa = (low + high) / 2
            rises = beta > labels.total * float(mean_length(kappa, p)) + kappa * slack
            low, high = (kappa, high) if rises else (low, kappa)
        direction = along / beta if beta else np.eye(p)[0]
        length = float(mean_length(kappa, p))
        across = labels.total * (length / kappa if kappa > 1e-9 else 1 / p) + slack
        outward = labels.total * (1 - length**2 - (p - 1) * (length / kappa if kappa > 1e-9 else 1 / p)) + slack
        root = np.eye(p) / np.sqrt(across)
        root += (1 / np.sqrt(outward) - 1 / np.sqrt(across)) * np.outer(direction, direction)
        z = kappa * direction
        return Mode(z, root, float(self.log_density(z[None])[0]), kappa < MAX_LENGTH / 5)


def root_of_inverse(curvature: Floats) -> Floats:
    """Return a root of the inverse of a symmetric matrix (p, p); eigenvalues near 0 or below count as a tiny one."""
    values, vectors = np.linalg.eigh(curvature)
    return vectors / np.sqrt(np.maximum(values, 1e-12 * max(float(values[-1]), 1e-12)))


@dataclass(frozen=True, eq=False)
class Variational:
    """q(kappa) = Gamma(a, rate b), q(theta | kappa) = von Mises-Fisher(direction (t,), beta kappa); its bounds."""

    a: float
    b: float
    beta: float
    direction: Floats
    bounds: tuple[float, ...]
    converged: bool


def match_gamma(prior_sd: float, p: int) -> tuple[float, float]:
    """Return shape and rate of the Gamma with the mean and variance of |z|, z ~ N(0, prior_sd^2 I) in p dimensions."""
    mean = prior_sd * np.sqrt(2) * np.exp(gammaln((p + 1) / 2) - gammaln(p / 2))
    variance = prior_sd**2 * p - mean**2
    return float(mean**2 / variance), float(mean / variance)


def fit_variational(
    resultant: Floats, total: float, prior: tuple[float, float], *, max_iterations: int = 500, tolerance: float = 1e-10
) -> Variational:
    """Run Algorithm 1 of Xu, Alvo & Yu for complete rankings, theta uniform a priori (beta_0 = 0), kappa ~
    Gamma(*prior).

    resultant (t,) = sum of w y, total = sum of w. theta lies among the vectors of sum zero, the sphere in p = t-1
    dimensions (the paper's t counts a direction that no ranking informs about; a and b differ by less than 5 and 1).
    Each of the two inequalities (7), (8) is expanded where it is tightest, at E[kappa] and exp(E[ln kappa]) in place of
    the mode (11) for both, so that the bound on log p(labels), up to the approximate constant, does not decrease.
    Errata: (10) has d/dkappa of ln I. (7) is a bound only where ln I_nu is concave in kappa, below about 2 nu^2 (it
    grows as kappa - ln(kappa)/2 beyond); above that "bounds" may decrease, or end above log p, by a relative 1e-5.
    Adding ln(kappa)/2 before the expansion would correct it, but give other a and b than the published ones.
    """
    p = len(resultant) - 1
    nu, (a0, b0) = p / 2 - 1, prior
    beta = float(np.linalg.norm(resultant))
    length = min(beta / total, 1 - 1e-6) if total else 0.0
    least = 1e-3 if p > 1 else 0.8  # of two items: below, the slope of ln I falls, and b would be negative
    mean = typical = max(length * (p - length**2) / (1 - length**2), least)  # Banerjee et al. (2005), for a start
    bounds: list[float] = []
    for _ in range(max_iterations):
        x = beta * typical
        slope = float(mean_length(mean, p)) + (nu / mean)  # d/dkappa ln I_nu, (10)
        gain = x * float(mean_length(x, p))
        a, b = a0 + total * nu + gain, b0 + total * slope  # (9), (10)
        level = total * (slope * mean - float(log_sphere_mean(mean, p)) - nu * np.log(mean))
        level += float(log_sphere_mean(x, p)) - gain * np.log(typical)
        bounds.append(level + a0 * np.log(b0) - gammaln(a0) - a * np.log(b) + gammaln(a) - total * gammaln(p + 2))
        if len(bounds) > 1 and abs(bounds[-1] - bounds[-2]) <= tolerance * (1 + abs(bounds[-1])):
            return Variational(a, b, beta, resultant / beta if beta else resultant, tuple(bounds), True)
        mean, typical = max(a / b, least), max(float(np.exp(digamma(a))) / b, least)
    return Variational(a, b, beta, resultant / beta if beta else resultant, tuple(bounds), False)
