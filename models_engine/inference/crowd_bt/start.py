"""Initial sites of EP for a crowd: at the mode, or those that reproduce an earlier posterior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.implied_pairs import nu_by_row
from models_engine.inference.crowd_bt.ep import WinSites, sweep_sites
from models_engine.inference.crowd_bt.graded_likelihood import both_ways, tie_terms
from models_engine.inference.crowd_bt.likelihood import normaliser
from models_engine.inference.crowd_bt.log_posterior import Point
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.scales import Scales

__all__ = ["sites_at_mode", "sites_from_margins"]

Floats = NDArray[np.float64]


def sites_at_mode(point: Point) -> WinSites:
    """Build Laplace's sites: each win's slope and curvature in its margin, so that prior times sites has the same mode.

    A win of negative curvature gets a hundredth of the curvature it would have if known which way round it is.
    """
    if point.target.cuts is not None:
        return _graded_sites_at_mode(point, point.target.cuts)
    pairs, evaluation = point.target.pairs, point.evaluation
    f, side, log_nu = point.target.split(point.x)
    z = pairs.graph.differences(f)[pairs.pair] + side * pairs.orientation
    d = pairs.sign * z[pairs.row]
    _, slope, curvature, _ = normaliser(d, nu_by_row(log_nu, pairs.wins_can_tie))
    precision = np.maximum(curvature - evaluation.crowd.spread, 0.01 * curvature)
    _, tie_slope, tie_curvature, _ = normaliser(z, log_nu)
    tied = (pairs.ties > 0).astype(np.float64)
    shift = evaluation.crowd.right - 0.5 - slope + precision * d
    return WinSites(precision, shift, tied * tie_curvature, tied * (tie_curvature * z - tie_slope))


def _graded_sites_at_mode(point: Point, cuts: Floats) -> WinSites:
    pairs, crowd = point.target.pairs, point.evaluation.crowd
    f, side, _ = point.target.split(point.x)
    z = pairs.graph.differences(f)[pairs.pair] + side * pairs.orientation
    kept, turned = both_ways(pairs, z, cuts)
    known = crowd.right * kept.bend + (1 - crowd.right) * turned.bend
    precision = np.maximum(known - crowd.spread * (kept.slope + turned.slope) ** 2, 0.01 * known)
    shift = crowd.right * kept.slope - (1 - crowd.right) * turned.slope + precision * pairs.sign * z[pairs.row]
    if cuts[0] == 0:  # there are no ties
        return WinSites(precision, shift, np.zeros(len(z)), np.zeros(len(z)))
    tie, tied = tie_terms(z, cuts), (pairs.ties > 0).astype(np.float64)
    return WinSites(precision, shift, tied * tie.bend, tied * (tie.bend * z + tie.slope))


@dataclass(frozen=True, eq=False)
class _EarlierMargins:
    """Margins under an earlier posterior."""

    row_means: Floats
    row_variances: Floats
    log_normaliser: float = 0.0


def sites_from_margins(pairs: NoisyPairs, means: Floats, variances: Floats, scales: Scales) -> WinSites:
    """Build the sites EP would end with if these means and variances of the margins, (n_rows,), were its fixed
    point.
    """
    known, sites, modes = _EarlierMargins(means, variances), WinSites.uniform(pairs), None
    for _ in range(2):  # the first time the margin itself is used in place of its cavity
        last = sweep_sites(pairs, known, sites, scales.reliability, scales.log_nu, modes, scales.cuts)
        sites, modes = last.sites, last.crowd.grid.modes
    return sites
