"""The likelihood of graded answers with every annotator's reliability integrated out, at known cut points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from models_engine.inference.crowd_bt.likelihood import N_DIRECTIONS, LikelihoodDerivatives
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior, build_grid, integrate_reliabilities
from models_engine.inference.graded.cut_points import thresholds
from models_engine.linalg import sum_by_group

__all__ = ["both_ways", "evaluate_graded", "graded_parts", "tie_terms"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Between:
    """log P(low < d + noise < high), noise logistic, (n,), and derivatives: slope, bend (minus the second) in d, by_low
    and by_high in the thresholds. s(u) - s(v) = s(u) s(-v) (1 - exp(v - u)) loses no digits.
    """

    value: Floats
    slope: Floats
    bend: Floats
    by_low: Floats
    by_high: Floats

    @classmethod
    def of(cls, d: Floats, low: Floats, high: Floats) -> "_Between":
        gap = np.exp(low - high)
        under, over = expit(low - d), expit(d - high)
        steep = gap / (1 - gap)
        return cls(
            log_expit(d - low) + log_expit(high - d) + np.log1p(-gap),
            under - over,
            under * (1 - under) + over * (1 - over),
            -under - steep,
            over + steep,
        )


def both_ways(pairs: NoisyPairs, margins: Floats, cuts: Floats) -> tuple[_Between, _Between]:
    """Return each win's log probability as it is and reversed."""
    d, ends = pairs.sign * margins[pairs.row], thresholds(cuts, pairs.grade, pairs.wins_can_tie)
    return _Between.of(d, *ends), _Between.of(-d, *ends)


def tie_terms(margins: Floats, cuts: Floats) -> _Between:
    """Return the log probability of a tie of each row."""
    end = np.full(len(margins), max(float(cuts[0]), 1e-300))
    return _Between.of(margins, -end, end)


def graded_parts(pairs: NoisyPairs, margins: Floats, cuts: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of each win the log ratio of its probability to that reversed, and what it adds to log P besides what
    `integrate_reliabilities` counts; and what each row's ties add."""
    kept, turned = both_ways(pairs, margins, cuts)
    tied = np.where(pairs.ties > 0, pairs.ties * tie_terms(margins, cuts).value, 0.0) if cuts[0] > 0 else 0 * margins
    return kept.value - turned.value, pairs.weight * np.logaddexp(kept.value, turned.value), tied


def evaluate_graded(
    pairs: NoisyPairs,
    margins: Floats,
    cuts: Floats,
    prior: BetaPrior,
    modes: Floats | None = None,
    n_directions: int = N_DIRECTIONS,
) -> LikelihoodDerivatives:
    """Evaluate at margins (n_rows,) and cut points (n_grades,), as evaluate_likelihood does for answers without grades.

    A win of margin d adds log(eta G(d) + (1 - eta) G(-d)), G the grade's probability; eta is integrated out per
    annotator. With p the chance that it is not reversed, its slope is p l(d)' - (1 - p) l(-d)', l = log G, and its
    second derivative p l(d)'' + (1 - p) l(-d)'' + p (1 - p) (l(d)' + l(-d)')^2.
    """
    kept, turned = both_ways(pairs, margins, cuts)
    ratio = kept.value - turned.value
    grid = build_grid(prior, pairs, ratio, modes)
    crowd = integrate_reliabilities(pairs, ratio, grid, prior, n_directions)
    wrong, steep = 1 - crowd.right, kept.slope + turned.slope  # the latter: of the log ratio in d

    def by_row(values: Floats) -> Floats:
        return sum_by_group(pairs.row, pairs.weight * values, len(margins))

    known = by_row(crowd.right * kept.bend + wrong * turned.bend)
    score = by_row(pairs.sign * (crowd.right * kept.slope - wrong * turned.slope))
    value = crowd.log_annotators.sum() + pairs.weight @ np.logaddexp(kept.value, turned.value)
    low, high = np.maximum(pairs.grade - 1, 0), np.where(pairs.grade == 0, len(cuts), pairs.grade)
    if pairs.wins_can_tie is not None:
        low = np.where(pairs.wins_can_tie, low, len(cuts))  # the threshold of the others is 0 and stays
    by_cuts = sum_by_group(
        np.concatenate([low, high]),
        np.concatenate(
            [
                pairs.weight * (crowd.right * kept.by_low + wrong * turned.by_low),
                pairs.weight * (crowd.right * kept.by_high + wrong * turned.by_high),
            ]
        ),
        len(cuts) + 1,
    )[:-1]
    if cuts[0] > 0:
        tie = tie_terms(margins, cuts)
        value, score, known = (
            value + pairs.ties @ tie.value,
            score + pairs.ties * tie.slope,
            known + pairs.ties * tie.bend,
        )
        by_cuts[0] += pairs.ties @ (tie.by_high - tie.by_low)
    nothing = np.zeros(len(margins))
    return LikelihoodDerivatives(
        value=float(value),
        score=score,
        score_nu=0.0,
        curvature=known - by_row(crowd.spread * steep**2),
        curvature_known=known,
        cross=nothing,
        curvature_nu=0.0,
        shared=(pairs.weight * pairs.sign * steep)[:, None] * crowd.shared,
        crowd=crowd,
        score_cuts=by_cuts,
    )
