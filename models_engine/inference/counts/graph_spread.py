"""Covariance of the effects of thousands of items and annotators, without a matrix over either."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from models_engine.covariance.graph import GraphCovariance
from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.inference.counts.bound import CONSTANT_SD, Scales

__all__ = ["effects_covariance"]

Floats = NDArray[np.float64]


def effects_covariance(weights: csr_matrix, scales: Scales) -> GraphCovariance:
    """Return the covariance of (f, -a), items before annotators, the constant c marginalised.

    weights (n_items, n_annotators): of the cells' curvature W. With R and C its row and column sums, the negative
    Hessian in (f, a) is [[R + I/s_f^2, W], [W', C + I/s_a^2]]: in (f, -a) that of a graph of items and annotators with
    the cells as its edges. c is coupled to it by b = (R, -C), so that the inverse gains z z' / v with z the graph's
    inverse times b, and v the curvature of c with all effects eliminated. With x = (p, p - 1) on items and annotators,
    graph x = b + r, r small (p / s_f^2, (p - 1) / s_a^2); hence z = x - inverse r, and v = 1/CONSTANT_SD^2 + x'r
    - r' inverse r has no small difference of large numbers. p makes x'r least.
    """
    n, k = weights.shape
    cells = weights.tocoo()
    order = np.lexsort((cells.col, cells.row))
    graph = PairGraph(cells.row[order].astype(np.int64), n + cells.col[order].astype(np.int64), n + k)
    ridge = np.repeat([1 / scales.items, 1 / scales.annotators], [n, k])
    precision = GraphPrecision(graph, np.asarray(cells.data[order], dtype=np.float64), ridge)
    of_items, of_annotators = n / scales.items, k / scales.annotators
    share = of_annotators / (of_items + of_annotators)
    x = np.repeat([share, share - 1], [n, k])
    rest = ridge * x
    moved = precision.solve(rest[:, None], tolerance=1e-10)[:, 0]
    curvature = CONSTANT_SD**-2 + float(x @ rest - rest @ moved)
    return GraphCovariance.of(precision, (x - moved)[:, None] / np.sqrt(curvature))
