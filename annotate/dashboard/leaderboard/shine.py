"""Reads where a competitor does better than elsewhere: its effects by category, drawn towards none by the fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models_engine.constants import Z90

Row = dict[str, Any]


@dataclass(frozen=True)
class ShineRow:
    """One category: the competitor's row there, and how much better than elsewhere it is, in logits, with the ends of
    the 90% interval."""

    category: str
    row: Row
    effect: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        return self.low > 0

    @property
    def is_worse(self) -> bool:
        return self.high < 0


@dataclass(frozen=True)
class Shine:
    """The categories of one competitor, those where it does best first.   whole: its row over all categories."""

    name: str
    whole: Row
    rows: list[ShineRow]

    @property
    def better(self) -> list[str]:
        """Return where it is clearly better than elsewhere."""
        return [one.category for one in self.rows if one.is_better]


def shine_of(board: Mapping[str, Any], asked: Mapping[str, str]) -> Shine | None:
    """Return the competitor that is asked for as `of`, else the first; None where under two categories have a board."""
    boards = {tag["name"]: {row["name"]: row for row in tag["rows"]} for tag in board["tags"] if tag["rows"]}
    if len(boards) < 2:
        return None
    whole = {row["name"]: row for row in board["rows"]}
    name = asked.get("of") if asked.get("of") in whole else next(iter(whole))
    own = {category: rows[name] for category, rows in boards.items() if name in rows and "effect" in rows[name]}
    found = [
        ShineRow(
            category, row, row["effect"], row["effect"] - Z90 * row["effect_sd"], row["effect"] + Z90 * row["effect_sd"]
        )
        for category, row in own.items()
    ]
    return Shine(str(name), whole[str(name)], sorted(found, key=lambda one: -one.effect))
