"""Places the items at the ends of the taste map's components in it: by how much more people there like them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotate.models import Item

N_EACH = 3  # items drawn at each end
FARTHEST = 0.88  # of the way from the middle of the map to its edge, for the item that divides most
APART = 15.0  # pixels between two numbers


@dataclass(frozen=True)
class MapItem:
    """An item, numbered in the map and named below it."""

    number: int
    item: Item
    x: float
    y: float


def place_items(items: Sequence[Item], loadings: NDArray[np.float64], side: float) -> list[MapItem]:
    """Place items by their loadings (n, 2) on the components across and up; none at all where nothing divides people.

    The two directions have one unit, so that an item lies in the direction of the people who like it more than others
    do. Numbers that would cover each other are moved apart, up or down.
    """
    most = float(np.abs(loadings).max()) if len(loadings) else 0.0
    if not most:
        return []
    found: list[MapItem] = []
    for number, (item, (right, up)) in enumerate(zip(items, loadings / most, strict=True), start=1):
        x = round(side / 2 * (1 + FARTHEST * float(right)), 1)
        y = free_height(x, side / 2 * (1 - FARTHEST * float(up)), found)
        found.append(MapItem(number, item, x, round(y, 1)))
    return found


def free_height(x: float, y: float, taken: Sequence[MapItem]) -> float:
    """Return the height nearest to y at which a number covers none of the others."""
    near = [one.y for one in taken if abs(one.x - x) < APART]
    heights = [y, *(height + sign * APART for height in near for sign in (1, -1))]
    free = [height for height in heights if all(abs(height - other) >= APART - 1e-6 for other in near)]
    return min(free, key=lambda height: abs(height - y))
