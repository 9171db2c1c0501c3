"""Shared by the stages of a CollaborativeGP fit: settings, cost of a pass, and step counting."""

from typing import Literal, Protocol

from models_engine.errors import Cancelled
from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.messages import propagation_message
from models_engine.progress import FitLog, Progress
from models_engine.summaries import Diagnostics

__all__ = ["MAX_CHEAP_COST", "MIN_ANNOTATORS", "Settings", "Steps", "count_folds", "estimate_cost", "is_cheap"]

MIN_ANNOTATORS = 4  # with fewer, variation of tastes and reliabilities are not learned
MAX_CHEAP_COST = 1e9  # operations of one pass


class Settings(Protocol):
    """Settings of CollaborativeGP that a fit reads; see there."""

    @property
    def n_components(self) -> int: ...
    @property
    def covariance(self) -> Literal["auto", "full", "low-rank", "prior"]: ...
    @property
    def consensus_sd(self) -> float: ...
    @property
    def taste_sd(self) -> float: ...
    @property
    def log_scale_sd(self) -> float: ...
    @property
    def pseudo_annotators(self) -> float: ...
    @property
    def features(self) -> bool: ...
    @property
    def steepness(self) -> bool: ...
    @property
    def reliability(self) -> bool: ...
    @property
    def side(self) -> bool: ...
    @property
    def part_scales(self) -> bool: ...
    @property
    def max_steps(self) -> int: ...
    @property
    def max_iterations(self) -> int: ...
    @property
    def tolerance(self) -> float: ...


def count_folds(sites: PairSites, blocks: list[Block]) -> int:
    """Return the number of held-out groups: four for a small crowd, one for a large one, none below four annotators."""
    n_annotators = sum(len(block.annotators) for block in blocks)
    if n_annotators < MIN_ANNOTATORS:
        return 0
    return 4 if n_annotators <= 300 and is_cheap(sites, blocks) else 1


def estimate_cost(sites: PairSites, blocks: list[Block]) -> float:
    """Estimate the floating-point operations of one pass over all annotators."""
    local = sum(block.cost for block in blocks)
    return 6 * local + 6 * float(sites.n_items) ** 3


def is_cheap(sites: PairSites, blocks: list[Block]) -> bool:
    """Return whether a fit is small enough for four folds and all steps."""
    return estimate_cost(sites, blocks) < MAX_CHEAP_COST


class Steps:
    """Counter of the steps of every stage, for the caller's callback; the trace holds the steps over all labels."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.log = FitLog(total)
        self._total, self._progress, self._count = total, progress, 0

    def report(self, objective: float) -> None:
        """Report a step of any stage, with its log evidence. Raises Cancelled."""
        self._count = min(self._count + 1, self._total)
        if self._progress is not None and self._progress(self._count, self._total, objective) is False:
            raise Cancelled(f"the fit was cancelled after {self._count} of at most {self._total} steps.")

    def check(self) -> None:
        """Ask the callback within a long step whether to go on, as often as FitLog does. Raises Cancelled."""
        self.log.check()

    def record(self, objective: float) -> None:
        """Record a step over all labels."""
        self.log.step(objective)
        self.report(objective)

    def finish(self, *, converged: bool, change: float, n_iterations: int, tolerance: float) -> Diagnostics:
        """Return the diagnostics of the final EP run; warns NotConverged."""
        message = propagation_message(converged, change, n_iterations, tolerance)
        return self.log.finish(converged=converged, message=message, n_iterations=self._count)
