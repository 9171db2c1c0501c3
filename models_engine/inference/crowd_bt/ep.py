"""Expectation propagation for noisy pairs: Gaussian sites for margins, exact messages about reliabilities."""

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.implied_pairs import nu_by_row
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior, Reliabilities, build_grid, integrate_reliabilities
from models_engine.inference.crowd_bt.wins import WinShard, keep_wins
from models_engine.inference.davidson.moments import average_answers
from models_engine.inference.graded.cut_points import CutScores, thresholds, tie_scores
from models_engine.inference.graded.moments import GradedMoments, average_between
from models_engine.linalg import sum_by_group

__all__ = ["MarginMoments", "Sweep", "WinSites", "sweep_sites"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TINY = 1e-300


class MarginMoments(Protocol):
    """Moments of the margins, as a sweep reads them from a belief."""

    @property
    def row_means(self) -> Floats: ...
    @property
    def row_variances(self) -> Floats: ...
    @property
    def log_normaliser(self) -> float: ...


@dataclass(frozen=True, eq=False)
class WinSites:
    """Sites exp(-precision d^2/2 + shift d) for one copy of each win (d: the winner's margin) and of each row's tie.

    A label of weight w is w copies of its factor that share a site.
    precision, shift (n_wins,); tie_precision, tie_shift (n_rows,), 0 where a row has no tie.
    """

    precision: Floats
    shift: Floats
    tie_precision: Floats
    tie_shift: Floats

    @classmethod
    def uniform(cls, pairs: NoisyPairs) -> "WinSites":
        """Return sites with zero precision and shift."""
        return cls(np.zeros(pairs.n_wins), np.zeros(pairs.n_wins), np.zeros(pairs.n_rows), np.zeros(pairs.n_rows))

    def by_row(self, pairs: NoisyPairs) -> tuple[Floats, Floats]:
        """Return precision and shift of each row's margin, summed over all copies, (n_rows,) each."""
        precision = (
            sum_by_group(pairs.row, pairs.weight * self.precision, pairs.n_rows) + pairs.ties * self.tie_precision
        )
        shift = (
            sum_by_group(pairs.row, pairs.weight * pairs.sign * self.shift, pairs.n_rows) + pairs.ties * self.tie_shift
        )
        return precision, shift

    def vector(self) -> Floats:
        return np.concatenate([getattr(self, field.name) for field in fields(self)])

    def like(self, vector: Floats) -> "WinSites":
        """Return sites of the same sizes from a vector."""
        ends = np.cumsum([len(getattr(self, field.name)) for field in fields(self)])
        return WinSites(*np.split(vector[: ends[-1]], ends[:-1]))


@dataclass(frozen=True, eq=False)
class Sweep:
    """Result of one parallel update: new sites, the reliabilities, and what learning the scales needs.

    crowd: of the annotators alone (see `Reliabilities.without_wins`).
    expected_precisions (n_rows,): the sites' precisions averaged over who wins; never negative.
    log_evidence: of the old sites; EP's approximation of log P(labels), stationary in the sites at convergence.
    score_nu, curvature_nu: its first derivative in log nu, and approximately minus its second.
    cuts: the same in the cut points of graded answers, None where there are none.
    """

    sites: WinSites
    crowd: Reliabilities
    expected_precisions: Floats
    log_evidence: float
    score_nu: float
    curvature_nu: float
    cuts: CutScores | None = None


def sweep_sites(
    pairs: NoisyPairs,
    belief: MarginMoments,
    sites: WinSites,
    reliability: BetaPrior,
    log_nu: float,
    modes: Floats | None = None,
    cuts: Floats | None = None,
) -> Sweep:
    """Update every site at once. modes (n_annotators,): log-odds to start the reliabilities' grids from.

    A win's factor is eta g(d) + (1 - eta) g(-d), g as in davidson/moments.py or, with cut points (n_grades,), the
    grade's probability as in graded/moments.py; log_nu then does not count. Averaged over the cavity of d it is a
    linear message about eta; averaged over the cavity of eta, the mixture whose first two moments the new site matches.
    Wins are updated annotator by annotator, in shards (see wins.py), on the cluster where there is one.
    """
    kept = keep_wins(pairs)
    do, mean, variance = kept.executor, belief.row_means, belief.row_variances
    before = do.keep(
        [
            (sites.precision[one.wins], sites.shift[one.wins], None if modes is None else modes[one.annotators])
            for one in kept.shards
        ]
    )
    margins = do.share((mean, variance))
    found: _SweptWins = do.map_reduce(
        _sweep_wins, _SweptWins.followed_by, kept.handles, before, shared=[margins, reliability, log_nu, cuts]
    )
    ties = _sweep_ties(pairs, mean, variance, sites, log_nu, cuts)
    return Sweep(
        sites=WinSites(found.precision, found.shift, ties.precision, ties.shift),
        crowd=found.crowd,
        expected_precisions=found.expected + pairs.ties * ties.precision,
        log_evidence=float(belief.log_normaliser + found.crowd.log_annotators.sum() + found.evidence + ties.evidence),
        score_nu=ties.score - found.score,
        curvature_nu=ties.curve + found.curve,
        cuts=found.cuts if found.cuts is None or ties.cuts is None else found.cuts + ties.cuts,
    )


@dataclass(frozen=True, eq=False)
class _SweptWins:
    """New sites of the wins of some annotators (n_wins,), what was found about these, and sums over the wins.

    expected (n_rows,): see Sweep.   evidence: beside that of the annotators.   score, curve: in log nu.
    """

    precision: Floats
    shift: Floats
    crowd: Reliabilities
    expected: Floats
    evidence: float
    score: float
    curve: float
    cuts: CutScores | None

    def followed_by(self, others: "_SweptWins") -> "_SweptWins":
        """Return these wins and then the others, and the sums of both."""
        return _SweptWins(
            np.concatenate([self.precision, others.precision]),
            np.concatenate([self.shift, others.shift]),
            self.crowd.followed_by(others.crowd),
            self.expected + others.expected,
            self.evidence + others.evidence,
            self.score + others.score,
            self.curve + others.curve,
            None if self.cuts is None or others.cuts is None else self.cuts + others.cuts,
        )


def _sweep_wins(
    wins: WinShard,
    before: tuple[Floats, Floats, Floats | None],
    margins: tuple[Floats, Floats],
    reliability: BetaPrior,
    log_nu: float,
    cuts: Floats | None,
) -> _SweptWins:
    """Update the sites of these wins. before: their precision and shift, and modes of their annotators' grids.
    margins: mean and variance of every row's.
    """
    (old_precision, old_shift, modes), (mean, variance) = before, margins
    cavity = _Cavity.of(
        wins.sign * mean[wins.row], variance[wins.row], old_precision, old_shift, np.minimum(wins.weight, 1.0)
    )
    if cuts is None:
        win = _win_moments(cavity, nu_by_row(log_nu, wins.can_tie))
    else:
        win = _graded_moments(cavity, wins, cuts)
    log_ratio = np.log(np.maximum(win.right[0], TINY)) - np.log(np.maximum(win.wrong[0], TINY))
    crowd = integrate_reliabilities(wins, log_ratio, build_grid(reliability, wins, log_ratio, modes), reliability)
    eta = _leave_out_own_win(crowd, log_ratio, wins)
    won, lost = eta * win.right + (1 - eta) * win.wrong, (1 - eta) * win.right + eta * win.wrong
    precision, shift, log_site = cavity.matched(won, old_precision, old_shift)
    other, _, _ = cavity.matched(lost, old_precision, old_shift)
    expected = (won[0] * precision + lost[0] * other) / np.maximum(won[0] + lost[0], TINY)
    by_tie, by_low, by_high = (eta * win.by_scale[0] + (1 - eta) * win.by_scale[1]) / np.maximum(won[0], TINY)
    evidence = wins.weight @ (np.log(np.maximum(win.right[0] + win.wrong[0], TINY)) - log_site)
    return _SweptWins(
        precision,
        shift,
        crowd.without_wins(),
        sum_by_group(wins.row, wins.weight * np.maximum(expected, 0.0), wins.n_rows),
        float(evidence),
        float(wins.weight @ by_tie),
        float(wins.weight @ (by_tie * (1 - by_tie))),
        None if cuts is None else CutScores.of(len(cuts), wins.grade, wins.weight, by_low, by_high),
    )


@dataclass(frozen=True, eq=False)
class _WinMoments:
    """right, wrong (3, n_wins): averages of g(d) and g(-d) and their derivatives in the mean. by_scale (2, 3, n_wins):
    of both averages, minus the derivative in log nu, and the derivatives in the lower and the upper threshold.
    """

    right: Floats
    wrong: Floats
    by_scale: Floats


def _win_moments(cavity: "_Cavity", log_nu: Floats | float) -> _WinMoments:
    found = average_answers(cavity.mean, cavity.variance, log_nu)
    none = np.zeros_like(found.tied_right)
    by_scale = np.array([[found.tied_right, none, none], [found.tied_wrong, none, none]])
    return _WinMoments(found.right, found.wrong, by_scale)


def _graded_moments(cavity: "_Cavity", wins: WinShard, cuts: Floats) -> _WinMoments:
    low, high = thresholds(cuts, wins.grade, wins.can_tie)
    moving = 1.0 if wins.can_tie is None else wins.can_tie  # the threshold of the others is 0 and stays

    def by_scale(found: GradedMoments) -> list[Floats]:
        return [np.zeros(wins.n_wins), moving * found.by_low, found.by_high]

    right = average_between(cavity.mean, cavity.variance, low, high)
    wrong = average_between(-cavity.mean, cavity.variance, low, high).reversed
    return _WinMoments(right.between, wrong.between, np.array([by_scale(right), by_scale(wrong)]))


@dataclass(frozen=True, eq=False)
class _Ties:
    precision: Floats
    shift: Floats
    evidence: float = 0.0
    score: float = 0.0
    curve: float = 0.0
    cuts: CutScores | None = None


def _sweep_ties(
    pairs: NoisyPairs, mean: Floats, variance: Floats, sites: WinSites, log_nu: float, cuts: Floats | None
) -> _Ties:
    """Update the sites of the rows' ties, whose factor does not depend on reliability: nu / (2 cosh(d/2) + nu), or
    that d plus noise is within c_0 of 0.
    """
    rows = np.flatnonzero(pairs.ties > 0)
    if not len(rows):
        return _Ties(sites.tie_precision, sites.tie_shift)
    weight, old_precision, old_shift = pairs.ties[rows], sites.tie_precision[rows], sites.tie_shift[rows]
    cavity = _Cavity.of(mean[rows], variance[rows], old_precision, old_shift, np.minimum(weight, 1.0))
    precision, shift = sites.tie_precision.copy(), sites.tie_shift.copy()
    if cuts is None:
        moments = average_answers(cavity.mean, cavity.variance, log_nu)
        tie, share = moments.tie, moments.tied_tie / np.maximum(moments.tie[0], TINY)
        of_cuts = None
    else:
        end = np.full(len(rows), max(float(cuts[0]), TINY))
        graded = average_between(cavity.mean, cavity.variance, -end, end)
        tie, share = graded.between, np.ones(len(rows))
        by_cut = (graded.by_high - graded.by_low) / np.maximum(tie[0], TINY)
        of_cuts = tie_scores(len(cuts), weight, by_cut)
    precision[rows], shift[rows], log_site = cavity.matched(tie, old_precision, old_shift)
    return _Ties(
        precision,
        shift,
        float(weight @ (np.log(np.maximum(tie[0], TINY)) - log_site)),
        float(weight @ (1 - share)),
        float(weight @ (share * (1 - share))),
        of_cuts,
    )


def _leave_out_own_win(crowd: Reliabilities, log_ratio: Floats, wins: WinShard) -> Floats:
    """Return the mean reliability given the annotator's other wins, (n_wins,): the odds of `right` over the win's odds.

    A win of weight w < 1 removes only the share w of itself.
    """
    right = np.clip(crowd.right, 1e-15, 1 - 1e-15)
    log_odds = np.log(right) - np.log1p(-right) - log_ratio
    share = np.minimum(wins.weight, 1.0)
    if (share < 1).any():
        mean = np.clip((crowd.mass * crowd.eta).sum(axis=1), 1e-15, 1 - 1e-15)[wins.annotator]
        log_odds = share * log_odds + (1 - share) * (np.log(mean) - np.log1p(-mean))
    return 1 / (1 + np.exp(-np.clip(log_odds, -500.0, 500.0)))


@dataclass(frozen=True, eq=False)
class _Cavity:
    """Cavity distributions of margins (one copy of their own site removed), (n,); usable: where that is
    normalisable.
    """

    mean: Floats
    variance: Floats
    usable: NDArray[np.bool_]

    @classmethod
    def of(cls, mean: Floats, variance: Floats, precision: Floats, shift: Floats, copies: Floats) -> "_Cavity":
        cavity_precision = 1 / variance - copies * precision
        usable = cavity_precision * variance > 1e-3
        cavity = np.where(usable, 1 / np.where(usable, cavity_precision, 1.0), variance)
        return cls(np.where(usable, cavity * (mean / variance - copies * shift), mean), cavity, usable)

    def matched(self, moments: Floats, old_precision: Floats, old_shift: Floats) -> tuple[Floats, Floats, Floats]:
        """Match moments: return (precision, shift) of the new site, and the log integral of cavity times old site.

        Cavity times new site has the mean and variance of the tilted distribution. moments (3, n): Z of the factor and
        its derivatives in the cavity mean (Minka 2001).
        """
        z = np.maximum(moments[0], TINY)
        slope = moments[1] / z
        curve = moments[2] / z - slope**2
        shrink = np.maximum(1 + self.variance * curve, 1e-3)  # tilted over cavity variance
        precision = np.maximum(np.where(self.usable, -curve / shrink, old_precision), -0.5 / self.variance)
        shift = np.where(self.usable, slope + precision * (self.mean + self.variance * slope), old_shift)
        variance = 1 / (1 / self.variance + np.maximum(old_precision, -0.9 / self.variance))
        mean = variance * (self.mean / self.variance + old_shift)
        log_site = (np.log(variance / self.variance) + mean**2 / variance - self.mean**2 / self.variance) / 2
        return precision, shift, log_site
