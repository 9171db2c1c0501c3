"""FitLog: the objective trace, time and progress callback of a running fit, and its diagnostics."""

import time
import warnings
from collections.abc import Callable

from models_engine.errors import Cancelled, NotConverged
from models_engine.messages import Message
from models_engine.summaries import Diagnostics

__all__ = ["FitLog", "Progress"]

Progress = Callable[[int, int, float], bool | None]
"""progress(step, total, objective): called after every step and within long ones; False cancels the fit."""
MIN_INTERVAL = 0.25  # seconds between two calls within a step


class FitLog:
    """Records the objective of each step and turns it into Diagnostics.

    total: steps expected at most. Where a fit is made of several, each of which may take as many, the callback is told
    no more than it.

    >>> log = FitLog(total=50, progress=None)
    >>> log.step(objective=-12.5)                      # raises Cancelled when the callback returns False
    >>> diagnostics = log.finish(converged=True, message=Message.of(gettext_noop("all steps below 1e-8")))
    """

    def __init__(self, total: int, progress: Progress | None = None) -> None:
        self.total = total
        self.objective: list[float] = []
        self.progress = progress
        self._started = self._heard = time.perf_counter()

    def step(self, objective: float) -> None:
        """Record one step. Raises Cancelled."""
        self.objective.append(float(objective))
        self._report(len(self.objective), self.objective[-1])

    def check(self) -> None:
        """Call the callback within a long step, at most four times a second. Raises Cancelled."""
        if self.progress is not None and time.perf_counter() - self._heard >= MIN_INTERVAL:
            self._report(len(self.objective), self.objective[-1] if self.objective else 0.0)

    def _report(self, count: int, objective: float) -> None:
        if self.progress is None:
            return
        go_on = self.progress(min(count, self.total), self.total, objective)
        self._heard = time.perf_counter()
        if go_on is False:
            raise Cancelled(f"the fit was cancelled after {count} steps.")

    def finish(self, *, converged: bool, message: Message, n_iterations: int | None = None) -> Diagnostics:
        """Return the diagnostics. Warns NotConverged, with the message, if the fit did not converge."""
        if not converged:
            warnings.warn(f"not converged after {len(self.objective)} steps: {message}", NotConverged, stacklevel=3)
        steps = len(self.objective) if n_iterations is None else n_iterations
        seconds = time.perf_counter() - self._started
        return Diagnostics(converged, steps, tuple(self.objective), seconds, message)
