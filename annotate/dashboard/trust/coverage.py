"""Counts how often blocks of the ranking were compared with each other, for a heat map and its table."""

import math
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer, format_two_digits
from models_engine.models import Fit

CELL, LABEL = 24, 64  # pixels
LEVELS = 5  # shades besides none
ROUNDING = 1e-9


@dataclass(frozen=True)
class Cell:
    """n comparisons between two blocks, `each` of every possible pair of items; level 0 (none) to LEVELS (most)."""

    x: int
    y: int
    level: int
    n: int
    each: str
    title: str


@dataclass(frozen=True)
class Line:
    name: str
    y: int
    cells: list[Cell]


@dataclass(frozen=True)
class Shade:
    level: int
    words: str


@dataclass(frozen=True)
class HeatMap:
    lines: list[Line]
    names: list[tuple[int, str]]  # under the columns, every one that has room
    size: int
    left: int
    cell: int
    shades: list[Shade]
    blocked: bool
    n_empty: int
    n_cells: int

    @property
    def width(self) -> int:
        return self.left + self.size

    @property
    def height(self) -> int:
        return self.size + 20


def heat_map(fit: Fit | None) -> HeatMap | None:
    """Return None where the fit kept nothing, as fits of a single item."""
    kept = (fit.diagnostics.get("compared") or {}) if fit else {}
    sizes, pairs = kept.get("sizes") or [], kept.get("pairs") or []
    if len(sizes) < 2:
        return None
    names = block_names(sizes)
    each = {
        (row, column): pairs[row][column] / possible if (possible := n_possible(sizes, row, column)) else None
        for row in range(len(sizes))
        for column in range(row + 1)
    }
    known = [value for value in each.values() if value is not None]
    most = max(known, default=0.0)
    step = step_of(most, whole=max(sizes) == 1)
    lines = [
        Line(
            names[row], row * CELL, [cell_of(row, c, pairs[row][c], each[row, c], step, names) for c in range(row + 1)]
        )
        for row in range(len(sizes))
    ]
    every = max(1, len(sizes) // 6)
    return HeatMap(
        lines=lines,
        names=[(LABEL + i * CELL + CELL // 2, name) for i, name in enumerate(names) if i % every == 0],
        size=len(sizes) * CELL,
        left=LABEL,
        cell=CELL,
        shades=shades(most, step),
        blocked=max(sizes) > 1,
        n_empty=sum(value == 0 for value in known),
        n_cells=len(known),
    )


def block_names(sizes: list[int]) -> list[str]:
    names, first = [], 1
    for size in sizes:
        names.append(str(first) if size == 1 else f"{first}–{first + size - 1}")
        first += size
    return names


def n_possible(sizes: list[int], row: int, column: int) -> int:
    return sizes[row] * (sizes[row] - 1) // 2 if row == column else sizes[row] * sizes[column]


def cell_of(row: int, column: int, n: int, each: float | None, step: float, names: list[str]) -> Cell:
    words = "-" if each is None else format_two_digits(each)
    title = _("Places %(a)s and %(b)s: %(n)s comparisons, %(each)s of each pair") % {
        "a": names[column], "b": names[row], "n": format_integer(n), "each": words,
    }  # fmt: skip
    return Cell(LABEL + column * CELL, row * CELL, -1 if each is None else level_of(each, step), n, words, title)


def step_of(most: float, *, whole: bool) -> float:
    """Return 1, 2 or 5 times a power of ten, of which LEVELS reach the most; at least 1 where all counts are whole."""
    least = most / LEVELS
    if whole and least <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least)) if least else 1.0
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least * (1 - ROUNDING))


def level_of(each: float, step: float) -> int:
    """Grade in equal steps; what was compared at all is never shown as nothing."""
    return min(LEVELS, math.ceil(each / step * (1 - ROUNDING)))


def shades(most: float, step: float) -> list[Shade]:
    """Return what each level up to that of the most stands for, in comparisons of each pair."""
    ends = [step * level for level in range(1, level_of(most, step) + 1)]
    words = [format_integer(end) if step >= 1 else format_two_digits(end) for end in ends]
    return [Shade(0, _("none")), *(Shade(i, _("up to %(n)s") % {"n": one}) for i, one in enumerate(words, start=1))]
