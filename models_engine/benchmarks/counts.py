"""Rates of rare events (coal mining disasters 1851-1962): held-out log loss by link, as in a thesis's table."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import poisson

from models_engine.benchmarks.crowd_data import found_file, read_columns
from models_engine.benchmarks.machine import describe_machine
from models_engine.inference.count_ep import CountPosterior, Moments, run_count_ep
from models_engine.inference.rectified_poisson import tilted_moments

__all__ = ["LINKS", "link_moments", "main", "read_disasters", "run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
YEARS = (1851.0, 1962.25)  # the record, 15 March 1851 to 22 March 1962, to quarters; other edges move all rows alike
N_BINS, N_FOLDS = 100, 10
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(96)
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
ONE_RATE = "one rate"
PRINTED = {"exp": 1.63, "softplus": 1.61, "rectified": 1.60}  # Ko, thesis, 2.1: +- .02


def link_moments(link: Callable[[Floats], Floats]) -> Moments:
    """Return the moments of Poisson(y; e link(f)) under a Gaussian by 96 Gauss-Hermite nodes, for smooth links."""

    def moments(counts: Floats, exposure: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        sd = np.sqrt(variance)[:, None]
        rate = np.maximum(exposure[:, None] * link(mean[:, None] + sd * NODES), 1e-300)
        log_likelihood = counts[:, None] * np.log(rate) - rate - gammaln(counts + 1)[:, None]
        terms = log_likelihood + LOG_WEIGHTS
        top = terms.max(axis=1, keepdims=True)
        share = np.exp(terms - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        first, second = share @ NODES, share @ NODES**2
        alpha = first / np.sqrt(variance)
        return (top + np.log(total))[:, 0], alpha, np.maximum((1 - (second - first**2)) / variance, 0.0)

    return moments


LINKS: dict[str, tuple[Moments, Callable[[float], float]]] = {
    "exp": (link_moments(lambda f: np.exp(np.minimum(f, 50.0))), np.log),
    "softplus": (link_moments(lambda f: np.logaddexp(0, f)), lambda rate: float(np.log(np.expm1(rate)))),
    "rectified": (tilted_moments, lambda rate: rate),
}


def read_disasters(folder: Path) -> Floats:
    """Read counts (100,) of disasters in equal bins of 1851 to 1962, from activity/coal_disasters.csv.gz (year)."""
    years = np.array(read_columns(found_file(folder, "activity", "coal_disasters.csv.gz"))["year"], dtype=np.float64)
    return np.histogram(years, N_BINS, YEARS)[0].astype(np.float64)


def squared_exponential(places: Floats, other: Floats, theta: Floats) -> Floats:
    """Return s^2 exp(-D^2 / (2 l^2)) for theta = (log s, log l)."""
    return np.asarray(np.exp(2 * theta[0] - (places[:, None] - other) ** 2 / (2 * np.exp(2 * theta[1]))))


def fit(places: Floats, y: Floats, moments: Moments, start: float) -> tuple[Floats, CountPosterior]:
    """Return log s, log l and the constant (3,) by evidence, and the posterior there."""
    squares = (places[:, None] - places) ** 2

    def solve(theta: Floats) -> tuple[Floats, CountPosterior]:
        covariance = squared_exponential(places, places, theta) + 1e-6 * np.eye(len(y))
        return covariance, run_count_ep(y, np.ones(len(y)), covariance, float(theta[2]), moments=moments)

    def objective(theta: Floats) -> tuple[float, Floats]:
        covariance, ep = solve(theta)
        by_length = covariance * squares / np.exp(2 * theta[1])
        slope = [ep.evidence_slope(2 * covariance), ep.evidence_slope(by_length), ep.constant_slope]
        return -ep.log_evidence, -np.array(slope)

    first = np.array([0.0, np.log(15.0), start])
    bounds = [(-3, 3), (np.log(2.0), np.log(200.0)), (None, None)]
    best = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": 60})
    return best.x, solve(best.x)[1]


def held_out_loss(y: Floats, test: Ints, name: str) -> float:
    """Return the sum of -log P(count) over the test bins, fitted to the others."""
    moments, inverse = LINKS[name]
    train = np.setdiff1d(np.arange(len(y)), test)
    theta, ep = fit(train.astype(np.float64), y[train], moments, inverse(float(y[train].mean())))
    cross = squared_exponential(test.astype(np.float64), train.astype(np.float64), theta)
    mean = theta[2] + cross @ ep.weights
    variance = np.exp(2 * theta[0]) - np.einsum("ij,jk,ik->i", cross, ep.precision, cross)
    return -float(moments(y[test], np.ones(len(test)), mean, np.maximum(variance, 1e-9))[0].sum())


def run(y: Floats, n_draws: int) -> dict[str, list[float]]:
    """Return by link the mean -log P of a held-out bin, for each draw of the ten folds."""
    losses: dict[str, list[float]] = {name: [] for name in (ONE_RATE, *LINKS)}
    for draw in range(n_draws):
        fold = np.random.default_rng(draw).permutation(len(y)) % N_FOLDS
        tests = [np.flatnonzero(fold == k) for k in range(N_FOLDS)]
        for name in LINKS:
            losses[name].append(sum(held_out_loss(y, test, name) for test in tests) / len(y))
        one = [-poisson.logpmf(y[test], np.delete(y, test).mean()).sum() for test in tests]
        losses[ONE_RATE].append(float(sum(one)) / len(y))
        print(f"draw {draw + 1}: { {name: round(row[-1], 4) for name, row in losses.items()} }", file=sys.stderr)
    return losses


def main(arguments: Sequence[str]) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks counts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with activity")
    parser.add_argument("--draws", type=int, default=5, help="draws of the ten folds")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    y = read_disasters(options.data)
    losses = run(y, options.draws)
    known = describe_machine()
    print(known)
    print(f"{y.sum():.0f} events in {len(y)} bins; -log P of a held-out bin, ten folds, {options.draws} draws of them")
    print(f"{'link':<12}{'printed':>9}{'ours':>9}{'sd':>8}")
    for name, row in losses.items():
        printed = f"{PRINTED[name]:.2f}" if name in PRINTED else "-"
        print(f"{name:<12}{printed:>9}{np.mean(row):>9.3f}{np.std(row):>8.3f}")
    if options.json:
        options.json.write_text(json.dumps({"measured": known, "losses": losses}, indent=1))
    return 0
