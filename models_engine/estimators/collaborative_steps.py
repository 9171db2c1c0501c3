"""What the stages of a CollaborativeGP fit share: the settings they read, what a pass costs, the steps they report."""

from typing import Literal, Protocol

from models_engine.errors import Cancelled
from models_engine.inference.annotator_blocks import Block
from models_engine.inference.pair_sites import PairSites
from models_engine.progress import FitLog, Progress
from models_engine.summaries import Diagnostics

__all__ = ["CHEAP", "Settings", "Steps", "cost_of", "is_cheap", "n_folds"]

FEWEST_ANNOTATORS = 4  # fewer say nothing about how tastes vary
CHEAP = 1e9  # operations of one pass


class Settings(Protocol):
    """The settings of CollaborativeGP that a fit reads; see there."""

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
    def max_steps(self) -> int: ...
    @property
    def max_iterations(self) -> int: ...
    @property
    def tolerance(self) -> float: ...


def n_folds(sites: PairSites, blocks: list[Block]) -> int:
    """Groups of annotators left out in turn: four of a small crowd, one of a large one, none below four people."""
    n_annotators = sum(len(block.annotators) for block in blocks)
    if n_annotators < FEWEST_ANNOTATORS:
        return 0
    return 4 if n_annotators <= 300 and is_cheap(sites, blocks) else 1


def cost_of(sites: PairSites, blocks: list[Block]) -> float:
    """Floating-point operations of one pass over all annotators, roughly."""
    local = sum(block.items.shape[0] * float(block.items.shape[1]) ** 3 for block in blocks)
    return 6 * local + 6 * float(sites.n_items) ** 3


def is_cheap(sites: PairSites, blocks: list[Block]) -> bool:
    """Whether a fit can afford four folds and every step."""
    return cost_of(sites, blocks) < CHEAP


class Steps:
    """Counts the steps of every stage for the caller's callback; the trace keeps the steps over all labels."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.log = FitLog(total)
        self._total, self._progress, self._count = total, progress, 0

    def tick(self, objective: float) -> None:
        """A step of any stage, with the log evidence it reached. Raises Cancelled."""
        self._count = min(self._count + 1, self._total)
        if self._progress is not None and self._progress(self._count, self._total, objective) is False:
            raise Cancelled(f"the fit was cancelled after {self._count} of at most {self._total} steps.")

    def record(self, objective: float) -> None:
        """A step over all labels."""
        self.log.step(objective)
        self.tick(objective)

    def finish(self, *, converged: bool, change: float, n_iterations: int, tolerance: float) -> Diagnostics:
        """The verdict on the final EP run; warns NotConverged."""
        message = f"expectation propagation: last change {change:.1g} after {n_iterations} iterations"
        message += "" if converged else f", not below {tolerance:g}; raise max_iterations"
        return self.log.finish(converged=converged, message=message, n_iterations=self._count)
