"""Shards: the blocks of some annotators with their sites, worked on together and apart from all others.

What is done to a shard is a function of it and of what belongs to all; only sums over annotators come back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.executor import Executor, Kept, active_executor
from models_engine.inference.graded.cut_points import CutScores
from models_engine.inference.probit_ep.annotator_blocks import Block, Blocks
from models_engine.inference.probit_ep.annotator_solves import (
    LocalSolution,
    consensus_margins,
    local_prior,
    shift_solution,
    solve_block,
    told_of_consensus,
)
from models_engine.inference.probit_ep.block_sums import scatter_matrices
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import (
    Answering,
    Sites,
    cut_scores,
    largest_change,
    paired_parameters,
    site_updates,
    total_sites,
)
from models_engine.linalg import sum_by_group

__all__ = [
    "KeptShards",
    "Shard",
    "ShardAnswering",
    "ShardState",
    "add_evidence",
    "add_information",
    "build_shards",
    "count_unconverged",
    "drop_solutions",
    "evidence_by_annotator",
    "evidence_of",
    "information_of",
    "keep_shards",
    "largest_changes",
    "local_change",
    "moved_sites",
    "refresh_sites",
    "settle",
    "shard_priors",
    "sites_at",
    "sites_replaced",
    "solve_shard",
    "statistic_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Priors = list[Floats] | None
MIN_SHARD_COST = 1e7  # of the blocks of a shard: with less, starting a thread takes longer than the work
MIN_COST_PER_CELL = 50.0  # of the blocks of a shard by the numbers of its sum, which else takes longer than the work
MAX_SHARDS = 1024  # each has a sum of (n_items, n_items) numbers


@dataclass(frozen=True, eq=False)
class Shard:
    """Some annotators, numbered from 0, with their sites and blocks.

    rows (n_sites,): where the sites stand in the whole; annotators (n_annotators,): which these are there; both None
    where the shard is the whole.
    """

    sites: PairSites
    blocks: list[Block]
    rows: Ints | None = None
    annotators: Ints | None = None

    def sites_of(self, whole: Sites | None) -> Sites:
        """Return of the sites of the whole those of this shard; empty ones of None."""
        if whole is None:
            return Sites.empty(len(self.sites))
        return whole if self.rows is None else Sites(whole.precision[self.rows], whole.shift[self.rows])

    def annotators_of(self, whole: Floats | None) -> Floats | None:
        """Return of one number for each annotator of the whole those of this shard."""
        return whole if self.annotators is None or whole is None else whole[self.annotators]

    def places(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return which of these rows of the whole, in order, are of this shard, and where they stand in it."""
        if self.rows is None:
            return np.arange(len(rows)), rows
        own = np.flatnonzero(np.isin(rows, self.rows))
        return own, np.searchsorted(self.rows, rows[own])

    def put_rows(self, values: Floats, whole: Floats) -> None:
        """Write one number for each site of this shard to its place in the whole."""
        whole[slice(None) if self.rows is None else self.rows] = values

    def put_annotators(self, values: Floats, whole: Floats) -> None:
        """Write numbers for each annotator of this shard to their place in the whole, (n_annotators, ...)."""
        whole[slice(None) if self.annotators is None else self.annotators] = values


def build_shards(sites: PairSites, blocks: list[Block]) -> list[Shard]:
    """Divide the blocks, in their order, into shards of about the same cost. Depends on sites and blocks alone."""
    ends = np.cumsum([block.cost for block in blocks])
    least = max(MIN_SHARD_COST, MIN_COST_PER_CELL * sites.n_items**2)
    wanted = min(len(blocks), MAX_SHARDS, int(ends[-1] // least)) if len(blocks) else 1
    if wanted < 2:
        return [Shard(sites, blocks)]
    starts = np.searchsorted(ends, np.arange(wanted) * ends[-1] / wanted, side="right")
    bounds = [*np.unique(starts).tolist(), len(blocks)]
    return [_build_shard(sites, blocks[a:b]) for a, b in pairwise(bounds)]


@dataclass(frozen=True, eq=False)
class KeptShards:
    """Shards of all annotators, and where the executor keeps them."""

    shards: list[Shard]
    n_annotators: int
    executor: Executor
    handles: Kept

    @property
    def n_sites(self) -> int:
        return sum(len(shard.sites) for shard in self.shards)

    @cached_property
    def n_judged(self) -> int:
        """Return how many annotators have sites."""
        return sum(len(block.annotators) for shard in self.shards for block in shard.blocks)

    @cached_property
    def n_prior_numbers(self) -> int:
        """Return how many numbers all prior covariances have."""
        blocks = [block for shard in self.shards for block in shard.blocks]
        return sum(len(block.items) * block.items.shape[1] ** 2 for block in blocks)

    def gather_by_annotator(self, function: Callable[..., Floats], state: Kept, shared: Sequence[Any]) -> Floats:
        """Return `function(shard, state, *shared)`, (n_annotators, ...) of each, of all annotators; 0 of others."""
        found = self.executor.gather(self.executor.map(function, self.handles, state, shared=shared))
        whole = np.zeros((self.n_annotators, *found[0].shape[1:]))
        for shard, own in zip(self.shards, found, strict=True):
            shard.put_annotators(own, whole)
        return whole

    def spread(self, parts: Callable[[Shard], Any]) -> Kept:
        """Keep something for each shard beside it."""
        return self.executor.keep([parts(shard) for shard in self.shards])


def keep_shards(sites: PairSites, blocks: list[Block]) -> KeptShards:
    """Return the shards of these blocks, which stay where they are worked on as long as the `Blocks` are held."""
    executor = active_executor().suited(sum(block.cost for block in blocks))
    known = blocks.kept if isinstance(blocks, Blocks) else None
    if isinstance(known, KeptShards) and known.executor is executor:
        return known
    shards = build_shards(sites, blocks)
    found = KeptShards(shards, sites.n_annotators, executor, executor.keep(shards))
    if isinstance(blocks, Blocks):
        blocks.kept = found
    return found


def _build_shard(sites: PairSites, blocks: list[Block]) -> Shard:
    rows = np.sort(np.concatenate([block.site[block.real] for block in blocks]))
    own = sites.select(rows)
    annotators, numbers = np.unique(own.annotator, return_inverse=True)
    moved = [
        replace(
            block,
            site=np.searchsorted(rows, block.site),
            annotators=np.searchsorted(annotators, block.annotators),
        )
        for block in blocks
    ]
    return Shard(replace(own, annotator=numbers, n_annotators=len(annotators)), moved, rows, annotators)


@dataclass(frozen=True, eq=False)
class ShardAnswering:
    """How the annotators of a shard answer, see CrowdPrior."""

    steepness: Floats | None
    lapse: Floats | None
    cuts: Floats | None
    side: Floats | None

    @classmethod
    def of(cls, shard: Shard, answering: Answering) -> "ShardAnswering":
        steepness, lapse, side = (
            shard.annotators_of(one) for one in (answering.steepness, answering.lapse, answering.side)
        )
        return cls(steepness, lapse, answering.cuts, side)


@dataclass(frozen=True, eq=False)
class ShardState:
    """A shard in the middle of EP.

    sites: now.   solved: each block, given the consensus where it was.   update, corrections: of the sites, at the
    margins that follow (margin, variance).   covariance: of the consensus, C, and spreads: of each block D C, None of
    small ones; neither where the consensus is known.
    """

    sites: Sites
    solved: list[LocalSolution] = field(default_factory=list)
    margin: Floats | None = None
    variance: Floats | None = None
    covariance: Floats | None = None
    spreads: list[Floats | None] = field(default_factory=list)
    update: Sites | None = None
    corrections: Floats | None = None


def shard_priors(shard: Shard, taste: Floats) -> Priors:
    """Return the prior covariances of all blocks, for several solves."""
    return [local_prior(block, taste) for block in shard.blocks]


def moved_sites(state: ShardState, damping: float) -> Sites:
    """Return the sites moved by this share of their update."""
    if damping == 0 or state.update is None:
        return state.sites
    return Sites(*(old + damping * (new - old) for old, new in paired_parameters(state.sites, state.update)))


def count_unconverged(shard: Shard, state: ShardState, least: float) -> int:
    """Return how many annotators have a precision or shift that changes by `least` or more by the update."""
    return int(np.count_nonzero(largest_changes(shard, state) >= least))


def sites_at(state: ShardState, rows: Ints, damping: float) -> Sites:
    """Return `moved_sites` of these rows alone."""
    found = moved_sites(state, damping)
    return Sites(found.precision[rows], found.shift[rows])


def sites_replaced(sites: Sites, rows: Ints, values: Sites) -> Sites:
    """Return the sites with other values at these rows."""
    precision, shift = sites.precision.copy(), sites.shift.copy()
    precision[rows], shift[rows] = values.precision, values.shift
    return Sites(precision, shift)


def solve_shard(shard: Shard, priors: Priors, current: Sites, taste: Floats, at: Floats) -> ShardState:
    """Solve every annotator at these sites, given the consensus `at`.

    priors: `shard_priors`, None where they take too much memory.
    """
    total = total_sites(shard.sites, current)
    known: Sequence[Floats | None] = priors or [None] * len(shard.blocks)
    solved = [
        solve_block(block, taste, at, total.precision, total.shift, prior)
        for block, prior in zip(shard.blocks, known, strict=True)
    ]
    return ShardState(current, solved)


def information_of(shard: Shard, state: ShardState) -> tuple[Floats, Floats]:
    """Return sum_u B' E B and sum_u B' e: what these annotators say about the consensus."""
    n = shard.sites.n_items
    gradient = np.zeros(n)
    for block, local in zip(shard.blocks, state.solved, strict=True):
        gradient += block.scatter_vector(local.residual, n)
    return scatter_matrices(shard.blocks, (local.information for local in state.solved), n), gradient


def add_information(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return one[0] + other[0], one[1] + other[1]


def refresh_sites(
    shard: Shard, answering: ShardAnswering, state: ShardState, consensus: tuple[Floats, Floats | None]
) -> ShardState:
    """Compute margins and the sites' update.

    consensus: how its mean has moved since the shard was solved, and its covariance, None where it is known.
    """
    move, covariance = consensus
    margin, variance = np.zeros(len(shard.sites)), np.ones(len(shard.sites))
    spreads: list[Floats | None] = []
    for block, local in zip(shard.blocks, state.solved, strict=True):
        if covariance is None:
            means, variances = block.margins(local.mean), local.variance
        else:
            means, variances, spread = consensus_margins(block, local, move, covariance)
            spreads.append(spread)
        rows = block.site[block.real]
        margin[rows], variance[rows] = means[block.real], variances[block.real]
    update, corrections = site_updates(shard.sites, answering, state.sites, margin, variance)
    found = replace(state, margin=margin, variance=variance, covariance=covariance, spreads=spreads)
    return replace(found, update=update, corrections=corrections)


def local_change(state: ShardState) -> float:
    """Return the largest change of a precision or shift by the update."""
    return 0.0 if state.update is None else largest_change(state.sites, state.update)


def largest_changes(shard: Shard, state: ShardState) -> Floats:
    """Return the largest change of a precision or shift of each annotator by the update, (n_annotators,)."""
    found = np.zeros(shard.sites.n_annotators)
    if state.update is not None:
        for old, new in paired_parameters(state.sites, state.update):
            np.maximum.at(found, shard.sites.annotator, np.abs(new - old))
    return found


def evidence_of(shard: Shard, answering: ShardAnswering, state: ShardState) -> tuple[float, CutScores | None]:
    """Return the evidence of all annotators, and its derivatives in the cut points where there are any."""
    if state.margin is None or state.variance is None:
        raise ValueError("the sites were not refreshed; call refresh_sites first.")
    scores = cut_scores(shard.sites, answering, state.sites, state.margin, state.variance)
    return float(evidence_by_annotator(shard, state).sum()), scores


def add_evidence(
    one: tuple[float, CutScores | None], other: tuple[float, CutScores | None]
) -> tuple[float, CutScores | None]:
    scores = None if one[1] is None or other[1] is None else one[1] + other[1]
    return one[0] + other[0], scores


def evidence_by_annotator(shard: Shard, state: ShardState) -> Floats:
    """Return the evidence of each annotator, (n_annotators,)."""
    if state.corrections is None:
        raise ValueError("the sites were not refreshed; call refresh_sites first.")
    sites = shard.sites
    found = sum_by_group(sites.annotator, sites.copies * state.corrections, sites.n_annotators)
    for block, local in zip(shard.blocks, state.solved, strict=True):
        found[block.annotators] += local.log_integral
    return found


def drop_solutions(state: ShardState) -> ShardState:
    """Return the sites and their update alone, without the largest arrays."""
    return ShardState(state.sites, update=state.update)


def settle(shard: Shard, state: ShardState, move: Floats) -> ShardState:
    """Move the solutions to where the consensus has moved."""
    solved = []
    for block, local in zip(shard.blocks, state.solved, strict=True):
        mean, residual = shift_solution(local, block.project(move))
        solved.append(replace(local, mean=mean, residual=residual))
    return replace(state, solved=solved)


def statistic_of(shard: Shard, state: ShardState) -> Floats:
    """Sum B'(E - E B C B' E - e e')B over these annotators; see taste_statistic."""
    total = total_sites(shard.sites, state.sites)
    spreads = state.spreads or [None] * len(shard.blocks)

    def learned() -> Iterator[Floats]:
        for block, local, spread in zip(shard.blocks, state.solved, spreads, strict=True):
            found = local.information - local.residual[:, :, None] * local.residual[:, None, :]
            if state.covariance is not None:
                found -= told_of_consensus(block, local, total.precision, spread, state.covariance)
            yield found

    return scatter_matrices(shard.blocks, learned(), shard.sites.n_items)
