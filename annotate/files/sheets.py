"""A sheet: named columns and rows of cells, the one shape that every format of a table is read into."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

Cell = str | list[str]


class SheetRow(NamedTuple):
    """One row: the line (or the number of the record) it stands in, its cells, and why it can't be used, if so."""

    place: int
    cells: list[Cell]
    problem: str = ""


@dataclass(frozen=True)
class Sheet:
    """`rows` may be read once and may raise BadFile on the way.

    is_csv: whether our own exports of this format have apostrophes before formulas (annotate.files.writers.guarded).
    """

    columns: list[str]
    rows: Iterable[SheetRow]
    is_csv: bool = False
