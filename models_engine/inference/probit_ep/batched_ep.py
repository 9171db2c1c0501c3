"""Parallel EP for all annotators at once: a shared Gaussian consensus, and each annotator's taste around it.

What belongs to annotators stays with their shards; in each iteration the consensus goes there, and sums over annotators
come back.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.executor import Kept
from models_engine.inference.graded.cut_points import CutScores
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.shards import (
    KeptShards,
    ShardAnswering,
    add_evidence,
    add_information,
    count_unconverged,
    drop_solutions,
    evidence_by_annotator,
    evidence_of,
    information_of,
    keep_shards,
    largest_changes,
    local_change,
    moved_sites,
    refresh_sites,
    settle,
    shard_priors,
    sites_at,
    sites_replaced,
    solve_shard,
    statistic_of,
)
from models_engine.inference.probit_ep.site_updates import Answering, Sites
from models_engine.linalg import cholesky, inverse_from_cholesky

__all__ = [
    "CrowdPrior",
    "EPResult",
    "KeptSites",
    "ShardedEP",
    "run_ep",
    "taste_statistic",
    "warm_start",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_PRIORS = 25_000_000  # numbers of prior covariances that are kept between solves: 200 MB
MIN_COST_APART = 1e6  # of all blocks, from which it pays to go on with a few people alone
MAX_SHARE_APART = 0.1  # of all people, that these are
SHARE_APART = 0.1  # of the largest change, that theirs are at least
MAX_ITERATIONS_APART = 20


@dataclass(frozen=True, eq=False)
class CrowdPrior:
    """The prior: annotator u's utilities f_u = t + h_u, t ~ N(mean, consensus), h_u ~ N(0, taste), independent.

    taste (n_items, n_items); consensus (n_items, n_items), or None where t is known to be `mean`; mean (n_items,).
    steepness (n_annotators,) or None: an answer is Phi(steepness_u (f_a - f_b)), 1 by default.   lapse (n_annotators,)
    or None: the share of answers that are reversed, 0 by default; a reversed answer keeps its grade.
    cuts (n_grades,) or None: the cut points c_0 <= ... of graded answers, in units of the answer's noise; needed where
    sites have grades.   side (n_annotators,) or None: what each annotator adds to the margin of the item shown first,
    in units of the answer's noise, 0 by default.
    """

    taste: Floats
    consensus: Floats | None
    mean: Floats
    steepness: Floats | None = None
    lapse: Floats | None = None
    cuts: Floats | None = None
    side: Floats | None = None

    @cached_property
    def _inverse(self) -> tuple[Floats, float]:
        if self.consensus is None:
            raise ValueError("the consensus is known, so it has no precision; check crowd.consensus first.")
        lower = cholesky(self.consensus)
        return inverse_from_cholesky(lower), -2 * float(np.log(np.diagonal(lower)).sum())

    @property
    def precision(self) -> Floats:
        """Return the inverse of the consensus covariance, (n_items, n_items)."""
        return self._inverse[0]

    @property
    def log_determinant(self) -> float:
        """Return the log determinant of that precision."""
        return self._inverse[1]

    def changed(self, **values: Any) -> "CrowdPrior":
        """Return the same prior with other values of these names, keeping what was computed from its consensus
        covariance, which is not among them.
        """
        found = replace(self, **values)
        if self.consensus is not None:
            vars(found).update(_inverse=self._inverse)
        return found

    def among(self, items: NDArray[np.int64]) -> "CrowdPrior":
        """Return the prior of these items alone."""
        both = np.ix_(items, items)
        consensus = None if self.consensus is None else self.consensus[both]
        return replace(self, taste=self.taste[both], consensus=consensus, mean=self.mean[items])

    def open_by(self, factor: float) -> "CrowdPrior":
        """Return the same prior with so many times the variance of the consensus, which stays known where it is."""
        return replace(self, consensus=None if self.consensus is None else factor * self.consensus)


@dataclass(frozen=True, eq=False)
class KeptSites:
    """Natural parameters of the sites, kept beside their shards: the handles of one `Sites` for each."""

    kept: KeptShards
    handles: Kept

    def gather(self) -> Sites:
        """Return them in the order of all sites."""
        found = Sites.empty(self.kept.n_sites)
        for shard, own in zip(self.kept.shards, self.kept.executor.gather(self.handles), strict=True):
            shard.put_rows(own.precision, found.precision)
            shard.put_rows(own.shift, found.shift)
        return found


@dataclass(frozen=True, eq=False)
class EPResult:
    """Fixed point of EP.

    mean (n_items,), covariance (n_items, n_items): posterior of the consensus, all tastes integrated out.
    log_evidence: EP's log p(labels).
    change: the largest change of a precision or shift by one more update.
    state: of each shard, every block solved at `mean`.
    by_cuts: derivatives of log_evidence in the cut points, all else being stationary; None where there are none.
    """

    kept: KeptShards
    state: Kept
    mean: Floats
    covariance: Floats
    log_evidence: float
    converged: bool
    n_iterations: int
    change: float
    by_cuts: CutScores | None = None

    @cached_property
    def sites(self) -> Sites:
        return self.kept_sites(0.0).gather()

    @cached_property
    def update(self) -> Sites:
        """Return the sites after one more update."""
        return self.kept_sites(1.0).gather()

    def kept_sites(self, damping: float) -> KeptSites:
        """Return the sites moved by this share of their update, left where they are."""
        return KeptSites(self.kept, self.kept.executor.map(moved_sites, self.state, shared=[damping]))

    @cached_property
    def by_annotator(self) -> Floats:
        """Return the log evidence of each annotator, (n_annotators,), where t is known (consensus None)."""
        return self.kept.gather_by_annotator(evidence_by_annotator, self.state, ())

    def without_solutions(self) -> "EPResult":
        """Return the same without its largest arrays, for those who only start from it."""
        return replace(self, state=self.kept.executor.map(drop_solutions, self.state))


def warm_start(result: EPResult | None) -> tuple[KeptSites | None, Floats | None]:
    """Return (start, mean) for `run_ep` from an earlier result, or (None, None)."""
    return (None, None) if result is None else (result.kept_sites(0.0), result.mean)


def run_ep(
    sites: PairSites,
    blocks: list[Block],
    crowd: CrowdPrior,
    start: Sites | KeptSites | None = None,
    mean: Floats | None = None,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    on_iteration: Callable[[float], None] | None = None,
) -> EPResult:
    """Iterate parallel EP to a fixed point and report its evidence.

    blocks: `build_blocks(sites)`. start, mean: sites and consensus mean of an earlier run. Updates are damped by a half
    once the changes stop shrinking. Until then, where everybody takes long, the few people who change much more than
    all others are brought to a fixed point before everybody is updated again (`_Unconverged`). on_iteration is called
    with the change of each iteration over everybody (and may raise).
    """
    at = crowd.mean if mean is None or crowd.consensus is None else mean
    change, iteration = np.inf, 0
    ep = ShardedEP(keep_shards(sites, blocks), crowd, several=max_iterations > 0)
    done = ep.update(ep.begin(start), at)
    damping = 1.0
    apart = crowd.consensus is not None and sum(block.cost for block in blocks) >= MIN_COST_APART
    for iteration in range(1, max_iterations + 1):
        last, change = change, done.change
        if on_iteration is not None:
            on_iteration(change)
        if change < tolerance:
            break
        if iteration > 5 and change > 0.9 * last:
            damping, apart = 0.5, False
        begin, at = ep.moved(done.state, damping), done.mean
        few = ep.unconverged(done, sites, max(tolerance, SHARE_APART * change)) if apart else None
        if few is not None:
            found = few.run(tolerance)
            begin, at, apart = ep.replaced(begin, few.rows, found.sites), found.mean, found.converged
        done = ep.update(begin, at)
    return ep.report(done, change < tolerance, iteration)


@dataclass(frozen=True, eq=False)
class _Unconverged:
    """A few people in the middle of EP, to go on alone: what all others said last is in the prior of the consensus.

    rows (n,): which sites of the whole; sites, blocks: these alone.   crowd: with that prior.   start, mean: where
    their sites and the consensus are after the last update of everybody.
    """

    rows: Ints
    sites: PairSites
    blocks: list[Block]
    crowd: CrowdPrior
    start: Sites
    mean: Floats

    def run(self, tolerance: float) -> EPResult:
        few = (self.sites, self.blocks, self.crowd, self.start, self.mean)
        return run_ep(*few, max_iterations=MAX_ITERATIONS_APART, tolerance=tolerance)


@dataclass(frozen=True, eq=False)
class _Pass:
    """All shards solved at the consensus `at`, and the consensus and the sites' update that follow.

    log_determinant: of the posterior precision of the consensus.   change: the largest of a site's precision or shift.
    """

    state: Kept
    at: Floats
    mean: Floats
    covariance: Floats | None
    information: Floats
    gradient: Floats
    log_determinant: float
    change: float


class ShardedEP:
    """EP under one prior; several: whether annotators are solved more than once."""

    def __init__(self, kept: KeptShards, crowd: CrowdPrior, *, several: bool = True) -> None:
        self.kept, self.crowd = kept, crowd
        self._executor = kept.executor
        self._taste = self._executor.share(crowd.taste)
        self._priors = kept.spread(lambda shard: None)
        if several and kept.n_prior_numbers <= MAX_PRIORS:
            self._priors = self._executor.map(shard_priors, kept.handles, shared=[self._taste])
        self.answer_by(crowd)

    def answer_by(self, answering: Answering) -> None:
        """Have annotators answer so from now on."""
        self._answering = self.kept.spread(lambda shard: ShardAnswering.of(shard, answering))

    def begin(self, start: Sites | KeptSites | None) -> Kept:
        """Return the sites of all shards to begin with."""
        if isinstance(start, KeptSites):
            if start.kept is self.kept:
                return self._executor.secure(start.handles)
            start = start.gather()
        return self.kept.spread(lambda shard: shard.sites_of(start))

    def moved(self, state: Kept, damping: float) -> Kept:
        """Return the sites moved by a share of their update, from which a lost iteration is computed again."""
        return self._executor.secure(self._executor.map(moved_sites, state, shared=[damping]))

    def unconverged(self, done: _Pass, sites: PairSites, least: float) -> _Unconverged | None:
        """Return the people of whom a precision or shift changes by `least` or more after `done`, if they are few."""
        do, kept = self._executor, self.kept
        count = do.map_reduce(count_unconverged, operator.add, kept.handles, done.state, shared=[least])
        if not 0 < count <= MAX_SHARE_APART * kept.n_judged:
            return None
        changes = kept.gather_by_annotator(largest_changes, done.state, ())
        rows = np.flatnonzero(changes[sites.annotator] >= least)
        few = sites.select(rows)
        blocks = build_blocks(few)
        alone = ShardedEP(keep_shards(few, blocks), self.crowd, several=False)
        before, start = (self._sites_at(done.state, rows, damping) for damping in (0.0, 1.0))
        information, gradient = alone.told(alone.solve(alone.begin(before), done.at))
        others = done.information - information, done.gradient - gradient
        mean, covariance, _ = _consensus(self.crowd, *others, done.at)
        crowd = replace(self.crowd, consensus=covariance, mean=mean)
        return _Unconverged(rows, few, blocks, crowd, start, done.mean)

    def _sites_at(self, state: Kept, rows: Ints, damping: float) -> Sites:
        """Return the sites at these rows of the whole, moved by a share of their update."""
        places = [shard.places(rows) for shard in self.kept.shards]
        there = self._executor.keep([rows for _, rows in places])
        found = self._executor.gather(self._executor.map(sites_at, state, there, shared=[damping]))
        whole = Sites.empty(len(rows))
        for (own, _), some in zip(places, found, strict=True):
            whole.precision[own], whole.shift[own] = some.precision, some.shift
        return whole

    def replaced(self, sites: Kept, rows: Ints, values: Sites) -> Kept:
        """Return the sites with these values at the rows of the whole."""
        places = [shard.places(rows) for shard in self.kept.shards]
        there = self._executor.keep([rows for _, rows in places])
        some = self._executor.keep([Sites(values.precision[own], values.shift[own]) for own, _ in places])
        return self._executor.secure(self._executor.map(sites_replaced, sites, there, some))

    def told(self, state: Kept) -> tuple[Floats, Floats]:
        """Return what all annotators say about the consensus, see `information_of`."""
        found: tuple[Floats, Floats] = self._executor.map_reduce(
            information_of, add_information, self.kept.handles, state
        )
        return found

    def solve(self, sites: Kept, at: Floats) -> Kept:
        """Solve everybody at these sites and the consensus `at`."""
        shared = [self._taste, self._executor.share(at)]
        return self._executor.map(solve_shard, self.kept.handles, self._priors, sites, shared=shared)

    def update(self, sites: Kept, at: Floats) -> _Pass:
        """Do as `solve`, then update consensus and sites."""
        crowd, n = self.crowd, len(self.crowd.taste)
        information, gradient = np.zeros((n, n)), np.zeros(n)
        mean, covariance, log_determinant = crowd.mean, None, 0.0
        state = self.solve(sites, at)
        if crowd.consensus is not None:
            information, gradient = self.told(state)
            mean, covariance, log_determinant = _consensus(crowd, information, gradient, at)
        state = self.refresh(state, mean - at, covariance)
        return _Pass(state, at, mean, covariance, information, gradient, log_determinant, self.largest_change(state))

    def refresh(self, state: Kept, move: Floats, covariance: Floats | None = None) -> Kept:
        """Update the sites after the consensus has moved, or people answer otherwise."""
        consensus = self._executor.share((move, covariance))
        return self._executor.map(refresh_sites, self.kept.handles, self._answering, state, shared=[consensus])

    def largest_change(self, state: Kept) -> float:
        """Return the largest change of a precision or shift by the update."""
        return float(self._executor.map_reduce(local_change, max, state))

    def report(self, done: _Pass, converged: bool, n_iterations: int) -> EPResult:
        """Compute the evidence, and the solutions where the consensus ended."""
        do, handles, crowd = self._executor, self.kept.handles, self.crowd
        evidence, by_cuts = do.map_reduce(evidence_of, add_evidence, handles, self._answering, done.state)
        state = do.map(settle, handles, done.state, shared=[do.share(done.mean - done.at)])
        return EPResult(
            kept=self.kept,
            state=state,
            mean=done.mean,
            covariance=np.zeros_like(crowd.taste) if done.covariance is None else done.covariance,
            log_evidence=evidence + (0.0 if crowd.consensus is None else _log_consensus(crowd, done)),
            converged=converged,
            n_iterations=n_iterations,
            change=done.change,
            by_cuts=by_cuts,
        )


def _consensus(crowd: CrowdPrior, information: Floats, gradient: Floats, at: Floats) -> tuple[Floats, Floats, float]:
    """Return mean and covariance of t, of precision prior^-1 + H, and its log determinant; gradient: that at `at`."""
    lower = cholesky(crowd.precision + information)
    covariance = inverse_from_cholesky(lower)
    mean = crowd.mean + covariance @ (gradient + information @ (at - crowd.mean))
    return mean, covariance, 2 * float(np.log(np.diagonal(lower)).sum())


def taste_statistic(result: EPResult) -> Floats:
    """Sum B'(E - E B C B' E - e e')B over annotators, (n_items, n_items), C the covariance of the consensus.

    The gradient of `result.log_evidence` by the taste covariance is minus half of it. A known consensus has C = 0.
    """
    return np.asarray(result.kept.executor.map_reduce(statistic_of, np.add, result.kept.handles, result.state))


def _log_consensus(crowd: CrowdPrior, done: _Pass) -> float:
    """Return log of the integral over t of prior times exp(quadratic around `at`), the latter 1 at `at`."""
    move = done.mean - done.at
    slope = done.gradient - done.information @ move  # at the posterior mean, where it balances the prior
    determinants = crowd.log_determinant - done.log_determinant
    gain = done.gradient @ move - move @ done.information @ move / 2 - (done.mean - crowd.mean) @ slope / 2
    return float(gain + determinants / 2)
