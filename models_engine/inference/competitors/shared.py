"""The covariance that equal effects of items add where the fit took those of several cohorts for independent."""

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.competitors.fit import eliminated
from models_engine.inference.competitors.problem import CompetitorState

__all__ = ["shared_covariance"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_CELLS = 8_000_000  # numbers in memory at once


def shared_covariance(state: CompetitorState, item: Ints) -> Floats:
    """Return what is added to the covariance of u, (n_unknowns, n_unknowns), for items of spread 1.

    item (n_slots,): which slots are one item, -1 for padding. With m_s how far u's gradient, f eliminated, moves with
    the effect of slot s, independent effects move u by S^-1 sum_s m_s m_s' S^-1 and equal ones by
    S^-1 sum_i (sum_{s of i} m_s)(...)' S^-1: their difference is returned.
    """
    problem, elimination = state.problem, eliminated(state)
    blocks, n_rows = problem.blocks, len(problem.answers.weight)
    every = np.arange(n_rows)
    reduced = elimination.reduced_rows(every)
    weight = state.averages.curvature
    rows, slots = np.concatenate([every, every]), np.concatenate([blocks.left, blocks.right])
    values = np.concatenate([weight, -weight])
    design = scipy.sparse.coo_array((values, (rows, slots)), shape=(n_rows, blocks.n_slots)).tocsc()
    order = np.argsort(item, kind="stable")
    order = order[item[order] >= 0]
    total = np.zeros((problem.n_unknowns, problem.n_unknowns))
    starts = np.flatnonzero(np.diff(item[order], prepend=-2))
    edges = np.append(starts[:: max(1, MAX_CELLS // problem.n_unknowns // 8)], len(order))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        some = order[first:last]
        moved = (reduced.T @ design[:, some]).toarray()
        together = np.add.reduceat(moved, np.flatnonzero(np.diff(item[some], prepend=-2)), axis=1)
        total += together @ together.T - moved @ moved.T
    covariance = elimination.covariance
    return np.asarray(covariance @ total @ covariance)
