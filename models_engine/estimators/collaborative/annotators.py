"""Utilities of every annotator of a CollaborativePosterior, and their differences from the consensus."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from models_engine.estimators.collaborative.posterior import Tastes
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.annotator_solves import LocalSolution, solve_block
from models_engine.linalg import centre, centre_covariance

__all__ = ["AnnotatorUtilities", "annotator_utilities"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AnnotatorUtilities:
    """One annotator, over items (n_items,) and centred: own utilities with standard deviations, and the difference from
    the consensus with its own; both count what is not known of how tastes vary, where that was drawn.

    score_sds (c,): standard deviations of the scores along the components; 1 before any answer.   wrong_sign
    (n_items,): the chance that the difference is on the other side of 0 than `difference` says.
    """

    annotator: int
    mean: Floats
    sd: Floats
    difference: Floats
    difference_sd: Floats
    score_sds: Floats
    wrong_sign: Floats


def solve_annotators(tastes: Tastes) -> Iterator[tuple[Block, LocalSolution]]:
    """Solve every annotator who answered, given the consensus at its mean."""
    weight, push = tastes.copies * tastes.precision, tastes.copies * tastes.shift
    for block in build_blocks(tastes.pair_sites):
        yield block, solve_block(block, tastes.taste, tastes.mean, weight, push)


class OtherTastes(Protocol):
    """Tastes of another form, which know how they give the same."""

    def utilities(self, items: Ints | None = None) -> Iterator[AnnotatorUtilities]: ...


def annotator_utilities(tastes: Tastes | OtherTastes, items: Ints | None = None) -> Iterator[AnnotatorUtilities]:
    """Yield the utilities of each annotator who answered, over these items (default all), centred among them.

    Cost: annotators times items times the square of the local width.

    Given the consensus t, f_u - t = R e with R = Sigma B' and covariance Sigma - R E R'; e moves by -E B (t - mean)
    with the consensus, so that the difference has covariance Sigma - R (E - E B C B' E) R', and f_u that and
    C - R E B C - (R E B C)' besides. Tastes.own gives one annotator's whole matrix.
    """
    if not isinstance(tastes, Tastes):
        yield from tastes.utilities(items)
        return
    rows = np.arange(len(tastes.mean)) if items is None else np.asarray(items, dtype=np.int64)
    taste, covariance = tastes.taste, tastes.covariance
    near, shared = (one[rows] - one[rows].mean(axis=0) for one in (taste, covariance))
    own_prior = np.diagonal(centre_covariance(taste[np.ix_(rows, rows)]))
    consensus_variance = np.diagonal(centre_covariance(covariance[np.ix_(rows, rows)]))
    mean = centre(tastes.mean[rows])
    squares = np.maximum((tastes.loadings**2).sum(axis=0), 1e-300)
    along = (tastes.loadings / squares).T @ taste
    for block, local in solve_annotators(tastes):
        gathered = block.gather(covariance)
        for u, annotator in enumerate(block.annotators.tolist()):
            one, other = block.items[u], None if block.others is None else block.others[u]
            reach, follows, score_reach = (_columns(matrix, one, other) for matrix in (near, shared, along))
            information = local.information[u]
            known = information - information @ gathered[u] @ information
            spread = np.maximum(own_prior - ((reach @ known) * reach).sum(axis=1), 0.0)
            cross = -((reach @ information) * follows).sum(axis=1)
            variance = np.maximum(spread + consensus_variance + 2 * cross, 0.0)
            difference = reach @ local.residual[u]
            wide, wide_apart = tastes.own_widening[annotator], tastes.difference_widening[annotator]
            sign_sd = np.maximum(tastes.sign_widening[annotator] * np.sqrt(spread), 1e-300)
            wrong = ndtr(-np.abs(difference) / sign_sd)
            scores = np.maximum(1 - ((score_reach @ known) * score_reach).sum(axis=1), 0.0)
            sds = (wide * np.sqrt(variance), wide_apart * np.sqrt(spread))
            yield AnnotatorUtilities(annotator, mean + difference, sds[0], difference, sds[1], np.sqrt(scores), wrong)


def _columns(matrix: Floats, items: Ints, others: Ints | None) -> Floats:
    """Return matrix B' for the local coordinates B of one annotator."""
    return matrix[:, items] if others is None else matrix[:, items] - matrix[:, others]
