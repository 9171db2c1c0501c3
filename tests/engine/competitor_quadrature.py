"""Two competitors' posterior summed over grids of the items' spread and of the competitors' margin."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logsumexp

from models_engine.estimators.competitor_posterior import CompetitorPosterior


def assert_is_quadrature(
    found: CompetitorPosterior,
    answers: Callable[[np.ndarray], np.ndarray],
    n_margins: int,
    n_spreads: int,
    n_nodes: int,
) -> None:
    """answers: log P of each context's answers, (n_contexts, ...), at the items' differences (...)."""
    margins = np.linspace(-3, 3, n_margins)  # g_0 - g_1
    spreads = np.exp(np.linspace(np.log(0.1), np.log(3), n_spreads))
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_p = np.empty((n_spreads, n_margins))
    for row, spread in enumerate(spreads):
        z = margins[:, None] + np.sqrt(2) * spread * nodes
        log_p[row] = logsumexp(answers(z) + np.log(weights / weights.sum()), axis=2).sum(axis=0)
        log_p[row] += -(spread**2) / 2 + np.log(spread)
    log_p -= margins**2 / (4 * found.prior_sd**2)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = (p.sum(axis=0) * margins).sum()
    sd = np.sqrt((p.sum(axis=0) * margins**2).sum() - mean**2)
    assert found.utilities()[0] - found.utilities()[1] == pytest.approx(mean, abs=0.1 * sd)
    assert np.sqrt(found.difference_variance(0, 1)) == pytest.approx(sd, rel=0.1)
    assert found.effects.item_spread[0] == pytest.approx((p.sum(axis=1) * spreads).sum(), rel=0.15)
