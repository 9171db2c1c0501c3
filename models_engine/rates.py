"""The rate of events over time: a Gaussian process with a daily pattern and bursts, fitted to counts in equal bins.

Source: Y. J. Ko, thesis, 2.1; the kernel and its priors are ours. The rate is max(0, f), in units of the mean rate.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from models_engine.arrays import raising, read_floats, read_number
from models_engine.errors import InsufficientData, InvalidData, InvalidSetting, TooLarge
from models_engine.inference.count_ep import CountPosterior, Sites, run_count_ep
from models_engine.inference.rectified_poisson import read_counts
from models_engine.linalg import cholesky
from models_engine.progress import FitLog, Progress

__all__ = ["MAX_BINS", "RateModel", "RatePosterior", "RatePrior", "kernel", "kernel_slopes"]

Floats = NDArray[np.float64]
MAX_BINS = 1_000
DAY, TWO_WEEKS = 24.0, 336.0  # hours: the daily pattern's period, and how long a day's pattern lasts
N_HYPER = 6  # log s1, log l1, log s2, log l2, log s3, c
TOLERANCE = 1e-4  # of the sites while hyper-parameters are sought, in prior standard deviations
HESSIAN_STEP = 0.1
MIN_CURVATURE = 0.7  # of the log posterior of the hyper-parameters: no draw strays farther than 1.2 prior units


@dataclass(frozen=True)
class RatePrior:
    """Normal priors of log s1, log l1 (in log bins), log s2, log l2, log s3 and c: mean and sd, each (6,).

    s1, l1: size and length of slow changes; s2, l2: of the daily pattern; s3: of bursts; c: the constant. Sizes are in
    units of the mean rate.
    """

    mean: tuple[float, ...] = (-0.3, float(np.log(12)), -0.5, 0.0, -0.3, 1.0)
    sd: tuple[float, ...] = (0.7, 0.8, 0.7, 0.4, 0.8, 1.0)


def kernel(lags: Floats, theta: Floats, bin_hours: float) -> Floats:
    """Return the covariance of f at lags in hours (any shape) without bursts: slow changes plus the daily pattern."""
    slow, daily = _parts(lags, theta, bin_hours)
    return slow + daily


def kernel_slopes(lags: Floats, theta: Floats, bin_hours: float) -> Floats:
    """Return the derivatives (4, n_lags) of `kernel` by log s1, log l1, log s2, log l2."""
    slow, daily = _parts(lags, theta, bin_hours)
    r = np.sqrt(3) * np.abs(lags) / (np.exp(theta[1]) * bin_hours)
    across = np.sqrt(3) * _daily_distance(lags) / np.exp(theta[3])
    by_l1 = np.exp(2 * theta[0]) * r**2 * np.exp(-r)
    by_l2 = np.exp(2 * theta[2]) * across**2 * np.exp(-across) * _matern(np.abs(lags), TWO_WEEKS)
    return np.stack([2 * slow, by_l1, 2 * daily, by_l2])


def _parts(lags: Floats, theta: Floats, bin_hours: float) -> tuple[Floats, Floats]:
    slow = np.exp(2 * theta[0]) * _matern(np.abs(lags), np.exp(theta[1]) * bin_hours)
    daily = np.exp(2 * theta[2]) * _matern(_daily_distance(lags), np.exp(theta[3])) * _matern(np.abs(lags), TWO_WEEKS)
    return slow, daily


def _matern(distance: Floats, length: float) -> Floats:
    """Return Matern-3/2 of a distance."""
    r = np.sqrt(3) * distance / length
    return np.asarray((1 + r) * np.exp(-r))


def _daily_distance(lags: Floats) -> Floats:
    return np.asarray(2 * np.abs(np.sin(np.pi * lags / DAY)))


@dataclass(frozen=True, eq=False)
class _Component:
    """One draw of the hyper-parameters and the posterior given it."""

    theta: Floats
    ep: CountPosterior

    def at(self, hours: Floats, bins: Floats, bin_hours: float, *, bursts: bool) -> tuple[Floats, Floats]:
        """Return mean (n,) and covariance (n, n) of f at other times than the bins."""
        cross = kernel(hours[:, None] - bins, self.theta, bin_hours)
        prior = kernel(hours[:, None] - hours, self.theta, bin_hours)
        if bursts:
            prior[np.diag_indices_from(prior)] += np.exp(2 * self.theta[4])
        covariance = prior - cross @ self.ep.precision @ cross.T
        return self.theta[5] + cross @ self.ep.weights, (covariance + covariance.T) / 2


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """Posterior of a rate over time: a mixture over draws of the hyper-parameters.

    unit: the mean rate, events an hour. bins: (n_bins,) middles in hours. theta: (6,), the mode. n_events: of all bins.
    converged: the sites of every component came to rest.
    """

    unit: float
    bins: Floats
    bin_hours: float
    theta: Floats
    n_events: int
    converged: bool
    components: tuple[_Component, ...] = field(repr=False)

    def rate(self, hours: ArrayLike, levels: tuple[float, ...] = (0.05, 0.5, 0.95), seed: int = 0) -> Floats:
        """Return quantiles (n_levels, n) of the expected events an hour at times in hours, bursts averaged out."""
        at = _read_hours(hours)
        draws = self._values(at, 200 * len(self.components), np.random.default_rng(seed), bursts=False)
        return np.asarray(np.quantile(np.maximum(draws, 0) * self.unit, levels, axis=0))

    def draws(self, hours: ArrayLike, exposure: ArrayLike, n_draws: int = 600, *, seed: int = 0) -> Floats:
        """Draw counts (n_draws, n) of bins not seen, at the times of their middles in hours.

        exposure: (n,), hours that each bin is open; 0 gives no events. Raises InvalidData, InvalidSetting.
        """
        at, open_hours = _read_hours(hours), read_floats(exposure, "exposure")
        if open_hours.shape != at.shape or not (np.isfinite(open_hours) & (open_hours >= 0)).all():
            raise InvalidData("exposure must hold one number of hours, 0 or more, per bin.")
        if n_draws < 1:
            raise InvalidSetting(f"n_draws is {n_draws}; draw at least one.")
        rng = np.random.default_rng(seed)
        values = self._values(at, n_draws, rng, bursts=True)
        means = np.maximum(values, 0) * self.unit * open_hours
        return rng.poisson(np.minimum(means, 1e15)).astype(np.float64)

    def _values(self, at: Floats, n_draws: int, rng: np.random.Generator, *, bursts: bool) -> Floats:
        """Draw f (n_draws, n), equally often from each component, in random order."""
        parts = np.array_split(np.arange(n_draws), len(self.components))
        values = np.empty((n_draws, len(at)))
        for component, rows in zip(self.components, parts, strict=True):
            mean, covariance = component.at(at, self.bins, self.bin_hours, bursts=bursts)
            values[rows] = mean + rng.standard_normal((len(rows), len(at))) @ cholesky(covariance).T
        return values[rng.permutation(n_draws)]


@dataclass(frozen=True)
class RateModel:
    """Fits the rate of events in equal bins.

    bin_hours: length of a bin. n_hyper: draws of the hyper-parameters (1: their mode alone).
    max_evaluations: of the evidence while the mode is sought.
    """

    bin_hours: float = 1.0
    n_hyper: int = 8
    max_evaluations: int = 25
    prior: RatePrior = field(default_factory=RatePrior)

    def __post_init__(self) -> None:
        with raising(InvalidSetting):
            object.__setattr__(self, "bin_hours", read_number(self.bin_hours, "bin_hours", least=1e-6, most=1e6))
        if self.n_hyper < 1 or self.max_evaluations < 1:
            raise InvalidSetting("n_hyper and max_evaluations must be 1 or more.")

    def fit(
        self,
        counts: ArrayLike,
        exposure: ArrayLike | None = None,
        *,
        start: RatePosterior | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> RatePosterior:
        """Fit counts (n_bins,) of consecutive bins, the first of which begins at hour 0.

        exposure: hours that each bin was open, (n_bins,); all of it by default. No event at all gives the rate's upper
        end. start: an earlier posterior whose hyper-parameters to begin from. Raises InvalidData, InsufficientData (no
        bin, or none open), TooLarge, Cancelled.
        """
        y = read_counts(counts)
        hours = np.full(len(y), self.bin_hours) if exposure is None else read_floats(exposure, "exposure")
        _check(y, hours)
        log = FitLog(total=self.max_evaluations + 2 * N_HYPER + self.n_hyper, progress=progress)
        unit = float(max(y.sum(), 1.0) / hours.sum())
        problem = _Problem(y, hours * unit, self.bin_hours, self.prior, log)
        first = np.array(self.prior.mean) if start is None else np.asarray(start.theta, dtype=np.float64)
        theta = problem.mode(first, self.max_evaluations)
        rng = np.random.default_rng(seed)
        drawn = problem.draw(theta, self.n_hyper, rng) if self.n_hyper > 1 else theta[None]
        components = tuple(_Component(np.asarray(one), problem.solve(np.asarray(one))) for one in drawn)
        converged = all(one.ep.converged for one in components)
        bins: Floats = np.asarray((np.arange(len(y)) + 0.5) * self.bin_hours, dtype=np.float64)
        return RatePosterior(unit, bins, self.bin_hours, theta, int(y.sum()), converged, components)


class _Problem:
    """The log posterior of the hyper-parameters given counts, whose sites are kept from one evaluation to the next."""

    def __init__(self, y: Floats, e: Floats, bin_hours: float, prior: RatePrior, log: FitLog) -> None:
        self.y, self.e, self.bin_hours, self.log = y, e, bin_hours, log
        self.prior_mean, self.prior_sd = np.array(prior.mean), np.array(prior.sd)
        self.lags: Floats = np.asarray(np.arange(len(y)) * bin_hours, dtype=np.float64)
        self.which = np.abs(np.arange(len(y))[:, None] - np.arange(len(y)))
        self.sites: Sites | None = None
        self.tolerance = TOLERANCE

    def solve(self, theta: Floats) -> CountPosterior:
        """Run EP at these hyper-parameters. Raises Cancelled."""
        covariance = kernel(self.lags, theta, self.bin_hours)[self.which]
        covariance[np.diag_indices_from(covariance)] += np.exp(2 * theta[4])
        ep = run_count_ep(self.y, self.e, covariance, float(theta[5]), start=self.sites, tolerance=self.tolerance)
        self.sites = ep.sites
        self.log.step(ep.log_evidence)
        return ep

    def value_and_slope(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log posterior, up to a constant, and its gradient (6,)."""
        ep = self.solve(theta)
        inner = np.outer(ep.weights, ep.weights) - ep.precision
        by_lag = np.bincount(self.which.ravel(), inner.ravel(), minlength=len(self.y))
        slope = np.empty(N_HYPER)
        slope[:4] = kernel_slopes(self.lags, theta, self.bin_hours) @ by_lag / 2
        slope[4] = np.exp(2 * theta[4]) * by_lag[0]
        slope[5] = ep.constant_slope
        z = (theta - self.prior_mean) / self.prior_sd
        return ep.log_evidence - float(z @ z) / 2, slope - z / self.prior_sd

    def mode(self, first: Floats, max_evaluations: int) -> Floats:
        """Return the hyper-parameters of the largest log posterior seen, by L-BFGS."""
        best = (-np.inf, first)

        def objective(theta: Floats) -> tuple[float, Floats]:
            nonlocal best
            value, slope = self.value_and_slope(theta)
            if value > best[0]:
                best = (value, theta.copy())
            return -value, -slope

        bounds = [(m - 4 * s, m + 4 * s) for m, s in zip(self.prior_mean, self.prior_sd, strict=True)]
        options = {"maxfun": max_evaluations, "maxiter": max_evaluations, "ftol": 1e-6, "gtol": 0.02}
        minimize(
            objective,
            first,  # type: ignore[call-overload]
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        return np.asarray(best[1])

    def draw(self, mode: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw hyper-parameters (n, 6) from N(mode, inverse Hessian of the log posterior)."""
        hessian = np.empty((N_HYPER, N_HYPER))
        for k, step in enumerate(HESSIAN_STEP * np.eye(N_HYPER)):
            above, below = (self.value_and_slope(mode + sign * step)[1] for sign in (1, -1))
            hessian[k] = (below - above) / (2 * HESSIAN_STEP)
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        spread = vectors / np.sqrt(np.maximum(values, MIN_CURVATURE))
        return np.asarray(mode + rng.standard_normal((n, N_HYPER)) @ spread.T)


def _check(y: Floats, hours: Floats) -> None:
    if hours.shape != y.shape:
        raise InvalidData(f"exposure has shape {hours.shape}, counts have {y.shape}; give one number of hours per bin.")
    bad = ~(np.isfinite(hours) & (hours >= 0)) | ((hours == 0) & (y > 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        message = f"row {row}: exposure {hours[row]} with {y[row]:.0f} events is not allowed; give hours of 0 or more, "
        raise InvalidData(message + "above 0 where there are events.", row=row, value=float(hours[row]))
    if not len(y) or not hours.sum():
        raise InsufficientData("there is no open bin; a rate needs some time to be counted in.")
    if len(y) > MAX_BINS:
        raise TooLarge(f"{len(y):,} bins are more than {MAX_BINS:,}; leave out the oldest or make bins longer.")


def _read_hours(hours: ArrayLike) -> Floats:
    at = read_floats(hours, "hours")
    if at.ndim != 1 or not np.isfinite(at).all():
        raise InvalidData("hours must hold finite numbers, shape (n,).")
    return at
