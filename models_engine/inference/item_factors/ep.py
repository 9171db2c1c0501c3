"""EP over shards of annotators: the consensus of thousands of items, and the tastes around it of low rank."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.executor import Executor, Kept
from models_engine.inference.graded.cut_points import CutScores
from models_engine.inference.item_factors.consensus import ConsensusSystem, ItemCovariance, draw_information
from models_engine.inference.item_factors.evidence import shard_evidence
from models_engine.inference.item_factors.local import (
    ConsensusMoments,
    Information,
    ShardSolution,
    TasteFactors,
    add_information,
    information_of,
    refresh_shard,
    score_moments,
    solve_shard,
)
from models_engine.inference.item_factors.nodes import FactorShard
from models_engine.inference.probit_ep.site_updates import Answering, Sites, cut_scores

__all__ = ["FactorEP", "ShardAnswers"]

Floats = NDArray[np.float64]
N_DRAWS = 16  # of the consensus, for the part of its covariance that few directions do not have
MEAN_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class ShardAnswers:
    """How the annotators of a shard answer, see CrowdPrior; side biases are not inferred for so many items."""

    steepness: Floats | None
    lapse: Floats | None
    cuts: Floats | None
    side: Floats | None = None

    @classmethod
    def of(cls, shard: FactorShard, answering: Answering) -> "ShardAnswers":
        steepness, lapse = (
            None if one is None else one[shard.annotators] for one in (answering.steepness, answering.lapse)
        )
        return cls(steepness, lapse, answering.cuts)


def _add_first(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    return add_information(one[0], other[0]), None


def _lost(found: tuple[Information, scipy.sparse.csr_array], x: Floats) -> Floats:
    return np.asarray(found[1].T @ (found[1] @ x))


def _moved(solution: ShardSolution, damping: float, scale: float) -> Sites:
    found = solution.moved(damping)
    return found if scale == 1.0 else Sites(found.precision / scale**2, found.shift / scale)


def _change(solution: ShardSolution) -> float:
    return solution.change


class FactorEP:
    """EP of some annotators; unit: the covariance of items' utilities up to its size.

    tastes, variance (of the consensus, times unit), answering: to be set between sweeps.   moments: of the consensus.
    change: the largest change of a site's precision or shift by the update after the last sweep.
    check: called within long steps; it may raise.
    """

    def __init__(
        self,
        shards: Sequence[FactorShard],
        unit: ItemCovariance,
        tastes: TasteFactors,
        variance: float,
        executor: Executor,
        check: Callable[[], None],
    ) -> None:
        self.shards, self.unit, self.tastes, self.variance = list(shards), unit, tastes, variance
        self.executor, self._check = executor, check
        self.kept = executor.keep(self.shards)
        self.sites: Kept = executor.keep([Sites.empty(len(shard.sites)) for shard in self.shards])
        self.answers: Kept = executor.keep([ShardAnswers(None, None, None)] * len(self.shards))
        n = len(unit.rest)
        self.moments = ConsensusMoments(np.zeros(n), np.zeros((n, 0)), variance / unit.inverse_diagonal)
        self.solved: Kept = []
        self.system: ConsensusSystem | None = None
        self.change, self._damping = np.inf, 1.0
        self._draws: Floats | None = None
        self.n_sweeps = 0

    def answer_by(self, answering: Answering) -> None:
        """Have annotators answer so from now on."""
        self.answers = self.executor.keep([ShardAnswers.of(shard, answering) for shard in self.shards])

    def begin(self, sites: Sites) -> None:
        """Begin from sites of the whole."""
        own = [Sites(sites.precision[shard.rows], sites.shift[shard.rows]) for shard in self.shards]
        self.sites = self.executor.keep(own)

    def sweep(self, *, measure: bool) -> float:
        """Solve everybody, then the consensus, then update the sites; return the largest change by the next update.

        measure: whether the covariance of the consensus is computed anew.
        """
        do = self.executor
        tastes = do.share(self.tastes)
        solved = do.map(solve_shard, self.kept, self.sites, shared=[tastes])
        found = do.map(information_of, self.kept, solved, shared=[tastes])
        total, _ = do.map_reduce(_first, _add_first, found)
        prior = self.unit.scaled(self.variance)

        def lost(x: Floats) -> Floats:
            return np.asarray(do.map_reduce(_lost, np.add, found, shared=[do.share(x)]))

        self.system = ConsensusSystem(prior, total, lost, self._check)
        mean = self.system.mean(self.moments.mean, MEAN_TOLERANCE)
        if measure:
            draws = prior.draw(N_DRAWS, np.random.default_rng(0)) + do.map_reduce(
                draw_information, np.add, self.kept, solved, shared=[tastes, 1, N_DRAWS]
            )
            self.moments, self._draws = self.system.moments(mean, draws, self.tastes.loadings, self._draws)
        else:
            self.moments = ConsensusMoments(mean, self.moments.factor, self.moments.rest)
        self.solved = do.map(refresh_shard, self.kept, solved, self.answers, shared=[tastes, do.share(self.moments)])
        last, self.change = self.change, float(do.map_reduce(_change, max, self.solved))
        self._damping = 0.5 if self.n_sweeps > 5 and self.change > 0.9 * last else 1.0
        self.n_sweeps += 1
        return self.change

    def move(self, scale: float = 1.0) -> None:
        """Move the sites by their update; then take all utilities so many times as large, with their variance."""
        self.sites = self.executor.secure(self.executor.map(_moved, self.solved, shared=[self._damping, scale]))
        self.variance *= scale**2
        now = self.moments
        self.moments = ConsensusMoments(scale * now.mean, scale * now.factor, scale**2 * now.rest)

    def cut_scores(self) -> CutScores:
        """Return the derivatives of the log evidence in the cut points of graded answers."""
        found: CutScores = self.executor.map_reduce(_cut_scores, _add, self.kept, self.solved, self.answers)
        return found

    def evidence(self, start: Kept, tastes: TasteFactors, answering: Answering) -> tuple[Floats, Kept]:
        """Return each annotator's log evidence around the consensus, (n,), in the order of the shards; and the sites.

        What is open about the consensus counts as part of each taste.
        """
        do = self.executor
        own = tastes.own + tastes.open + self.moments.variances
        wide = TasteFactors(tastes.loadings, own, np.zeros_like(own))
        answers = do.keep([ShardAnswers.of(shard, answering) for shard in self.shards])
        shared = [do.share(wide), do.share(self.moments.mean)]
        found = do.map(_evidence, self.kept, start, answers, shared=shared)
        values = np.concatenate([one for one, _ in do.gather(found)]) if self.shards else np.zeros(0)
        return values, do.map(_second, found)

    def gather_scores(self, n_annotators: int) -> Floats:
        """Return the mean scores along all loadings, (n_annotators, c); 0 of annotators who are not here."""
        do, found = self.executor, np.zeros((n_annotators, self.tastes.loadings.shape[1]))
        shared = [do.share(self.tastes), do.share(self.moments)]
        for shard, own in zip(
            self.shards, do.gather(do.map(_scores, self.kept, self.solved, shared=shared)), strict=True
        ):
            found[shard.annotators] = own
        return found

    def gather_sites(self, n_sites: int) -> Sites:
        """Return the sites in the order of the whole; 0 of annotators who are not here."""
        found = Sites.empty(n_sites)
        for shard, own in zip(self.shards, self.executor.gather(self.sites), strict=True):
            found.precision[shard.rows], found.shift[shard.rows] = own.precision, own.shift
        return found


def _evidence(
    shard: FactorShard, start: Sites, answers: ShardAnswers, tastes: TasteFactors, mean: Floats
) -> tuple[Floats, Sites]:
    return shard_evidence(shard, start, tastes, mean, answers)


def _scores(shard: FactorShard, solution: ShardSolution, tastes: TasteFactors, consensus: ConsensusMoments) -> Floats:
    return score_moments(shard, solution, tastes, consensus).mean


def _cut_scores(shard: FactorShard, solution: ShardSolution, answers: ShardAnswers) -> CutScores:
    if solution.margins is None:
        raise ValueError("the sites were not refreshed; call sweep first.")
    found = cut_scores(shard.sites, answers, solution.sites, *solution.margins)
    if found is None:
        raise ValueError("the sites have no grades.")
    return found


def _add(one: CutScores, other: CutScores) -> CutScores:
    return one + other


def _first(found: tuple[Any, Any]) -> tuple[Any, Any]:
    return found[0], None


def _second(found: tuple[Any, Any]) -> Any:
    return found[1]
