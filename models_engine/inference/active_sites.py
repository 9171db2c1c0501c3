"""EP on a few sites of a crowd while all others are kept: what a few labels change, in time set by those few."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.annotator_blocks import blocks_of
from models_engine.inference.annotator_solves import solve_block
from models_engine.inference.batched_ep import Sites, largest_change, site_updates
from models_engine.inference.pair_sites import PairSites
from models_engine.inference.threads import in_threads

__all__ = ["Active", "Known", "Person", "Settled", "people_of", "rows_of", "settle"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Known:
    """A fixed point of EP: t ~ N(mean, covariance) with all tastes N(0, taste) integrated out."""

    taste: Floats
    mean: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Person:
    """What an annotator's kept sites say, in local coordinates: B f = f[items], or f[items] - f[others] where given.

    residual (d,) e, information (d, d) E and transfer (d, d) D of `Locals`, at the fixed point. rows: of the sites;
    in item space their margins are local coordinates `first` less `second`, otherwise the local coordinates.
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
        """(..., d) B f, of utilities (..., n_items)."""
        return utilities[..., self.items] - (0.0 if self.others is None else utilities[..., self.others])

    def margins(self, local: Floats) -> Floats:
        """(len(rows),) margins of the sites, of local coordinates (d,)."""
        wide = local if self.first is None or self.second is None else local[self.first] - local[self.second]
        return wide[: len(self.rows)]

    def back(self, local: Floats, n_items: int) -> Floats:
        """(k, n_items) B' of each row of `local` (k, d)."""
        result = np.zeros((len(local), n_items))
        for row, values in zip(result, local, strict=True):
            np.add.at(row, self.items, values)
            if self.others is not None:
                np.subtract.at(row, self.others, values)
        return result


def people_of(sites: PairSites, values: Sites, known: Known) -> dict[int, Person]:
    """Each annotator of `sites`, solved at the fixed point; values: natural parameters of one copy of each site."""
    total = Sites(sites.copies * values.precision, sites.copies * values.shift)
    blocks, found = blocks_of(sites), {}
    solved = in_threads(lambda one: solve_block(one, known.taste, known.mean, total.precision, total.shift), blocks)
    for block, local in zip(blocks, solved, strict=True):
        for row, annotator in enumerate(block.annotators):
            others, first, second = (
                None if part is None else part[row] for part in (block.others, block.first, block.second)
            )
            found[int(annotator)] = Person(
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
class Active:
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
    def of(cls, sites: PairSites, people: dict[int, Person], known: Known) -> "Active":
        k, n = len(sites), sites.n_items
        rows = np.arange(k)
        gain = np.zeros((k, n))
        gain[rows, sites.low], gain[rows, sites.high] = 1.0, -1.0
        taste_side = known.taste[sites.low] - known.taste[sites.high]
        mean, own = known.mean[sites.low] - known.mean[sites.high], np.zeros((k, k))
        for annotator, his in rows_of(sites).items():
            among = taste_side[his]
            covariance = among[:, sites.low[his]] - among[:, sites.high[his]]
            if annotator in people:
                person = people[annotator]
                reach = person.project(among)
                known_part = reach @ person.information
                covariance = covariance - known_part @ reach.T
                gain[his] -= person.back(known_part, n)
                mean[his] += reach @ person.residual
            own[np.ix_(his, his)] = (covariance + covariance.T) / 2
        return cls(sites, taste_side, gain, own, mean)


def rows_of(sites: PairSites) -> dict[int, Ints]:
    """Rows of each annotator's sites."""
    who, start = np.unique(sites.annotator, return_index=True)
    return dict(zip(who.tolist(), np.split(np.arange(len(sites)), start[1:]), strict=True))


@dataclass(frozen=True, eq=False)
class Settled:
    """EP's fixed point once the active sites may move.

    sites: of one copy each.   pull (k,): by how much more each site now pulls its margin than at the fixed point.
    bend (k, k): by how much more all of them hold it; own_bend (k, k): the same given t, 0 between annotators.
    mean, covariance: of t.   move (n_items,): how far its mean moved.   gain: of log evidence.
    """

    sites: Sites
    pull: Floats
    bend: Floats
    own_bend: Floats
    mean: Floats
    covariance: Floats
    move: Floats
    gain: float
    n_iterations: int
    change: float


def settle(
    active: Active,
    before: Sites,
    copies_before: Floats,
    known: Known,
    *,
    tolerance: float,
    max_iterations: int = 50,
    on_iteration: Callable[[float], None],
) -> Settled:
    """EP on the active sites alone. before, copies_before (k,): what of them the fixed point counts, 0 of new ones.

    With z ~ N(m, K) at the fixed point and sites that add precision P and shift b to it: covariance K (I + P K)^-1.
    """
    sites, identity = active.sites, np.eye(len(active.sites))
    shared = active.gain @ known.covariance
    prior = shared @ active.gain.T + active.own
    current, change, damping, iteration = before, np.inf, 1.0, 0
    while True:
        added = sites.copies * current.precision - copies_before * before.precision
        shift = sites.copies * current.shift - copies_before * before.shift
        inverse = np.linalg.inv(identity + added[:, None] * prior)
        pull = inverse @ (shift - added * active.mean)
        covariance = prior @ inverse
        margin, variance = active.mean + prior @ pull, np.diagonal(covariance)
        update, corrections = site_updates(sites, None, current, margin, variance)
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
    bend = inverse * added
    own_bend = np.linalg.inv(identity + added[:, None] * active.own) * added
    corrections_before = site_updates(sites, None, before, active.mean, np.diagonal(prior))[1]
    tilt = shift - added * active.mean
    gain = tilt @ covariance @ tilt / 2 + shift @ active.mean - added @ active.mean**2 / 2
    gain += np.linalg.slogdet(inverse)[1] / 2 + sites.copies @ corrections - copies_before @ corrections_before
    move = pull @ shared
    after = known.covariance - shared.T @ ((bend + bend.T) / 2) @ shared
    return Settled(
        current, pull, bend, own_bend, known.mean + move, (after + after.T) / 2, move, float(gain), iteration, change
    )
