"""The evidence beyond the bound of the nearest Gaussian: what the answers about each pair have that is not Gaussian."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.davidson.variational import VariationalGaussian
from models_engine.linalg import chunk_slices

__all__ = ["evidence_above_bound"]

Floats = NDArray[np.float64]
WIDEST = 9.0  # standard deviations of a margin within which its integral is taken
APART = 0.45  # of nodes, in standard deviations
LOGITS_APART = 1.2  # and at most this


def evidence_above_bound(found: VariationalGaussian) -> float:
    """Return how far the log evidence is above the bound, 0 or more, pair by pair; nuisances stay points.

    With q = N(m, C) proportional to the prior times sites g_k, each the exponential of a quadratic with
    E_q log g_k = E_q log t_k, t_k the likelihood of the answers about pair k, the bound is log of the integral of the
    prior times all g_k, and the evidence is exp(bound) E_q[prod t_k / g_k]. Here the ratios count as independent under
    q, which is exact where no two pairs share an item (as the first of the corrections of Opper, Paquet & Winther
    2013, which begin from EP). g_k has the slope E_q (log t_k)' and the curvature E_q (log t_k)'' (Opper & Archambeau
    2009, eq. 9-10), both by Stein's lemma from averages of log t_k.
    """
    problem, graph = found.problem, found.problem.counts.graph
    diagonal, between = np.diagonal(found.covariance), found.covariance[graph.low, graph.high]
    deviation = np.sqrt(np.maximum(diagonal[graph.low] + diagonal[graph.high] - 2 * between, 0.0))
    apart = min(APART, LOGITS_APART / max(float(deviation.max(initial=0.0)), 1e-9))
    node = np.linspace(-WIDEST, WIDEST, 1 + 2 * int(np.ceil(WIDEST / apart)))[:, None]
    log_share = -(node**2) / 2
    log_share -= np.log(np.exp(log_share).sum())
    share, first_row = np.exp(log_share), np.searchsorted(problem.counts.pair, np.arange(graph.n_pairs + 1))
    margin, above = problem.margins(found.state.x), 0.0
    for part in chunk_slices(graph.n_pairs, len(node)):
        rows = slice(first_row[part.start], first_row[part.stop])
        away = node * deviation[problem.counts.pair[rows]]
        of_rows = -problem.losses(found.state.x, margin[rows] + away, rows)
        log_t = np.add.reduceat(of_rows, first_row[part] - rows.start, axis=1)
        mean, slope, bend = ((share * weight * log_t).sum(axis=0) for weight in (1.0, node, node**2 - 1))
        log_ratio = log_t - (mean + slope * node + bend * (node**2 - 1) / 2)
        above += float(np.log(np.exp(log_ratio + log_share).sum(axis=0)).sum())
    return above
