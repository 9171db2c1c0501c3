"""Lays out the plot of a leaderboard, in the units of its view box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotate.core.charts import Scale
from annotate.dashboard.ranking.forest_plot import truncate_label

WIDTH, LABEL_END, AXIS_START = 720, 220, 236
AXIS_WIDTH = WIDTH - AXIS_START - 24
ROW, HEAD = 26, 34
LABEL_COLUMNS = 26
MAX_DRAWN = 50


@dataclass(frozen=True)
class Mark:
    y: float
    rank: int
    label: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class BoardPlot:
    width: int
    height: int
    bottom: int
    label_end: int
    ticks: list[tuple[float, str, bool]]
    marks: list[Mark]


def board_plot(rows: Sequence[dict[str, Any]], scale: Scale) -> BoardPlot:
    """Draw the largest part, its first MAX_DRAWN rows."""
    drawn = [row for row in rows if row["part"] == 0][:MAX_DRAWN]

    def at(value: float) -> float:
        return round(AXIS_START + AXIS_WIDTH * scale.share(value), 2)

    marks = [
        Mark(
            HEAD + ROW * place + ROW / 2,
            row["rank"],
            truncate_label(row["name"], LABEL_COLUMNS),
            *(at(row[name]) for name in ("score_low", "score", "score_high")),
        )
        for place, row in enumerate(drawn)
    ]
    bottom = HEAD + ROW * len(drawn) + 4
    ticks = [(at(value), label, zero) for value, label, zero in scale.tick_values()]
    return BoardPlot(WIDTH, bottom + 8, bottom, LABEL_END, ticks, marks)
