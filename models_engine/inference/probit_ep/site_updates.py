"""The sites of all annotators' answers: their natural parameters, and their update by moment matching."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.graded.cut_points import CutScores, thresholds, tie_scores
from models_engine.inference.probit_ep.interval_sites import IntervalMoments, interval_moments
from models_engine.inference.probit_ep.pair_sites import NO_TIE, PairSites
from models_engine.inference.probit_ep.probit_sites import SiteUpdate, probit_site

__all__ = ["Answering", "Sites", "cut_scores", "largest_change", "paired_parameters", "site_updates", "total_sites"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Answering(Protocol):
    """How annotators answer by their utilities; see CrowdPrior."""

    @property
    def steepness(self) -> Floats | None: ...
    @property
    def lapse(self) -> Floats | None: ...
    @property
    def cuts(self) -> Floats | None: ...
    @property
    def side(self) -> Floats | None: ...


@dataclass(frozen=True, eq=False)
class Sites:
    """Natural parameters of one copy of each site, exp(shift z - precision z^2 / 2). Arrays (n_sites,)."""

    precision: Floats
    shift: Floats

    @classmethod
    def empty(cls, n_sites: int) -> "Sites":
        return cls(np.zeros(n_sites), np.zeros(n_sites))


def paired_parameters(old: Sites, new: Sites) -> list[tuple[Floats, Floats]]:
    return [(old.precision, new.precision), (old.shift, new.shift)]


def largest_change(old: Sites, new: Sites) -> float:
    return max(float(np.abs(after - before).max(initial=0.0)) for before, after in paired_parameters(old, new))


def total_sites(sites: PairSites, current: Sites) -> Sites:
    """Return the sites with all their copies."""
    return Sites(sites.copies * current.precision, sites.copies * current.shift)


def site_updates(
    sites: PairSites, answering: Answering, current: Sites, margin: Floats, variance: Floats
) -> tuple[Sites, Floats]:
    """Return new sites, and each site's log normaliser minus the change of log partition from cavity to posterior."""
    cavity = _Cavity.of(sites, answering, current, margin, variance)
    log_normaliser, new_precision, new_shift = cavity.matched(sites, answering.cuts)
    precision, shift = cavity.whole
    partition = _log_partition(*cavity.rest) - _log_partition(precision, shift)
    steepness = cavity.steepness
    new_shift = new_shift - new_precision * cavity.offset  # exp(s (z + o) - p (z + o)^2 / 2) in z
    return Sites(steepness**2 * new_precision, steepness * new_shift), log_normaliser + partition


@dataclass(frozen=True, eq=False)
class _Cavity:
    """Natural parameters (precision, shift) of the margins, `whole`, and without one copy of the site, `rest`; mean and
    spread of the latter times the annotator's steepness, which with the lapse is that of each site, what the side adds
    (`offset`) included. All (n_sites,)."""

    whole: tuple[Floats, Floats]
    rest: tuple[Floats, Floats]
    mean: Floats
    spread: Floats
    steepness: Floats | float
    lapse: Floats | None
    offset: Floats | float

    @classmethod
    def of(cls, sites: PairSites, answering: Answering, current: Sites, margin: Floats, variance: Floats) -> "_Cavity":
        precision = 1 / np.maximum(variance, 1e-12)
        shift = precision * margin
        rest = np.maximum(precision - current.precision, 1e-12), shift - current.shift
        steepness = 1.0 if answering.steepness is None else answering.steepness[sites.annotator]
        lapse = None if answering.lapse is None else answering.lapse[sites.annotator]
        offset = 0.0 if answering.side is None or sites.side is None else sites.side * answering.side[sites.annotator]
        mean, spread = steepness * rest[1] / rest[0] + offset, steepness**2 / rest[0]
        return cls((precision, shift), rest, mean, spread, steepness, lapse, offset)

    def matched(self, sites: PairSites, cuts: Floats | None) -> SiteUpdate:
        """Return `probit_site` of all sites, graded ones by the intervals of their grades."""
        sharp = None if sites.ranking is None else sites.ranked
        if sites.grade is None or cuts is None:
            return probit_site(self.mean, self.spread, sites.wins, sites.losses, sharp, self.lapse)
        graded = _graded(sites, cuts)
        rows, found = np.flatnonzero(~graded), np.empty((3, len(sites)))
        if len(rows):
            some = (self.mean[rows], self.spread[rows], sites.wins[rows], sites.losses[rows])
            sharp = None if sharp is None else sharp[rows]
            found[:, rows] = probit_site(*some, sharp, None if self.lapse is None else self.lapse[rows])
        at, rows = self.between(sites, cuts, graded), np.flatnonzero(graded)
        sign, variance = _sign(sites)[rows], self.spread[rows]
        first, shrink = sign * at.first, 1 + variance * at.second
        shift = (first - self.mean[rows] * at.second) / shrink
        found[:, rows] = at.log_normaliser, -at.second / shrink, shift
        return found[0], found[1], found[2]

    def between(self, sites: PairSites, cuts: Floats, graded: NDArray[np.bool_]) -> IntervalMoments:
        """Return the moments of the graded sites, of the winner's margin."""
        some, rows = sites.select(graded), np.flatnonzero(graded)
        can_tie = _can_tie(some)
        low, high = thresholds(cuts, _grades(some), can_tie)
        tied = some.wins == some.losses
        low, high = np.where(tied, -cuts[0], low), np.where(tied, cuts[0], high)
        lapse = None if self.lapse is None else self.lapse[rows]
        exponent = some.wins + some.losses
        found = interval_moments(_sign(some) * self.mean[rows], self.spread[rows], low, high, exponent, lapse)
        return replace(found, by_low=can_tie * found.by_low)  # the end of the others is 0 and stays


def _graded(sites: PairSites, cuts: Floats) -> NDArray[np.bool_]:
    """Return which sites are intervals between cut points: all pairs, ties only where c_0 is above 0."""
    return ~sites.ranked & ((sites.wins != sites.losses) | (cuts[0] > 0))


def _grades(sites: PairSites) -> Ints:
    return np.zeros(len(sites), np.int64) if sites.grade is None else np.maximum(sites.grade, 0)


def _can_tie(sites: PairSites) -> NDArray[np.bool_]:
    return np.ones(len(sites), bool) if sites.grade is None else sites.grade != NO_TIE


def _sign(sites: PairSites) -> Floats:
    return np.where(sites.losses > sites.wins, -1.0, 1.0)


def cut_scores(
    sites: PairSites, answering: Answering, current: Sites, margin: Floats, variance: Floats
) -> CutScores | None:
    """Return the derivatives of the log evidence in the cut points, at a fixed point."""
    cuts = answering.cuts
    if sites.grade is None or cuts is None:
        return None
    graded = _graded(sites, cuts)
    at = _Cavity.of(sites, answering, current, margin, variance).between(sites, cuts, graded)
    some = sites.select(graded)
    tied = some.wins == some.losses
    won, weight = np.flatnonzero(~tied), some.copies
    wins = CutScores.of(len(cuts), _grades(some)[won], weight[won], at.by_low[won], at.by_high[won])
    return wins + tie_scores(len(cuts), weight[tied], at.by_high[tied] - at.by_low[tied])


def _log_partition(precision: Floats, shift: Floats) -> Floats:
    return shift**2 / (2 * precision) - np.log(precision) / 2
