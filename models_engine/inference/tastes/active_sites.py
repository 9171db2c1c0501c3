"""EP on a few active sites while all other sites are fixed: the cost depends on the number of active sites only."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.executor import map_in_threads
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.annotator_solves import solve_block
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites, largest_change, site_updates

__all__ = [
    "ActiveResult",
    "ActiveSites",
    "AnnotatorSites",
    "FixedPoint",
    "rows_by_annotator",
    "run_active_ep",
    "solve_kept_sites",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A fixed point of EP: t ~ N(mean, covariance) with all tastes N(0, taste) integrated out.

    lapse, side (n_annotators,), cuts (n_grades,) or None: as in CrowdPrior, for everybody of the active sites.
    """

    taste: Floats
    mean: Floats
    covariance: Floats
    lapse: Floats | None = None
    cuts: Floats | None = None
    side: Floats | None = None

    @property
    def steepness(self) -> None:
        """Return None: answers follow utilities equally steeply."""
        return None


@dataclass(frozen=True, eq=False)
class AnnotatorSites:
    """An annotator's fixed sites in local coordinates: B f = f[items], or f[items] - f[others] where given.

    residual (d,) e, information (d, d) E and transfer (d, d) D of `LocalSolution`, at the fixed point.   rows: of the
    sites; in item space their margins are local coordinates `first` minus `second`, otherwise the local coordinates.
    """

    rows: Ints
    items: Ints
    others: Ints | None
    first: Ints | None
    second: Ints | None
    residual: Floats
    information: Floats
    transfer: Floats

    def project(self, utilities: Floats) -> Floats:
        """Project utilities (..., n_items) to local coordinates B f (..., d)."""
        return utilities[..., self.items] - (0.0 if self.others is None else utilities[..., self.others])

    def margins(self, local: Floats) -> Floats:
        """Return the margins of the sites, (len(rows),), from local coordinates (d,)."""
        wide = local if self.first is None or self.second is None else local[self.first] - local[self.second]
        return wide[: len(self.rows)]

    def to_items(self, local: Floats, n_items: int) -> Floats:
        """Multiply each row of `local` (k, d) by B', (k, n_items)."""
        result = np.zeros((len(local), n_items))
        for row, values in zip(result, local, strict=True):
            np.add.at(row, self.items, values)
            if self.others is not None:
                np.subtract.at(row, self.others, values)
        return result


def solve_kept_sites(sites: PairSites, values: Sites, fixed_point: FixedPoint) -> dict[int, AnnotatorSites]:
    """Solve each annotator of `sites` at the fixed point; values: natural parameters of one copy of each site."""
    total = Sites(sites.copies * values.precision, sites.copies * values.shift)
    blocks, found = build_blocks(sites), {}
    solved = map_in_threads(
        lambda one: solve_block(one, fixed_point.taste, fixed_point.mean, total.precision, total.shift), blocks
    )
    for block, local in zip(blocks, solved, strict=True):
        for row, annotator in enumerate(block.annotators):
            others, first, second = (
                None if part is None else part[row] for part in (block.others, block.first, block.second)
            )
            found[int(annotator)] = AnnotatorSites(
                block.site[row][block.real[row]],
                block.items[row],
                others,
                first,
                second,
                local.residual[row],
                local.information[row],
                local.transfer[row],
            )
    return found


@dataclass(frozen=True, eq=False)
class ActiveSites:
    """Joint Gaussian of the margins z = d'(t + h_u) of the active sites at the fixed point, d the site's difference.

    taste_side (k, n_items): d' Sigma.   gain (k, n_items): g = d - B'E B Sigma d, so that a change x of t moves the
    mean margin by g'x.   own (k, k): covariance given t, 0 between annotators.   mean (k,): of the margins.
    """

    sites: PairSites
    taste_side: Floats
    gain: Floats
    own: Floats
    mean: Floats

    @classmethod
    def of(cls, sites: PairSites, annotators: dict[int, AnnotatorSites], fixed_point: FixedPoint) -> "ActiveSites":
        k, n = len(sites), sites.n_items
        rows = np.arange(k)
        gain = np.zeros((k, n))
        gain[rows, sites.low], gain[rows, sites.high] = 1.0, -1.0
        taste_side = fixed_point.taste[sites.low] - fixed_point.taste[sites.high]
        mean, own = fixed_point.mean[sites.low] - fixed_point.mean[sites.high], np.zeros((k, k))
        for annotator, own_rows in rows_by_annotator(sites).items():
            among = taste_side[own_rows]
            covariance = among[:, sites.low[own_rows]] - among[:, sites.high[own_rows]]
            if annotator in annotators:
                one = annotators[annotator]
                reach = one.project(among)
                known_part = reach @ one.information
                covariance = covariance - known_part @ reach.T
                gain[own_rows] -= one.to_items(known_part, n)
                mean[own_rows] += reach @ one.residual
            own[np.ix_(own_rows, own_rows)] = (covariance + covariance.T) / 2
        return cls(sites, taste_side, gain, own, mean)


def rows_by_annotator(sites: PairSites) -> dict[int, Ints]:
    """Return the rows of each annotator's sites."""
    who, start = np.unique(sites.annotator, return_index=True)
    return dict(zip(who.tolist(), np.split(np.arange(len(sites)), start[1:]), strict=True))


@dataclass(frozen=True, eq=False)
class ActiveResult:
    """EP's fixed point after the active sites were updated.

    sites: of one copy each.   shift_change (k,), precision_change (k, k): changes of the sites' effect on the margins
    since the earlier fixed point; local_precision_change (k, k): the same given t, 0 between annotators.
    mean, covariance: of t.   move (n_items,): change of its mean.   gain: of log evidence.
    """

    sites: Sites
    shift_change: Floats
    precision_change: Floats
    local_precision_change: Floats
    mean: Floats
    covariance: Floats
    move: Floats
    gain: float
    n_iterations: int
    change: float


def run_active_ep(
    active: ActiveSites,
    before: Sites,
    copies_before: Floats,
    fixed_point: FixedPoint,
    *,
    tolerance: float,
    max_iterations: int = 50,
    on_iteration: Callable[[float], None],
) -> ActiveResult:
    """Run EP on the active sites alone. before, copies_before (k,): their part in the fixed point, 0 for new sites.

    With z ~ N(m, K) at the fixed point and sites that add precision P and shift b to it: covariance K (I + P K)^-1.
    """
    sites, identity = active.sites, np.eye(len(active.sites))
    shared = active.gain @ fixed_point.covariance
    prior = shared @ active.gain.T + active.own
    current, change, damping, iteration = before, np.inf, 1.0, 0
    while True:
        added = sites.copies * current.precision - copies_before * before.precision
        shift = sites.copies * current.shift - copies_before * before.shift
        inverse = np.linalg.inv(identity + added[:, None] * prior)
        shift_change = inverse @ (shift - added * active.mean)
        covariance = prior @ inverse
        margin, variance = active.mean + prior @ shift_change, np.diagonal(covariance)
        update, corrections = site_updates(sites, fixed_point, current, margin, variance)
        last, change = change, largest_change(current, update)
        on_iteration(change)
        if change < tolerance or iteration == max_iterations:
            break
        iteration += 1
        damping = 0.5 if iteration > 5 and change > 0.9 * last else damping
        current = Sites(
            current.precision + damping * (update.precision - current.precision),
            current.shift + damping * (update.shift - current.shift),
        )
    precision_change = inverse * added
    local_precision_change = np.linalg.inv(identity + added[:, None] * active.own) * added
    corrections_before = site_updates(sites, fixed_point, before, active.mean, np.diagonal(prior))[1]
    tilt = shift - added * active.mean
    gain = tilt @ covariance @ tilt / 2 + shift @ active.mean - added @ active.mean**2 / 2
    gain += np.linalg.slogdet(inverse)[1] / 2 + sites.copies @ corrections - copies_before @ corrections_before
    move = shift_change @ shared
    after = fixed_point.covariance - shared.T @ ((precision_change + precision_change.T) / 2) @ shared
    return ActiveResult(
        current,
        shift_change,
        precision_change,
        local_precision_change,
        fixed_point.mean + move,
        (after + after.T) / 2,
        move,
        float(gain),
        iteration,
        change,
    )
