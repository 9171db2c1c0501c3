"""How often "done" was said too early in simulations, by goal, estimator and rule: read from a table of them.

`python -m models_engine.benchmarks stopping --table` makes the table.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from models_engine.analysis.agreement import wilson_interval
from models_engine.analysis.done import LEVELS, PLAIN, Wrong, threshold

__all__ = ["MIN_SAID", "TABLE", "StoppingError", "stopping_error"]

TABLE = Path(__file__).with_name("stopping_errors.json")
MIN_SAID = 30  # below, a share says too little: none false in 30 still allows for one in ten


@dataclass(frozen=True)
class StoppingError:
    """share: of the simulated projects where "done" was said, those where the truth was worse than the goal.   low,
    high: its 90% interval.   n_said: how many projects these were."""

    share: float
    low: float
    high: float
    n_said: int

    @classmethod
    def of(cls, n_false: int, n_said: int) -> "StoppingError":
        return cls(n_false / n_said, *wilson_interval(n_false / n_said, n_said), n_said)


def stopping_error(
    what: Wrong, estimator: str, *, adaptive: bool, level: float = LEVELS[0], table: Path = TABLE
) -> StoppingError | None:
    """Return the error of stopping as models_engine.analysis.done says, where the estimator fits and the questions are
    balanced or chosen: the surely largest over the goals that were simulated, by the lower end.

    None where it is not known: no simulation by this estimator, by another threshold than today's, or "done" said of
    fewer than MIN_SAID projects, unless even these show that it is said falsely more often than `level`.
    """
    found = [
        StoppingError.of(row["n_false"], row["n_said"])
        for row in _rows(table)
        if (row["what"], row["fit"], row["adaptive"], row["level"]) == (what, estimator, adaptive, level)
        and row["n_said"]
        and abs(row["limit"] - threshold(what, row["goal"], level=level, plain=estimator in PLAIN)) < 1e-9
    ]
    known = [one for one in found if one.n_said >= MIN_SAID or one.low > level]
    return max(known, key=lambda one: (one.low, one.share), default=None)


@cache
def _rows(table: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(table.read_text())["rows"]
    return found
