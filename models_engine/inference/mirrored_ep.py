"""Expectation propagation for mirrored pairs: Gaussian sites for margins, exact messages about reliabilities."""

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.davidson_moments import answer_moments
from models_engine.inference.mirrored import MirroredPairs
from models_engine.inference.reliability import BetaPrior, Reliabilities, grid_of, over_reliability
from models_engine.linalg import sums

__all__ = ["Margins", "Sites", "Sweep", "sweep"]

Floats = NDArray[np.float64]
TINY = 1e-300


class Margins(Protocol):
    """What a sweep needs to know of a belief."""

    @property
    def row_means(self) -> Floats: ...
    @property
    def row_variances(self) -> Floats: ...
    @property
    def log_normaliser(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Sites:
    """exp(-bend d^2/2 + pull d) for one copy of each win, d the winner's margin, and of each row's tie, d the row's.

    A label of weight w is w copies of its factor that share a site.
    bend, pull (n_wins,); tie_bend, tie_pull (n_rows,), 0 where a row has no tie.
    """

    bend: Floats
    pull: Floats
    tie_bend: Floats
    tie_pull: Floats

    @classmethod
    def flat(cls, pairs: MirroredPairs) -> "Sites":
        """Sites that say nothing."""
        return cls(np.zeros(pairs.n_wins), np.zeros(pairs.n_wins), np.zeros(pairs.n_rows), np.zeros(pairs.n_rows))

    def by_row(self, pairs: MirroredPairs) -> tuple[Floats, Floats]:
        """(n_rows,) bend and pull of each row's margin, all copies."""
        bend = sums(pairs.row, pairs.weight * self.bend, pairs.n_rows) + pairs.ties * self.tie_bend
        pull = sums(pairs.row, pairs.weight * pairs.sign * self.pull, pairs.n_rows) + pairs.ties * self.tie_pull
        return bend, pull

    def vector(self) -> Floats:
        return np.concatenate([getattr(self, field.name) for field in fields(self)])

    def like(self, vector: Floats) -> "Sites":
        """Sites of this shape out of a vector."""
        ends = np.cumsum([len(getattr(self, field.name)) for field in fields(self)])
        return Sites(*np.split(vector[: ends[-1]], ends[:-1]))


@dataclass(frozen=True, eq=False)
class Sweep:
    """What one parallel update gives: new sites, the reliabilities, and what learning the scales needs.

    expected_bends (n_rows,): what the sites' bends are on average over who wins, given what is known; never negative.
    log_evidence: of the old sites; EP's approximation of log P(labels), stationary in the sites where EP has converged.
    score_nu, bend_nu: its first derivative in log nu, and roughly minus its second.
    """

    sites: Sites
    crowd: Reliabilities
    expected_bends: Floats
    log_evidence: float
    score_nu: float
    bend_nu: float


def sweep(
    pairs: MirroredPairs,
    belief: Margins,
    sites: Sites,
    reliability: BetaPrior,
    log_nu: float,
    modes: Floats | None = None,
) -> Sweep:
    """Update every site at once. modes (n_annotators,): log-odds to start the reliabilities' grids from.

    A win's factor is eta g(d) + (1 - eta) g(-d), g as in davidson_moments. Averaged over the cavity of d it is a
    linear message about eta; averaged over the cavity of eta, the mixture whose first two moments the new site matches.
    """
    mean, variance = belief.row_means, belief.row_variances
    cavity = _Cavity.of(
        pairs.sign * mean[pairs.row], variance[pairs.row], sites.bend, sites.pull, np.minimum(pairs.weight, 1.0)
    )
    win = answer_moments(cavity.mean, cavity.variance, log_nu)
    log_ratio = np.log(np.maximum(win.right[0], TINY)) - np.log(np.maximum(win.wrong[0], TINY))
    crowd = over_reliability(pairs, log_ratio, grid_of(reliability, pairs, log_ratio, modes), reliability)
    eta = _without_own(crowd, log_ratio, pairs)
    won, lost = eta * win.right + (1 - eta) * win.wrong, (1 - eta) * win.right + eta * win.wrong
    bend, pull, log_site = cavity.matched(won, sites.bend, sites.pull)
    other, _, _ = cavity.matched(lost, sites.bend, sites.pull)
    expected = (won[0] * bend + lost[0] * other) / np.maximum(won[0] + lost[0], TINY)
    tied = eta * win.tied_right + (1 - eta) * win.tied_wrong
    tied /= np.maximum(won[0], TINY)
    evidence = pairs.weight @ (np.log(np.maximum(win.right[0] + win.wrong[0], TINY)) - log_site)
    ties = _sweep_ties(pairs, mean, variance, sites, log_nu)
    return Sweep(
        sites=Sites(bend, pull, ties.bend, ties.pull),
        crowd=crowd,
        expected_bends=sums(pairs.row, pairs.weight * np.maximum(expected, 0.0), pairs.n_rows) + pairs.ties * ties.bend,
        log_evidence=float(belief.log_normaliser + crowd.log_annotators.sum() + evidence + ties.evidence),
        score_nu=float(ties.score - pairs.weight @ tied),
        bend_nu=float(ties.curve + pairs.weight @ (tied * (1 - tied))),
    )


@dataclass(frozen=True, eq=False)
class _Ties:
    bend: Floats
    pull: Floats
    evidence: float = 0.0
    score: float = 0.0
    curve: float = 0.0


def _sweep_ties(pairs: MirroredPairs, mean: Floats, variance: Floats, sites: Sites, log_nu: float) -> _Ties:
    """The same for the rows' ties, whose factor nu / (2 cosh(d/2) + nu) knows no reliability."""
    rows = np.flatnonzero(pairs.ties > 0)
    if not len(rows):
        return _Ties(sites.tie_bend, sites.tie_pull)
    weight, old_bend, old_pull = pairs.ties[rows], sites.tie_bend[rows], sites.tie_pull[rows]
    cavity = _Cavity.of(mean[rows], variance[rows], old_bend, old_pull, np.minimum(weight, 1.0))
    moments = answer_moments(cavity.mean, cavity.variance, log_nu)
    bend, pull = sites.tie_bend.copy(), sites.tie_pull.copy()
    bend[rows], pull[rows], log_site = cavity.matched(moments.tie, old_bend, old_pull)
    z = np.maximum(moments.tie[0], TINY)
    share = moments.tied_tie / z
    return _Ties(
        bend,
        pull,
        float(weight @ (np.log(z) - log_site)),
        float(weight @ (1 - share)),
        float(weight @ (share * (1 - share))),
    )


def _without_own(crowd: Reliabilities, log_ratio: Floats, pairs: MirroredPairs) -> Floats:
    """(n_wins,) mean reliability given the annotator's other wins: the odds of `right` over the win's own odds.

    A win of weight w < 1 takes only the share w of itself out.
    """
    right = np.clip(crowd.right, 1e-15, 1 - 1e-15)
    log_odds = np.log(right) - np.log1p(-right) - log_ratio
    share = np.minimum(pairs.weight, 1.0)
    if (share < 1).any():
        mean = np.clip((crowd.mass * crowd.eta).sum(axis=1), 1e-15, 1 - 1e-15)[pairs.annotator]
        log_odds = share * log_odds + (1 - share) * (np.log(mean) - np.log1p(-mean))
    return 1 / (1 + np.exp(-np.clip(log_odds, -500.0, 500.0)))


@dataclass(frozen=True, eq=False)
class _Cavity:
    """Margins with one copy of their own site taken out, (n,); usable: where that is a distribution."""

    mean: Floats
    variance: Floats
    usable: NDArray[np.bool_]

    @classmethod
    def of(cls, mean: Floats, variance: Floats, bend: Floats, pull: Floats, copies: Floats) -> "_Cavity":
        precision = 1 / variance - copies * bend
        usable = precision * variance > 1e-3
        cavity = np.where(usable, 1 / np.where(usable, precision, 1.0), variance)
        return cls(np.where(usable, cavity * (mean / variance - copies * pull), mean), cavity, usable)

    def matched(self, moments: Floats, old_bend: Floats, old_pull: Floats) -> tuple[Floats, Floats, Floats]:
        """(bend, pull) such that cavity times site has the tilted mean and variance, and the log of the integral of
        cavity times old site. moments (3, n): of the factor, Z and its derivatives in the cavity mean (Minka 2001).
        """
        z = np.maximum(moments[0], TINY)
        slope = moments[1] / z
        curve = moments[2] / z - slope**2
        shrink = np.maximum(1 + self.variance * curve, 1e-3)  # tilted over cavity variance
        bend = np.maximum(np.where(self.usable, -curve / shrink, old_bend), -0.5 / self.variance)
        pull = np.where(self.usable, slope + bend * (self.mean + self.variance * slope), old_pull)
        variance = 1 / (1 / self.variance + np.maximum(old_bend, -0.9 / self.variance))
        mean = variance * (self.mean / self.variance + old_pull)
        log_site = (np.log(variance / self.variance) + mean**2 / variance - self.mean**2 / self.variance) / 2
        return bend, pull, log_site
