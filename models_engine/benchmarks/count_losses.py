"""Losses of held-out counts, in nats a cell."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom

from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.factorization import FittedCounts

__all__ = ["mean_loss", "negative_binomial_loss"]

Floats = NDArray[np.float64]


def mean_loss(fitted: FittedCounts, test: CountCells, n_draws: int = 100) -> float:
    """Return minus the mean log probability of the test counts, nats, by n_draws draws of the items' factors."""
    found = fitted.log_predictive(test.items, test.annotators, test.counts, test.exposures, n_draws=n_draws)
    return -float(found.mean())


def negative_binomial_loss(train: CountCells, test: CountCells, rates: Floats) -> Floats:
    """Return minus log probabilities of the test counts by these rates, the dispersion by maximum likelihood."""

    def loss(log_rho: float, cells: CountCells) -> Floats:
        mean, rho = rates[cells.items] * cells.exposures, np.exp(log_rho)
        return -np.asarray(nbinom.logpmf(cells.counts, rho, rho / (rho + mean)))

    best = minimize_scalar(lambda one: loss(one, train).sum(), bounds=(-8.0, 12.0), method="bounded").x
    return loss(float(best), test)
