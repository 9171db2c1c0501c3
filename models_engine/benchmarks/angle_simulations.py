"""Section 5 of Xu, Alvo & Yu: the posterior of kappa by resampling and by variational inference, and simulations.

The paper's prior is "small numbers close to zero" for shape and rate of kappa's Gamma. With a shape near 0 nearly all
its mass lies at kappa = 0, and so does much of the posterior of few rankings, where proposals around the likeliest
kappa never look; here the shape is 1, nearly flat. With theta uniform and the approximate constant, theta is integrated
in closed form: p(kappa | Y) ~ p(kappa) M(beta kappa) / M(kappa)^N, M the mean of exp(kappa u'm) over the sphere, beta
the length of the resultant. So the exact posterior is a sum over a grid, beside which both methods stand.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, xlogy

from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.angle_based import AngleBased
from models_engine.inference.angle.completions import draw_rankings
from models_engine.inference.angle.likelihood import fit_variational
from models_engine.inference.angle.permutations import EXACT_LIMIT, compatible_moments, log_constant, place_scores
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean, mean_length, sample_directions

__all__ = [
    "ConcentrationPosterior",
    "PosteriorRow",
    "SimulationRow",
    "compare_posteriors",
    "divergence",
    "draw_direction",
    "estimate_by_people_and_items",
    "leave_out",
    "missing_items",
    "predict",
]

Floats = NDArray[np.float64]
PRIOR = (1.0, 0.01)  # shape and rate of kappa
KAPPA = 1.0
N_CANDIDATES, N_KEPT = 10_000, 1_000
N_PREDICTIVE = 4_000
LONGEST = 500.0  # of the grid of kappa
GRID = np.exp(np.linspace(np.log(1e-4), np.log(LONGEST), 6_000))


@dataclass(frozen=True)
class PosteriorRow:
    """Symmetric divergences of posteriors of kappa in nats, KL(p, q) + KL(q, p), 20 bins of draws where so named.

    exact: the variational Gamma beside the exact posterior. binned: 1,000 resampled beside as many variational draws.
    noise: 1,000 exact draws beside 1,000 other ones, what binning draws gives where there is no difference at all.
    """

    t: int
    n: int
    kappa: float
    exact: float
    binned: float
    noise: float


@dataclass(frozen=True)
class SimulationRow:
    """One method in one setting, over repeats: divergence of the truth from the estimate in nats a ranking, its
    standard error, and CPU seconds a fit.
    """

    t: int
    n: int
    missing: int
    method: str
    divergence: float
    error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class ConcentrationPosterior:
    """Posterior of kappa given n complete rankings of p + 1 items whose resultant has length beta."""

    beta: float
    n: int
    p: int

    @property
    def mle(self) -> float:
        """Return the kappa of the largest likelihood, A(kappa) = beta / n, by bisection."""
        low, high = 0.0, LONGEST
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if float(mean_length(middle, self.p)) < self.beta / self.n else (low, middle)
        return (low + high) / 2

    def log_density(self, kappa: Floats) -> Floats:
        """Return the log density of kappa (m,), up to a constant."""
        prior = (PRIOR[0] - 1) * np.log(kappa) - PRIOR[1] * kappa
        return prior + log_sphere_mean(self.beta * kappa, self.p) - self.n * log_sphere_mean(kappa, self.p)

    def on_grid(self) -> Floats:
        """Return the probability of each cell of GRID, (6000,)."""
        return softmax(self.log_density(GRID) + np.log(GRID))

    def resampled(self, variance: float, rng: np.random.Generator) -> Floats:
        """Resample 1,000 kappas out of 10,000 from a Gamma of mean `mle` and this variance (the paper's SIR)."""
        mean = max(self.mle, 1e-2)
        shape, rate = mean**2 / variance, mean / variance
        drawn = np.maximum(rng.gamma(shape, 1 / rate, size=N_CANDIDATES), 1e-300)
        log_weight = self.log_density(drawn) - ((shape - 1) * np.log(drawn) - rate * drawn)
        return rng.choice(drawn, N_KEPT, p=softmax(log_weight))


def divergence(eta: Floats, estimate: Floats) -> float:
    """Return KL(P(ranking | eta), P(ranking | estimate)) in nats; eta, estimate (t,) = kappa theta of sum 0.

    Exact up to eight items, else by the constant of the sphere.
    """
    level = log_constant(np.stack([eta, estimate]))
    if len(eta) <= EXACT_LIMIT:
        mean = compatible_moments(eta, np.zeros((1, len(eta)), dtype=np.int64))[1][0]
    else:
        kappa = float(np.linalg.norm(eta))
        mean = float(mean_length(kappa, len(eta) - 1)) * eta / max(kappa, 1e-300)
    return float((eta - estimate) @ mean - level[0] + level[1])


def draw_direction(t: int, rng: np.random.Generator) -> Floats:
    """Draw a unit vector (t,) of sum zero."""
    theta = rng.normal(size=t)
    theta -= theta.mean()
    return theta / np.linalg.norm(theta)


def _symmetric(p: Floats, q: Floats) -> float:
    return float(np.sum(xlogy(p - q, p) - xlogy(p - q, q)))


def _binned(first: Floats, second: Floats) -> float:
    edges = np.histogram_bin_edges(np.concatenate([first, second]), 20)
    counts = [np.histogram(one, edges)[0] + 0.5 for one in (first, second)]
    return _symmetric(counts[0] / counts[0].sum(), counts[1] / counts[1].sum())


def compare_posteriors(settings: Sequence[tuple[int, int, float]], repeats: int, seed: int) -> list[PosteriorRow]:
    """Compare posteriors of kappa in settings (t, n, kappa), theta evenly spaced as the paper's (Figures 3 and 15)."""
    rows = []
    for t, n, kappa in settings:
        found = []
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, t, n, repeat])
            places = draw_rankings(np.tile(kappa * place_scores(t), (n, 1)), rng)
            resultant = place_scores(t)[places].sum(axis=0)
            form = fit_variational(resultant, n, PRIOR)
            exact = ConcentrationPosterior(form.beta, n, t - 1)
            p = exact.on_grid()
            q = softmax(form.a * np.log(GRID) - form.b * GRID)
            drawn, other = (rng.choice(GRID, N_KEPT, p=p) for _ in range(2))
            variational = rng.gamma(form.a, 1 / form.b, size=N_KEPT)
            resampled = exact.resampled(0.2, rng)
            kept = np.maximum(p, 1e-300), np.maximum(q, 1e-300)
            found.append([_symmetric(*kept), _binned(resampled, variational), _binned(drawn, other)])
        rows.append(PosteriorRow(t, n, kappa, *np.mean(found, axis=0).tolist()))
    return rows


def estimate_by_people_and_items(sizes: Sequence[tuple[int, int]], repeats: int, seed: int) -> Iterator[SimulationRow]:
    """Yield rows of each method by (items t, people n), kappa = 1 and theta random (Figures 4 to 7).

    "mle", "sir", "vi": the paper's, which share the direction of the resultant and differ in kappa alone; "exact": the
    mean of the exact posterior; "default": AngleBased with its own prior.
    """
    for t, n in sizes:
        found: dict[str, list[tuple[float, float]]] = {}
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, t, n, repeat])
            eta = KAPPA * draw_direction(t, rng)
            places = draw_rankings(np.tile(eta, (n, 1)), rng)
            data = Comparisons.from_rankings(np.argsort(places, axis=1))
            for method in ("mle", "sir", "vi", "exact", "default"):
                begun = time.process_time()
                estimate = _estimate(method, places, data, rng)
                seconds = time.process_time() - begun
                found.setdefault(method, []).append((divergence(eta, estimate), seconds))
        yield from (_row(t, n, 0, method, values) for method, values in found.items())


def _estimate(method: str, places: NDArray[np.int64], data: Comparisons, rng: np.random.Generator) -> Floats:
    n, t = places.shape
    if method == "default":
        return -AngleBased().fit(data, rng=rng).utilities()
    resultant = place_scores(t)[places].sum(axis=0)
    beta = float(np.linalg.norm(resultant))
    exact = ConcentrationPosterior(beta, n, t - 1)
    if method == "mle":
        kappa = exact.mle
    elif method == "sir":
        kappa = float(exact.resampled(1.0, rng).mean())
    elif method == "vi":
        form = fit_variational(resultant, n, PRIOR)
        kappa = form.a / form.b
    else:
        kappa = float(exact.on_grid() @ GRID)
    return kappa * resultant / beta


def _row(t: int, n: int, missing: int, method: str, values: list[tuple[float, float]]) -> SimulationRow:
    each = np.array(values)
    error = float(each[:, 0].std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
    return SimulationRow(t, n, missing, method, float(each[:, 0].mean()), error, float(each[:, 1].mean()))


def predict(people: Sequence[int], repeats: int, seed: int) -> Iterator[SimulationRow]:
    """Yield, by number of people and for five items, KL of the exact predictive density from the approximate ones.

    Exact: the ranking's probability averaged over 4,000 draws of the exact posterior, kappa by its grid and theta by
    its von Mises-Fisher form (Figure 8). "vi": the same with the variational Gamma; "mle": at the likeliest kappa.
    """
    t = 5
    for n in people:
        found: dict[str, list[tuple[float, float]]] = {}
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, n, repeat])
            eta = KAPPA * draw_direction(t, rng)
            resultant = place_scores(t)[draw_rankings(np.tile(eta, (n, 1)), rng)].sum(axis=0)
            form = fit_variational(resultant, n, PRIOR)
            exact = ConcentrationPosterior(form.beta, n, t - 1)
            draw = _predictive_of(resultant / form.beta, form.beta, rng)
            truth = draw(rng.choice(GRID, N_PREDICTIVE, p=exact.on_grid()))
            begun = time.process_time()
            variational = draw(rng.gamma(form.a, 1 / form.b, size=N_PREDICTIVE))
            seconds = time.process_time() - begun
            plug_in = _log_probabilities((exact.mle * resultant / form.beta)[None])
            for method, one in (("vi", variational), ("mle", plug_in)):
                value = float(np.exp(truth) @ (truth - one))
                found.setdefault(method, []).append((value, seconds if method == "vi" else 0.0))
        yield from (_row(t, n, 0, method, values) for method, values in found.items())


def _predictive_of(direction: Floats, beta: float, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """Return a function of kappas (m,): the log probabilities of all rankings, averaged over theta given each kappa."""
    basis = scipy.linalg.helmert(len(direction)).T

    def predictive(kappa: Floats) -> Floats:
        theta = sample_directions(basis.T @ direction, beta * kappa, rng) @ basis.T
        return _log_probabilities(kappa[:, None] * theta)

    return predictive


def _log_probabilities(eta: Floats) -> Floats:
    """Return the log of the mean over eta (m, t) of P(ranking | eta), for each of the t! rankings; small t."""
    scores = place_scores(eta.shape[1])[np.array(list(permutations(range(eta.shape[1]))))]
    given = eta @ scores.T
    given -= logsumexp(given, axis=1, keepdims=True)
    return np.asarray(logsumexp(given, axis=0) - np.log(len(eta)))


def missing_items(
    settings: Sequence[tuple[int, int, Sequence[int]]], repeats: int, seed: int, n_draws: int
) -> Iterator[SimulationRow]:
    """Yield rows by number of items left out of each ranking at random, kappa = 1 (Figure 9), for (t, n, numbers).

    AngleBased by "sir" and "vi", `n_draws` kept of twice as many sweeps after half as many; its prior, not the paper's.
    """
    for t, n, numbers in settings:
        for missing in numbers:
            found: dict[str, list[tuple[float, float]]] = {}
            for repeat in range(repeats):
                rng = np.random.default_rng([seed, t, n, repeat])
                eta = KAPPA * draw_direction(t, rng)
                rankings = np.argsort(draw_rankings(np.tile(eta, (n, 1)), rng), axis=1)
                data = Comparisons.from_rankings(leave_out(rankings, missing, rng), n_items=t)
                methods: tuple[Literal["sir", "vi"], ...] = ("sir", "vi")
                for method in methods:
                    estimator = AngleBased(inference=method, n_draws=n_draws, n_burn_in=n_draws // 2, thin=2)
                    begun = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter(
                            "ignore", NotConverged
                        )  # few draws: their R-hat is not what is asked here
                        estimate = -estimator.fit(data, rng=rng).utilities()
                    found.setdefault(method, []).append((divergence(eta, estimate), time.process_time() - begun))
            yield from (_row(t, n, missing, method, values) for method, values in found.items())


def leave_out(rankings: NDArray[np.int64], missing: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Leave `missing` items at random out of every ranking (n, t), best first: (n, t - missing)."""
    n, t = rankings.shape
    kept = np.sort(np.argsort(rng.random((n, t)), axis=1)[:, missing:], axis=1)
    return np.take_along_axis(rankings, kept, axis=1)
