"""Whether annotators agree far more often about the same pairs than a fit expects of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from models_engine.estimators.substitutes import add_clause
from models_engine.implied_pairs import PairTable
from models_engine.linalg import sum_by_group
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import GaussianPosterior

__all__ = ["AgreementOfTwo", "agree_more", "compare_agreement", "with_missed_agreement"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Fitted = TypeVar("Fitted", bound=GaussianPosterior)
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
MIN_GAP = 0.15  # of the share of two answers that agree, above what the fit expects
MIN_DEVIATIONS = 6.0
UNLIKELY = 3.0  # deviations that chance hardly makes
MAX_PAIRS = 100_000  # distinct ones, whose variances may take long
MISSED = gettext_noop(
    "people who judged the same pair agree in %(observed)s of cases where this fit expects %(expected)s: compare items "
    "that are further apart, as comparing neighbours alone tells too little"
)


@dataclass(frozen=True)
class AgreementOfTwo:
    """Shares of two people's answers to the same pair that name the same item, ties left out; `expected` by the fit.

    deviations: how far the first is above the second, in standard deviations of coin tosses.
    """

    observed: float
    expected: float
    deviations: float


def compare_agreement(
    pairs: PairTable,
    posterior: GaussianPosterior,
    reliability: Floats | None = None,
    side: Floats | None = None,
    min_gap: float = MIN_GAP,
) -> AgreementOfTwo | None:
    """Compare the agreement of each two people's answers with that expected; None where no pair has two answers.

    None, too, where no fit could expect less by min_gap or more: that would be less than chance.

    reliability (n_annotators,): P(not reversed) of each annotator, None for 1. With y = 1 or -1 of an answer, q its
    reliability and p the probability by the pair's margin that the first is preferred and it is no tie, any taste
    averaged out, E[y_j y_k] = (2 q_j - 1)(2 q_k - 1) E[(2 p_j - 1)(2 p_k - 1)].
    side (n_pairs,): what is added to the utility of each answer's left item, None for 0.
    """
    kept = (pairs.outcome != 0.5) & (pairs.weight > 0)
    pairs, side = pairs.select(kept), None if side is None else side[kept]
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    key, unit = np.unique(low * pairs.n_items + high, return_inverse=True)
    n = len(key)
    own, person = np.unique(unit * pairs.n_annotators + pairs.annotator, return_inverse=True)
    unit_of_own, who = np.divmod(own, pairs.n_annotators)
    given = sum_by_group(person, pairs.weight, len(own))
    weight = np.minimum(given, 1.0)  # whoever answered twice counts once
    for_low = np.where((pairs.outcome == 1) == (pairs.left < pairs.right), pairs.weight, 0.0)
    answer = weight * (2 * sum_by_group(person, for_low, len(own)) / given - 1)
    care = np.ones(len(own)) if reliability is None else 2 * reliability[who] - 1

    def of_two(values: Floats) -> Floats:
        """Return the sum over each two people of the product of their values, (n,)."""
        return (sum_by_group(unit_of_own, values, n) ** 2 - sum_by_group(unit_of_own, values**2, n)) / 2

    couples, agreed, noise = of_two(weight), of_two(answer), of_two(weight**2)
    several = couples > 1e-3
    total = float(couples[several].sum())
    if total == 0 or n > MAX_PAIRS or agreed.sum() <= 2 * min_gap * total:
        return None
    rows = np.flatnonzero(several if side is None else several[unit_of_own])
    shift, unit_of_row = np.zeros(len(rows)), rows
    if side is not None:
        towards_low = np.where(pairs.left < pairs.right, side, -side)
        shift = (sum_by_group(person, pairs.weight * towards_low, len(own)) / given)[rows]
        unit_of_row = unit_of_own[rows]
    expected, leaning = 0.0, np.zeros(n if side is None else len(own))
    for share, found in _leanings(posterior, *np.divmod(key[unit_of_row], pairs.n_items), shift):
        leaning[rows] = found
        each = leaning[unit_of_own] if side is None else leaning
        expected += share * float(of_two(weight * care * each)[several].sum())
    gap = float(agreed[several].sum()) - expected
    shares = [(1 + value / total) / 2 for value in (expected + gap, expected)]
    return AgreementOfTwo(shares[0], shares[1], gap / float(np.sqrt(noise[several].sum())))


def _leanings(posterior: GaussianPosterior, left: Ints, right: Ints, shift: Floats) -> Iterator[tuple[float, Floats]]:
    """Yield values of 2 P(left is preferred and it is no tie) - 1 over the posterior of the margins, each with its
    share; shift (n,) is added to the margins."""
    margin = posterior.mean[left] - posterior.mean[right] + shift
    sd = np.sqrt(posterior.difference_variance(left, right))
    taste = np.zeros(len(left)) if posterior.taste is None else posterior.taste.difference_variance(left, right)
    likelihood = replace(posterior.likelihood, side=0.0, lapse=0.0)
    for node, share in zip(NODES.tolist(), (NODE_WEIGHTS / NODE_WEIGHTS.sum()).tolist(), strict=True):
        yield share, 2 * likelihood.preference(margin + node * sd, taste) - 1


def agree_more(pairs: PairTable, posterior: GaussianPosterior, side: Floats | None = None) -> bool:
    """Return whether answers to the same pair agree more than the fit expects, to which all are other people's."""
    apart = replace(pairs, annotator=np.arange(len(pairs)), n_annotators=len(pairs))
    found = compare_agreement(apart, posterior, side=side, min_gap=0.0)
    return found is not None and found.deviations > UNLIKELY


def with_missed_agreement(
    found: Fitted, pairs: PairTable, reliability: Floats | None = None, side: Floats | None = None
) -> Fitted:
    """Return the fit; where people agree far more than it expects, with a clause in its message that says so."""
    agreement = compare_agreement(pairs, found, reliability, side)
    if agreement is None or agreement.deviations < MIN_DEVIATIONS:
        return found
    if agreement.observed < agreement.expected + MIN_GAP:
        return found
    observed, expected = (f"{100 * share:.0f}%" for share in (agreement.observed, agreement.expected))
    clause = Message.of(MISSED, observed=observed, expected=expected)
    return add_clause(found, clause)
