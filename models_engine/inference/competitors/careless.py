"""How likely it is that an annotator answers by the utilities at all, instead of at random."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from models_engine.implied_pairs import PairTable
from models_engine.inference.davidson.moments import average_answers
from models_engine.inference.graded.cut_points import thresholds
from models_engine.inference.graded.moments import average_between
from models_engine.linalg import sum_by_group

__all__ = ["attentive_shares"]

Floats = NDArray[np.float64]
PRIOR = (1.0, 9.0)  # of the beta distribution of the share of careless annotators
N_ROUNDS = 50
TASTES = np.linspace(-4.0, 4.0, 33)  # in standard deviations
FINE = np.linspace(-0.25, 0.25, 17)
SPREADS = np.array([1.0, 0.75, 0.5, 0.25])


def attentive_shares(
    pairs: PairTable,
    margin: Floats,
    variance: Floats,
    cuts: Floats | None = None,
    *,
    along: Floats | None = None,
    along_sd: float = 0.0,
    taste_scale: float = 1.0,
) -> Floats:
    """Return P(attentive), (n_annotators,): a latent class model (Dawid & Skene 1979) with two classes.

    Where they prefer an item, attentive annotators answer by the logistic of the margin, careless ones at random; how
    often somebody says tie or a grade tells nothing of it, but which item is better by that grade does. The share of
    the careless has a beta prior and is taken at its expectation in turn with the classes (mean-field). Who has not
    answered gets the prior's.
    margin, variance (n_pairs,): of the margin expected, side included; items' effects and tastes are part of it.
    along (n_pairs,): what an annotator's taste along one direction adds to the margin, for one unit; the taste is
    normal, the same in all answers of an annotator, and integrated out over them together. Along the competitors'
    utilities it is what can make all margins of somebody small, whose answers then look random. Its standard deviation
    is along_sd or less (those who answer at random widen it): SPREADS of it are averaged over by their evidence and a
    half-normal prior of scale taste_scale.
    cuts (n_grades,): cut points where grades count.
    """
    moved = np.zeros(len(pairs)) if along is None else along * along_sd
    evidence = _evidence(pairs, margin, variance, cuts, moved)
    answered = np.unique(pairs.annotator)
    found = [_mean_field(one, answered) for one in evidence]
    prior = -((SPREADS[: len(evidence)] * along_sd / taste_scale) ** 2) / 2
    return np.asarray(softmax(np.array([value for _, value in found]) + prior) @ np.stack([one for one, _ in found]))


def _mean_field(evidence: Floats, answered: NDArray[np.int64]) -> tuple[Floats, float]:
    """Return (P(attentive), (n_annotators,), the log evidence of all answers and the share of the careless)."""
    a, b = PRIOR
    careless = a / (a + b)
    for _ in range(N_ROUNDS):
        shares = expit(evidence + np.log1p(-careless) - np.log(careless))
        former, careless = careless, (a + (1 - shares[answered]).sum()) / (a + b + len(answered))
        if abs(careless - former) < 1e-6:
            break
    given_share = np.logaddexp(evidence[answered] + np.log1p(-careless), np.log(careless)).sum()
    return shares, float(given_share + (a - 1) * np.log(careless) + (b - 1) * np.log1p(-careless))


def _evidence(pairs: PairTable, margin: Floats, variance: Floats, cuts: Floats | None, along: Floats) -> Floats:
    """Return log P(answers | attentive) - log P(answers | random), (n_spreads, n_annotators): with a taste z that adds
    along z to the margins, z ~ N(0, s^2) for each s of SPREADS; one row without. By the trapezoidal rule over all z,
    and finely around the best, as the integrand is log-concave."""
    kept = np.flatnonzero(pairs.outcome != 0.5)
    some, margin, variance, along = pairs.select(kept), margin[kept], variance[kept], along[kept]

    def given(taste: Floats) -> Floats:
        right = np.maximum(_right(some, margin + along * taste[some.annotator], variance, cuts), 1e-300)
        return sum_by_group(some.annotator, some.weight * np.log(2 * right), pairs.n_annotators)

    if not along.any():
        return given(np.zeros(pairs.n_annotators))[None, :]
    nodes = np.repeat(TASTES[:, None], pairs.n_annotators, axis=1)
    values = np.stack([given(taste) for taste in nodes])
    fine = TASTES[(values - nodes**2 / 2).argmax(axis=0)] + FINE[:, None]
    nodes, values = np.concatenate([nodes, fine]), np.concatenate([values, np.stack([given(taste) for taste in fine])])
    order = np.argsort(nodes, axis=0)
    nodes, values = np.take_along_axis(nodes, order, axis=0), np.take_along_axis(values, order, axis=0)
    cells = np.diff(nodes, axis=0)
    width = (np.pad(cells, ((1, 0), (0, 0))) + np.pad(cells, ((0, 1), (0, 0)))) / 2
    each = [logsumexp(values - (nodes / s) ** 2 / 2, axis=0, b=width / (s * np.sqrt(2 * np.pi))) for s in SPREADS]
    return np.stack(each)


def _right(pairs: PairTable, margin: Floats, variance: Floats, cuts: Floats | None) -> Floats:
    """Return P(the item that was preferred is), given that one is and by which grade, (n_pairs,)."""
    if cuts is None:
        found = average_answers(margin, variance, -np.inf)
        return np.where(pairs.outcome == 1, found.right[0], found.wrong[0])
    ends = thresholds(cuts, np.zeros(len(pairs), np.int64) if pairs.grade is None else pairs.grade, pairs.can_tie)
    towards = np.where(pairs.outcome == 1, margin, -margin)
    chance, turned = (average_between(way * towards, variance, *ends).between[0] for way in (1.0, -1.0))
    return chance / np.maximum(chance + turned, 1e-300)
