"""Compares measured ratios with the kept ones and tells which are slower than the tolerance allows."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# How many times the kept ratio a measured one may be: the same machine, busy or not, differs by up to a quarter.
TOLERANCE = 1.3

FILE = Path(__file__).with_name("figures.json")

Verdict = Literal["", "slower", "faster", "new", "gone"]
FAILING: tuple[Verdict, ...] = ("slower", "new", "gone")


@dataclass(frozen=True)
class Row:
    """One figure, in times the yardstick; None where it was not kept, or is not measured any more."""

    name: str
    kept: float | None
    measured: float | None

    @property
    def times(self) -> float | None:
        return self.measured / self.kept if self.kept and self.measured is not None else None

    @property
    def verdict(self) -> Verdict:
        """Return how it compares. What got much faster doesn't fail, but only a new file notices if it gets lost."""
        if self.measured is None:
            return "gone"
        if self.times is None:
            return "new"
        return "slower" if self.times > TOLERANCE else "faster" if self.times < 1 / TOLERANCE else ""


def compare(kept: dict[str, float], measured: dict[str, float]) -> list[Row]:
    """Return a row for each figure, those measured first and in their order."""
    names = [*measured, *(name for name in kept if name not in measured)]
    return [Row(name, kept.get(name), measured.get(name)) for name in names]


def has_failed(rows: list[Row]) -> bool:
    return any(row.verdict in FAILING for row in rows)


def table(rows: list[Row]) -> str:
    """Return the rows as text, each figure in times the yardstick."""
    width = max((len(row.name) for row in rows), default=0)
    lines = [f"{'in times the yardstick':<{width}}{'kept':>10}{'now':>10}{'times':>8}"]
    lines += [
        f"{row.name:<{width}}{number(row.kept):>10}{number(row.measured):>10}{number(row.times, 2):>8}  {row.verdict}"
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def number(value: float | None, decimals: int = 3) -> str:
    return "-" if value is None else f"{value:.{decimals}f}"


def read(file: Path) -> dict[str, float]:
    """Return the kept ratios; none where nothing has been kept."""
    return json.loads(file.read_text()) if file.exists() else {}


def write(file: Path, measured: dict[str, float]) -> None:
    file.write_text(json.dumps({name: round(ratio, 4) for name, ratio in measured.items()}, indent=2) + "\n")
