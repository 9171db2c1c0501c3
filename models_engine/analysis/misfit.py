"""Infit and outfit: annotators and items whose answers deviate from the fit by more than chance."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.analysis.scores import common_unit
from models_engine.data import Comparisons
from models_engine.implied_pairs import LabelGroup, composite_weights
from models_engine.linalg import sum_by_group
from models_engine.posterior import BasePosterior

__all__ = ["MeanSquares", "Misfit", "compute_misfit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MIN_VARIANCE = 1e-4  # of an outcome: outfit counts a surprise as no rarer than one in ten thousand
N_REPEATS = 200
MAX_DRAWN = 40_000_000  # pairs simulated at most
MIN_REPEATS = 50
MAX_LEVERAGE = 0.9
SIDES = ("items", "annotators")


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Fit of items or of annotators; all (n,), nan where nothing was answered.

    infit: sum w (x - p)^2 / sum w v, the information-weighted mean square; outfit: the mean of (x - p)^2 / v, which
    single surprises weigh on. 1 is what chance gives, more is misfit, less is too regular. x: 1, 0 or 1/2 (tie), p and
    v its mean and variance by the fit.   infit_z, outfit_z: standardised, about N(0, 1) where the fit holds; over 2
    deserves a look.   n: pairs that count.
    """

    infit: Floats
    infit_z: Floats
    outfit: Floats
    outfit_z: Floats
    n: Ints


@dataclass(frozen=True, eq=False)
class Misfit:
    items: MeanSquares
    annotators: MeanSquares


@dataclass(frozen=True, eq=False)
class _Sets:
    """The pairs of places within the sets of one size, as rectangles (n_labels, n_pairs).

    left, right: items.   chance, tied: P(left preferred), P(tie).   weight (n_labels, 1): of each pair of the label.
    """

    group: LabelGroup
    left: Ints
    right: Ints
    chance: Floats
    tied: Floats
    weight: Floats
    left_over: Floats

    @property
    def mean(self) -> Floats:
        return self.chance + self.tied / 2

    @property
    def variance(self) -> Floats:
        return np.maximum(self.chance + self.tied / 4 - self.mean**2, MIN_VARIANCE)

    @property
    def fourth(self) -> Floats:
        """Return fourth central moment of the outcome."""
        mean, lost = self.mean, 1 - self.chance - self.tied
        return self.chance * (1 - mean) ** 4 + self.tied * (0.5 - mean) ** 4 + lost * mean**4


def compute_misfit(posterior: BasePosterior, data: Comparisons, *, rng: np.random.Generator | None = None) -> Misfit:
    """Compute infit and outfit of each item (script) and each annotator (judge) under a fit of `data`.

    Mean squares as in Rasch measurement (Wright & Masters 1982, ch. 5; of comparative judgement Pollitt 2012), p being
    the chance for an average annotator at the posterior means in common units; tied pairs by Davidson's nu, or at
    their overall rate. Labels of larger sets enter as their implied pairs, each with its composite-likelihood weight
    (Comparisons.pairs), so that a label counts for what it tells. Labels of weight 0 are left out.

    A fit has followed the answers it is made of: in it E (x - p)^2 is v (1 - h), h = v var(margin) being the leverage
    (exact for a Gaussian prior and noise), and v is lessened by that in both mean squares.

    Standardised by the cube root of Wilson & Hilferty: z = (m^(1/3) - 1) 3/q + q/3, m the mean square over its
    expectation, q its standard deviation. Where all are pairs the expectation is 1 and q exact:
    q^2 = sum w^2 (mu4 - v^2) / (sum w v)^2, and for outfit sum w^2 (mu4 / v^2 - 1) / (sum w)^2. The implied pairs of
    one label depend on one another: with any larger set both come from answers to the same sets drawn from the fit
    (Plackett-Luce at the same utilities), which keeps that dependence, and
    allows for best-worst labels, whose mean squares run about 5% low as their pairs do not quite follow p.
    """
    unit = _unit(posterior)
    worth = unit * posterior.utilities()
    groups = [_kept(group) for group in data.groups()]
    sets = [_sets(posterior, data, group, unit) for group in groups if len(group.items)]
    observed = _Sums(data)
    for one in sets:
        observed.add(one, one.group.ranks)
    if all(one.group.size == 2 for one in sets):
        return Misfit(*(_exact(observed, sets, side) for side in SIDES))
    generator = np.random.default_rng(0) if rng is None else rng
    repeated = _repeated(data, sets, worth, generator)
    return Misfit(*(_simulated(observed, repeated, side) for side in SIDES))


def _kept(group: LabelGroup) -> LabelGroup:
    kept = group.weights > 0
    return LabelGroup(
        group.size,
        group.label[kept],
        group.annotators[kept],
        group.weights[kept],
        group.items[kept],
        group.ranks[kept],
        None if group.tied is None else group.tied[kept],
    )


def _unit(posterior: BasePosterior) -> float:
    """Return the factor to logits of an average annotator's answer where the order shown is known.

    That of the posterior averages over both orders, which the side effect that margins have here would count again.
    """
    without_side = replace(posterior.likelihood, side=0.0)
    return common_unit(replace(posterior, likelihood=without_side))  # type: ignore[type-var]


def _sets(posterior: BasePosterior, data: Comparisons, group: LabelGroup, unit: float) -> _Sets:
    first, second, worth = *np.triu_indices(group.size, 1), unit * posterior.utilities()
    left, right = group.items[:, first], group.items[:, second]
    margin, likelihood = worth[left] - worth[right], posterior.likelihood
    tied = np.zeros(margin.shape)
    if group.size == 2:
        margin = margin + unit * likelihood.side * (data.positions[data.starts[group.label]] >= 0)[:, None]
        if likelihood.tie:
            tied = likelihood.tie / (2 * np.cosh(margin / 2) + likelihood.tie)
        elif (group.ranks[:, 0] == group.ranks[:, 1]).any():
            tied += data.pairs().tie_rate()
    weight = (composite_weights(group.ranks) * group.weights)[:, None]
    made = _Sets(group, left, right, (1 - tied) * expit(margin), tied, weight, np.ones(margin.shape))
    leverage = made.variance * unit**2 * posterior.difference_variance(left, right)
    return replace(made, left_over=1 - np.minimum(leverage, MAX_LEVERAGE))


class _Sums:
    """Per item and per annotator, sums over the pairs told apart (a tie counts, in a pair), each by its weight.

    squares: w (x - p)^2.   information: w v.   scaled: w (x - p)^2 / v.   weight: w.   n: 1. v is what is left over of
    the variance.
    """

    def __init__(self, data: Comparisons) -> None:
        self.size = {"items": data.n_items, "annotators": data.n_annotators}
        self.total = {side: np.zeros((5, size)) for side, size in self.size.items()}

    def add(self, sets: _Sets, ranks: Ints) -> None:
        first, second = np.triu_indices(sets.group.size, 1)
        outcome = (1 + np.sign(ranks[:, second] - ranks[:, first])) / 2
        weight = np.where((outcome != 0.5) | (sets.group.size == 2), sets.weight, 0.0)
        squared, variance = (outcome - sets.mean) ** 2, sets.variance * sets.left_over
        parts = [
            weight * squared,
            weight * variance,
            weight * squared / variance,
            weight,
            (weight > 0).astype(np.float64),
        ]
        for side in SIDES:
            for row, values in zip(self.total[side], parts, strict=True):
                row += sum_by_side(sets, values, side, self.size[side])

    def mean_squares(self, side: str) -> tuple[Floats, Floats]:
        squares, information, scaled, weight, _ = self.total[side]
        return _ratio(squares, information), _ratio(scaled, weight)


def sum_by_side(sets: _Sets, values: Floats, side: str, n: int) -> Floats:
    """Return (n,) sums of values (n_labels, n_pairs) over the pairs of each item, or of each annotator."""
    if side == "annotators":
        return sum_by_group(sets.group.annotators, values.sum(axis=1), n)
    return sum_by_group(sets.left.ravel(), values.ravel(), n) + sum_by_group(sets.right.ravel(), values.ravel(), n)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)


def _exact(found: _Sums, sets: list[_Sets], side: str) -> MeanSquares:
    n = found.size[side]
    spread, scaled = np.zeros(n), np.zeros(n)
    for one in sets:
        fourth = one.fourth
        spread += sum_by_side(one, one.weight**2 * np.maximum(fourth - one.variance**2, 0.0), side, n)
        scaled += sum_by_side(one, one.weight**2 * np.maximum(fourth / one.variance**2 - 1, 0.0), side, n)
    information, weight = found.total[side][1], found.total[side][3]
    (infit, outfit), counts = found.mean_squares(side), found.total[side][4].astype(np.int64)
    return MeanSquares(
        infit,
        _standardised(infit, _ratio(np.sqrt(spread), information)),
        outfit,
        _standardised(outfit, _ratio(np.sqrt(scaled), weight)),
        counts,
    )


def _repeated(
    data: Comparisons, sets: list[_Sets], worth: Floats, rng: np.random.Generator
) -> dict[str, tuple[Floats, Floats, Floats, Floats]]:
    """Return, by side, means and standard deviations of infit and outfit over answers simulated from the fit."""
    cells = sum(one.left.size for one in sets)
    n_repeats = int(np.clip(MAX_DRAWN // max(cells, 1), MIN_REPEATS, N_REPEATS))
    known = [replace(one, left_over=np.ones(one.left.shape)) for one in sets]  # simulated answers have no leverage
    kept: dict[str, list[tuple[Floats, Floats]]] = {side: [] for side in SIDES}
    for _ in range(n_repeats):
        drawn = _Sums(data)
        for one in known:
            drawn.add(one, _drawn_ranks(one, worth, rng))
        for side in SIDES:
            kept[side].append(drawn.mean_squares(side))
    moments = {}
    for side, values in kept.items():
        both = np.array(values)  # (n_repeats, 2, n)
        mean, deviation = both.mean(axis=0), both.std(axis=0, ddof=1)
        moments[side] = (mean[0], deviation[0], mean[1], deviation[1])
    return moments


def _drawn_ranks(sets: _Sets, worth: Floats, rng: np.random.Generator) -> Ints:
    """Draw ranks of the same kinds from the fit, (n_labels, k)."""
    group = sets.group
    if group.size == 2:
        u = rng.random(len(group.items))[:, None]
        left, tie = u < sets.chance, u >= 1 - sets.tied
        return np.hstack([~left & ~tie, left & ~tie]).astype(np.int64)
    order = np.argsort(-(worth[group.items] + rng.gumbel(size=group.items.shape)), axis=1)
    ranks = np.empty_like(group.ranks)
    np.put_along_axis(ranks, order, np.sort(group.ranks, axis=1), axis=1)
    return ranks


def _simulated(found: _Sums, moments: dict[str, tuple[Floats, Floats, Floats, Floats]], side: str) -> MeanSquares:
    infit, outfit = found.mean_squares(side)
    infit_mean, infit_sd, outfit_mean, outfit_sd = moments[side]
    return MeanSquares(
        infit,
        _standardised(infit / infit_mean, infit_sd / infit_mean),
        outfit,
        _standardised(outfit / outfit_mean, outfit_sd / outfit_mean),
        found.total[side][4].astype(np.int64),
    )


def _standardised(mean_square: Floats, deviation: Floats) -> Floats:
    """Standardise by Wilson & Hilferty's cube root; 0 if the standard deviation is 0 (all pairs even)."""
    known = deviation > 1e-9
    q = np.where(known, deviation, 1.0)
    z = (np.cbrt(mean_square) - 1) * 3 / q + q / 3
    return np.where(known | np.isnan(mean_square), z, 0.0)
