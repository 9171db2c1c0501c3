"""Where EP for a crowd begins: sites at the mode, or sites that reproduce an earlier posterior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.crowd_scales import Scales
from models_engine.inference.mirrored import MirroredPairs
from models_engine.inference.mirrored_ep import Sites, sweep
from models_engine.inference.mirrored_likelihood import normaliser
from models_engine.inference.mirrored_posterior import Point

__all__ = ["sites_at_mode", "sites_of_margins"]

Floats = NDArray[np.float64]


def sites_at_mode(point: Point) -> Sites:
    """Laplace's sites: each win's own slope and bend in its margin, so that prior times sites peaks at the mode.

    A win that bends the wrong way is given a hundredth of its bend were it known to be the right way round.
    """
    pairs, evaluation = point.target.pairs, point.evaluation
    f, side, log_nu = point.target.split(point.x)
    z = pairs.graph.differences(f)[pairs.pair] + side * pairs.orientation
    d = pairs.sign * z[pairs.row]
    _, slope, bend, _ = normaliser(d, log_nu)
    own = np.maximum(bend - evaluation.crowd.spread, 0.01 * bend)
    _, tie_slope, tie_bend, _ = normaliser(z, log_nu)
    tied = (pairs.ties > 0).astype(np.float64)
    pull = evaluation.crowd.right - 0.5 - slope + own * d
    return Sites(own, pull, tied * tie_bend, tied * (tie_bend * z - tie_slope))


@dataclass(frozen=True, eq=False)
class _Known:
    """Margins as an earlier posterior knows them."""

    row_means: Floats
    row_variances: Floats
    log_normaliser: float = 0.0


def sites_of_margins(pairs: MirroredPairs, means: Floats, variances: Floats, scales: Scales) -> Sites:
    """Sites as EP would leave them if these (n_rows,) means and variances of the margins were its fixed point."""
    known, sites, modes = _Known(means, variances), Sites.flat(pairs), None
    for _ in range(2):  # the first time the margin itself stands in for its cavity
        last = sweep(pairs, known, sites, scales.reliability, scales.log_nu, modes)
        sites, modes = last.sites, last.crowd.grid.modes
    return sites
