"""Parallel EP for all annotators at once: a shared Gaussian consensus, and each annotator's taste around it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.graded.cut_points import CutScores
from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.annotator_solves import (
    LocalSolution,
    consensus_margins,
    local_prior,
    shift_solution,
    solve_block,
)
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import (
    Sites,
    cut_scores,
    largest_change,
    paired_parameters,
    site_updates,
    total_sites,
)
from models_engine.inference.probit_ep.threads import map_in_threads
from models_engine.linalg import cholesky, inverse_from_cholesky, sum_by_group

__all__ = [
    "CrowdPrior",
    "EPResult",
    "local_priors",
    "replace_taste",
    "run_ep",
    "solve_blocks",
    "taste_statistic",
    "warm_start",
]

Floats = NDArray[np.float64]
Priors = list[Floats] | None
MAX_PRIORS = 25_000_000  # numbers of prior covariances that are kept between solves: 200 MB


@dataclass(frozen=True, eq=False)
class CrowdPrior:
    """The prior: annotator u's utilities f_u = t + h_u, t ~ N(mean, consensus), h_u ~ N(0, taste), independent.

    taste (n_items, n_items); consensus (n_items, n_items), or None where t is known to be `mean`; mean (n_items,).
    steepness (n_annotators,) or None: an answer is Phi(steepness_u (f_a - f_b)), 1 by default.   lapse (n_annotators,)
    or None: the share of answers that are reversed, 0 by default; a reversed answer keeps its grade.
    cuts (n_grades,) or None: the cut points c_0 <= ... of graded answers, in units of the answer's noise; needed where
    sites have grades.
    """

    taste: Floats
    consensus: Floats | None
    mean: Floats
    steepness: Floats | None = None
    lapse: Floats | None = None
    cuts: Floats | None = None

    @cached_property
    def precision(self) -> Floats:
        """Return the inverse of the consensus covariance, (n_items, n_items)."""
        if self.consensus is None:
            raise ValueError("the consensus is known, so it has no precision; check crowd.consensus first.")
        return inverse_from_cholesky(cholesky(self.consensus))

    @cached_property
    def log_determinant(self) -> float:
        """Return the log determinant of that precision."""
        return float(np.linalg.slogdet(self.precision)[1])


def replace_taste(crowd: CrowdPrior, taste: Floats) -> CrowdPrior:
    """Return the same prior with another taste covariance, keeping what was computed from its consensus covariance."""
    changed = CrowdPrior(taste, crowd.consensus, crowd.mean, crowd.steepness, crowd.lapse, crowd.cuts)
    if crowd.consensus is not None:
        vars(changed).update(precision=crowd.precision, log_determinant=crowd.log_determinant)
    return changed


@dataclass(frozen=True, eq=False)
class EPResult:
    """Fixed point of EP.

    mean (n_items,), covariance (n_items, n_items): posterior of the consensus, all tastes integrated out.
    log_evidence: EP's log p(labels).
    by_annotator (n_annotators,): log evidence of each annotator, where t is known (consensus None).
    update: the sites after one more update.   change: the largest change of a precision or shift by that update.
    solved: each block at `mean`.   spreads: of each block, transfer times covariance; none where t is known.
    by_cuts: derivatives of log_evidence in the cut points, all else being stationary; None where there are none.
    """

    sites: Sites
    update: Sites
    mean: Floats
    covariance: Floats
    log_evidence: float
    by_annotator: Floats
    converged: bool
    n_iterations: int
    change: float
    solved: list[LocalSolution]
    spreads: list[Floats]
    by_cuts: CutScores | None = None


def warm_start(result: EPResult | None) -> tuple[Sites | None, Floats | None]:
    """Return (start, mean) for `run_ep` from an earlier result, or (None, None)."""
    return (None, None) if result is None else (result.sites, result.mean)


def run_ep(
    sites: PairSites,
    blocks: list[Block],
    crowd: CrowdPrior,
    start: Sites | None = None,
    mean: Floats | None = None,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    on_iteration: Callable[[float], None] | None = None,
) -> EPResult:
    """Iterate parallel EP to a fixed point and report its evidence.

    blocks: `build_blocks(sites)`. start, mean: sites and consensus mean of an earlier run. Updates are damped by a half
    once the changes stop shrinking. on_iteration is called with the change of each iteration (and may raise).
    """
    current = Sites.empty(len(sites)) if start is None else start
    at = crowd.mean if mean is None or crowd.consensus is None else mean
    damping, change, iteration = 1.0, np.inf, 0
    priors = local_priors(blocks, crowd.taste) if max_iterations else None
    done = _pass(sites, blocks, crowd, current, at, priors)
    for iteration in range(1, max_iterations + 1):
        update, _ = site_updates(sites, crowd, current, done.margin, done.variance)
        last, change = change, largest_change(current, update)
        if on_iteration is not None:
            on_iteration(change)
        if change < tolerance:
            break
        damping = 0.5 if iteration > 5 and change > 0.9 * last else damping
        current = Sites(*(old + damping * (new - old) for old, new in paired_parameters(current, update)))
        done = _pass(sites, blocks, crowd, current, done.mean, priors)
    return _report(sites, blocks, crowd, current, done, change < tolerance, iteration)


@dataclass(frozen=True, eq=False)
class _Pass:
    """All blocks solved at the consensus `at`, and the consensus and margins that follow.

    log_determinant: of the posterior precision of the consensus.   spreads: per block D C, C the posterior covariance
    of the consensus; empty where that is known.
    """

    solved: list[LocalSolution]
    at: Floats
    mean: Floats
    covariance: Floats | None
    information: Floats
    gradient: Floats
    log_determinant: float
    margin: Floats
    variance: Floats
    spreads: list[Floats]


def _pass(
    sites: PairSites, blocks: list[Block], crowd: CrowdPrior, current: Sites, at: Floats, priors: Priors
) -> _Pass:
    solved = solve_blocks(blocks, crowd.taste, at, total_sites(sites, current), priors)
    information, gradient = np.zeros((sites.n_items, sites.n_items)), np.zeros(sites.n_items)
    mean, covariance, log_determinant, spreads = crowd.mean, None, 0.0, []
    margins = [(block.margins(local.mean), local.variance) for block, local in zip(blocks, solved, strict=True)]
    if crowd.consensus is not None:
        information, gradient = _sum_information(blocks, solved, sites.n_items)
        mean, covariance, log_determinant = _consensus(crowd, information, gradient, at)
        found = map_in_threads(
            lambda block, local: consensus_margins(block, local, mean - at, covariance), blocks, solved
        )
        margins, spreads = [one[:2] for one in found], [one[2] for one in found]
    margin, variance = np.zeros(len(sites)), np.ones(len(sites))
    for block, (means, variances) in zip(blocks, margins, strict=True):
        rows = block.site[block.real]
        margin[rows], variance[rows] = means[block.real], variances[block.real]
    return _Pass(solved, at, mean, covariance, information, gradient, log_determinant, margin, variance, spreads)


def local_priors(blocks: list[Block], taste: Floats) -> Priors:
    """Return the prior covariances of all blocks, for several solves; None where they take too much memory."""
    numbers = sum(len(block.items) * block.items.shape[1] ** 2 for block in blocks)
    return map_in_threads(lambda block: local_prior(block, taste), blocks) if numbers <= MAX_PRIORS else None


def solve_blocks(
    blocks: list[Block], taste: Floats, mean: Floats, total: Sites, priors: Priors = None
) -> list[LocalSolution]:
    """Solve every annotator of all blocks; total: sites with all their copies."""
    known: Sequence[Floats | None] = priors or [None] * len(blocks)
    return map_in_threads(
        lambda block, prior: solve_block(block, taste, mean, total.precision, total.shift, prior), blocks, known
    )


def _sum_information(blocks: list[Block], solved: list[LocalSolution], n_items: int) -> tuple[Floats, Floats]:
    """Return sum_u B' E B and sum_u B' e: the information of all annotators about the consensus."""
    information, gradient = np.zeros((n_items, n_items)), np.zeros(n_items)
    for block, local in zip(blocks, solved, strict=True):
        information += block.scatter_matrix(local.information, n_items)
        gradient += block.scatter_vector(local.residual, n_items)
    return information, gradient


def _consensus(crowd: CrowdPrior, information: Floats, gradient: Floats, at: Floats) -> tuple[Floats, Floats, float]:
    """Return mean and covariance of t, of precision prior^-1 + H, and its log determinant; gradient: that at `at`."""
    lower = cholesky(crowd.precision + information)
    covariance = inverse_from_cholesky(lower)
    mean = crowd.mean + covariance @ (gradient + information @ (at - crowd.mean))
    return mean, covariance, 2 * float(np.log(np.diagonal(lower)).sum())


def _report(
    sites: PairSites, blocks: list[Block], crowd: CrowdPrior, current: Sites, done: _Pass, converged: bool, n: int
) -> EPResult:
    """Compute consensus and evidence of the final sites."""
    update, corrections = site_updates(sites, crowd, current, done.margin, done.variance)
    evidence = sum_by_group(sites.annotator, sites.copies * corrections, sites.n_annotators)
    move = done.mean - done.at
    for block, local in zip(blocks, done.solved, strict=True):
        evidence[block.annotators] += local.log_integral
    log_evidence = float(evidence.sum()) + (0.0 if crowd.consensus is None else _log_consensus(crowd, done))
    solved = []
    for block, local in zip(blocks, done.solved, strict=True):
        mean, residual = shift_solution(local, block.project(move))
        solved.append(replace(local, mean=mean, residual=residual))
    covariance = np.zeros((sites.n_items, sites.n_items)) if done.covariance is None else done.covariance
    return EPResult(
        sites=current,
        update=update,
        mean=done.mean,
        covariance=covariance,
        log_evidence=log_evidence,
        by_annotator=evidence,
        converged=converged,
        n_iterations=n,
        change=largest_change(current, update),
        solved=solved,
        spreads=done.spreads,
        by_cuts=cut_scores(sites, crowd, current, done.margin, done.variance),
    )


def taste_statistic(sites: PairSites, blocks: list[Block], result: EPResult) -> Floats:
    """Sum B'(E - E B C B' E - e e')B over annotators, (n_items, n_items), C the covariance of the consensus.

    The gradient of `result.log_evidence` by the taste covariance is minus half of it. A known consensus has C = 0.
    """
    total = total_sites(sites, result.sites)

    def learned(block: Block, local: LocalSolution, spread: Floats | None) -> Floats:
        found = local.information - local.residual[:, :, None] * local.residual[:, None, :]
        if spread is not None:
            found -= block.weighted(total.precision, spread) @ local.information
        return found

    spreads: Sequence[Floats | None] = result.spreads or [None] * len(blocks)
    statistic = np.zeros((sites.n_items, sites.n_items))
    for block, found in zip(blocks, map_in_threads(learned, blocks, result.solved, spreads), strict=True):
        statistic += block.scatter_matrix(found, sites.n_items)
    return statistic


def _log_consensus(crowd: CrowdPrior, done: _Pass) -> float:
    """Return log of the integral over t of prior times exp(quadratic around `at`), the latter 1 at `at`."""
    move = done.mean - done.at
    slope = done.gradient - done.information @ move  # at the posterior mean, where it balances the prior
    determinants = crowd.log_determinant - done.log_determinant
    gain = done.gradient @ move - move @ done.information @ move / 2 - (done.mean - crowd.mean) @ slope / 2
    return float(gain + determinants / 2)
