"""Quality expected by number of answers, balanced and chosen by the ranking so far: read from a table of simulations.

Needs numpy only, so that a web process can answer at once. `python -m models_engine.benchmarks expected` makes the
table: 100 simulated crowds of 20 to 100 people, of whom a tenth answer anything, comparing pairs.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from models_engine.arrays import raising, read_count
from models_engine.errors import InvalidDesign

__all__ = ["TABLE", "Expected", "Goal", "expected_quality", "largest_size"]

Floats = NDArray[np.float64]
Goal = Literal["whole", "best", "classes"]
TABLE = Path(__file__).with_name("expected_quality.json")


@dataclass(frozen=True, eq=False)
class Expected:
    """n_pairs (n_looks,): pairs compared.   balanced, chosen (n_looks, 3): low, mean and high of the goal's quality,
    low to high holding nine of ten simulated crowds.   is_scaled: there are more items, or fewer, than in any
    simulation, so the nearest is given, for as many answers per item.
    """

    n_pairs: Floats
    balanced: Floats
    chosen: Floats
    is_scaled: bool


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TABLE.read_text())
    return found


@cache
def _sizes() -> tuple[int, ...]:
    return tuple(sorted({row["n_items"] for row in _table()["rows"]}))


def largest_size() -> int:
    """Return the most items that were simulated."""
    return _sizes()[-1]


def expected_quality(n_items: int, goal: Goal, size: int = 0) -> Expected:
    """Interpolate the table between numbers of items (on their logarithms) and sizes. Raises InvalidDesign.

    size: how many best are looked for, or the number of classes; the quality is the share of them found, the share of
    the items in their class, else Kendall's tau with the truth. The best k are looked up by their share of the items.
    """
    if not isinstance(goal, str) or goal not in get_args(Goal):
        raise InvalidDesign(f"goal {goal!r} is unknown; choose whole, best or classes.", value=goal)
    with raising(InvalidDesign):
        n_items, size = read_count(n_items, "n_items"), read_count(size, "size")
    if n_items < 2:
        raise InvalidDesign(f"n_items is {n_items}; give 2 or more.", value=n_items)
    least = {"whole": 0, "best": 1, "classes": 2}[goal]
    if size < least:
        raise InvalidDesign(f"size is {size}; give {least} or more.", value=size)
    sizes = _sizes()
    at = min(max(n_items, sizes[0]), sizes[-1])
    wanted = at * size / n_items if goal == "best" else size
    curves = [_at_size(n, goal, wanted / at * n if goal == "best" else wanted) for n in sizes]
    found = _between(np.log(sizes), curves, float(np.log(at)))
    per_item = np.array(_table()["per_item"], dtype=np.float64)
    return Expected(per_item * n_items, found[0], found[1], at != n_items)


def _at_size(n_items: int, goal: Goal, size: float) -> Floats:
    """Return (2, n_looks, 3), balanced and chosen, of a simulated number of items; beyond the sizes, the nearest."""
    rows = [row for row in _table()["rows"] if row["n_items"] == n_items and row["goal"] == goal]
    curves = [np.array([row["balanced"], row["chosen"]], dtype=np.float64) for row in rows]
    if goal == "whole":
        return curves[0]
    return _between(np.log([row["size"] for row in rows]), curves, float(np.log(size)))


def _between(places: Sequence[float] | Floats, curves: Sequence[Floats], place: float) -> Floats:
    """Interpolate curves at rising places; before the first and after the last, that one."""
    after = int(np.clip(np.searchsorted(places, place), 1, len(curves) - 1))
    share = float(np.clip((place - places[after - 1]) / (places[after] - places[after - 1]), 0.0, 1.0))
    return (1 - share) * curves[after - 1] + share * curves[after]
