"""Annotators' tastes for competitors: their standard deviation and the covariance of u that they add."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.implied_pairs import PairTable, nu_by_row
from models_engine.inference.competitors.fit import eliminated
from models_engine.inference.competitors.problem import CompetitorState
from models_engine.inference.davidson.moments import average_answers
from models_engine.inference.graded.moments import average_between
from models_engine.linalg import sum_by_group

__all__ = ["TasteSpread", "expected_scores", "taste_covariance", "taste_spread"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
TASTE_SD = 0.5  # scale of the half-normal prior of the spread of tastes, in logits
TASTES = np.linspace(0.0, 3.0, 121)
MAX_OWN_SHARE = 0.999  # scores with a larger share of one annotator are not informative about differences
TINY = 1e-300
MAX_CELLS = 8_000_000  # numbers in memory at once


@dataclass(frozen=True)
class TasteSpread:
    """Posterior of the standard deviation, over annotators, of a taste for a competitor, in logits.

    mean, sd: of that standard deviation.   mean_square: what a covariance is multiplied by.
    """

    mean: float
    sd: float
    mean_square: float


def expected_scores(
    pairs: PairTable, margin: Floats, variance: float, log_nu: float, cuts: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return (score, information), (n_pairs,) each: the derivative of log P(answer) in the margin, and its variance.

    The items' own effects are integrated out.

    margin (n_pairs,): expected, side included.   variance: of the items' own effects in a margin.
    cuts (n_grades,): of graded answers, log_nu then not counting; None for Davidson's.
    """
    if cuts is not None:
        return _graded_scores(pairs, margin, np.full(len(margin), variance), cuts)
    found = average_answers(margin, np.full(len(margin), variance), nu_by_row(log_nu, pairs.can_tie))
    chances = np.stack([found.right[0], found.wrong[0], found.tie[0]])
    slopes = np.stack([found.right[1], found.wrong[1], found.tie[1]])
    ratio = np.divide(slopes, chances, out=np.zeros_like(slopes), where=chances > 0)
    outcome = np.where(pairs.outcome == 1, 0, np.where(pairs.outcome == 0, 1, 2))
    return ratio[outcome, np.arange(len(outcome))], (ratio * slopes).sum(axis=0)


def _graded_scores(pairs: PairTable, margin: Floats, variance: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """Return what expected_scores does; an answer without a grade could have said who wins or tie alone."""
    grade = np.zeros(len(pairs), np.int64) if pairs.grade is None else pairs.grade
    is_plain, is_tie = (grade == 0) & (pairs.outcome != 0.5), pairs.outcome == 0.5
    can_tie = np.ones(len(pairs), dtype=bool) if pairs.can_tie is None else pairs.can_tie
    low, high = np.array([0, *range(len(cuts))]), np.array([np.inf, *cuts[1:], np.inf])
    score, information = np.zeros((2, len(margin)))
    for kind in range(len(cuts) + 1):  # 0: any grade
        counted = is_plain if kind == 0 else ~is_plain
        lowest = np.where(can_tie, cuts[0], 0.0) if kind == 0 else np.full(len(margin), cuts[low[kind]])
        ends = lowest, np.full(len(margin), high[kind])
        for towards, way in ((1.0, 1.0), (0.0, -1.0)):
            chance, slope, _ = average_between(way * margin, variance, *ends).between
            ratio = way * slope / np.maximum(chance, TINY)
            information += counted * ratio * way * slope
            chosen = (pairs.outcome == towards) & (grade == kind)
            score[chosen] = ratio[chosen]
    if cuts[0] > 0:
        end = np.full(len(margin), cuts[0])
        chance, slope, _ = average_between(margin, variance, -end, end).between
        ratio = slope / np.maximum(chance, TINY)
        information += can_tie * ratio * slope
        score[is_tie] = ratio[is_tie]
    return score, information


def taste_spread(
    pairs: PairTable, scores: tuple[Floats, Floats], competitor: Ints, context: Ints, item_sd: float
) -> TasteSpread:
    """Estimate the spread from the excess of annotators' scores, summed by competitor, over chance and contexts.

    A score of annotator j and competitor c has variance I + s^2 sum_contexts |K|^2 + t^2 |I|^2 by the information I and
    K (rows over competitors) of that annotator and of each context, s the items' spread and t that of tastes; products
    within a label are left out of both squares, as I counts them; the annotator's own share in the fit is taken off.
    Scores count as independent, which affects t's precision, not its place.
    scores: see `expected_scores`.   competitor (n_items,), context (n_items,).
    """
    n, j = int(competitor.max()) + 1, pairs.annotator
    sides = (competitor[pairs.left], competitor[pairs.right])
    weight = pairs.weight * scores[1]
    size = pairs.n_annotators * n
    own = _rows(j, sides, weight, n, pairs.n_annotators).power(2).sum(axis=1)
    by_label = _squares(pairs.label, pairs, sides, weight, n)
    square = np.maximum(np.asarray(own).ravel() - by_label, 0.0)
    by_context = np.maximum(_squares(context[pairs.left], pairs, sides, weight, n) - by_label, 0.0)
    both = np.concatenate([j * n + sides[0], j * n + sides[1]])
    information = sum_by_group(both, np.concatenate([weight, weight]), size)
    pull = pairs.weight * scores[0]
    score = sum_by_group(j * n + sides[0], pull, size) - sum_by_group(j * n + sides[1], pull, size)
    whole = information.reshape(-1, n).sum(axis=0)
    others = 1 - information / np.tile(np.maximum(whole, 1e-300), pairs.n_annotators)
    kept = (information > 0) & (others > 1 - MAX_OWN_SHARE)
    variance = information[kept] + item_sd**2 * by_context[kept] + TASTES[:, None] ** 2 * square[kept]
    variance = variance * others[kept]
    log_p = -(np.log(variance) + score[kept] ** 2 / variance).sum(axis=1) / 2 - (TASTES / TASTE_SD) ** 2 / 2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean, mean_square = float(p @ TASTES), float(p @ TASTES**2)
    return TasteSpread(mean, float(np.sqrt(max(mean_square - mean**2, 0.0))), mean_square)


def _squares(group: Ints, pairs: PairTable, sides: tuple[Ints, Ints], weight: Floats, n: int) -> Floats:
    """Return (n_annotators n,) by annotator and competitor: the squared rows of D' diag(weight) D of each annotator's
    pairs in each group, summed over groups."""
    n_groups = int(group.max()) + 1
    found, cluster = np.unique(pairs.annotator * n_groups + group, return_inverse=True)
    rows = np.asarray(_rows(cluster, sides, weight, n).power(2).sum(axis=1)).ravel()
    return sum_by_group(((found // n_groups)[:, None] * n + np.arange(n)).ravel(), rows, pairs.n_annotators * n)


def _rows(
    group: Ints, sides: tuple[Ints, Ints], weight: Floats, n: int, n_groups: int | None = None
) -> scipy.sparse.csr_array:
    """Return (n_groups n, n): D' diag(weight) D of each group of pairs, its rows by competitor."""
    left, right = group * n + sides[0], group * n + sides[1]
    count = int(group.max()) + 1 if n_groups is None else n_groups
    rows, columns = np.concatenate([left, right, left, right]), np.concatenate([*sides, *sides[::-1]])
    values = np.concatenate([weight, weight, -weight, -weight])
    return scipy.sparse.coo_array((values, (rows, columns)), shape=(count * n, n)).tocsr()


def taste_covariance(state: CompetitorState, pairs: PairTable, row: Ints) -> Floats:
    """Return the covariance of u added by tastes of spread 1, (n_unknowns, n_unknowns): S^-1 sum_j M_j M_j' S^-1.

    M_j, (n_unknowns, n_competitors), is how far u's gradient, f eliminated, moves with the tastes of annotator j; the
    estimate itself takes no notice of tastes. pairs, row (n_pairs,): answers and the state's row of each; an answer
    in two rows (a grade between two thresholds) comes twice.
    """
    problem, elimination = state.problem, eliminated(state)
    whole = problem.answers.weight
    found = np.divide(state.averages.curvature, whole, out=np.zeros_like(whole), where=whole > 0)[row] * pairs.weight
    n, total = problem.n_competitors, np.zeros((problem.n_unknowns, problem.n_unknowns))
    order = np.argsort(pairs.annotator, kind="stable")
    reduced = elimination.reduced_rows(row[order])
    left, right = (problem.competitor[side[row[order]]] for side in (problem.blocks.left, problem.blocks.right))
    whose, weight = pairs.annotator[order], found[order]
    for first, last in _annotator_chunks(whose, problem.n_unknowns * n):
        part = slice(first, last)
        _, local = np.unique(whose[part], return_inverse=True)
        count = int(local.max()) + 1
        at = np.arange(last - first)
        design = scipy.sparse.coo_array(
            (
                np.concatenate([weight[part], -weight[part]]),
                (np.concatenate([at, at]), np.concatenate([local * n + left[part], local * n + right[part]])),
            ),
            shape=(last - first, count * n),
        )
        moved = (reduced[part].T @ design.tocsr()).toarray()
        total += moved @ moved.T
    covariance = elimination.covariance
    return np.asarray(covariance @ total @ covariance)


def _annotator_chunks(whose: Ints, width: int) -> list[tuple[int, int]]:
    """Split the sorted pairs into ranges of complete annotators, at most MAX_CELLS / width of them."""
    starts = np.flatnonzero(np.diff(whose, prepend=-1))
    edges = np.append(starts[:: max(1, MAX_CELLS // width)], len(whose))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
