"""Lays out items and grade boundaries on the axis of scores, in the units of the plot's view box."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.dashboard.ranking.forest_plot import truncate_label
from models_engine.models import Estimate

WIDTH, LABEL_END, START, END = 960, 300, 320, 936
HEAD, ROW, FOOT = 44, 22, 12
TICKS = range(0, 101, 10)


@dataclass(frozen=True)
class Mark:
    y: float
    label: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Cut:
    """A boundary: number counts the grades from 0, score is where the grade begins."""

    number: int
    name: str
    score: float
    x: float


@dataclass(frozen=True)
class GradesPlot:
    height: float
    bottom: float
    marks: list[Mark]
    cuts: list[Cut]

    width = WIDTH
    label_end = LABEL_END
    start = START
    length = END - START
    top = HEAD - 6
    name_y = 14

    @property
    def ticks(self) -> list[tuple[float, int]]:
        return [(position(value), value) for value in TICKS]


def position(score: float) -> float:
    return round(START + (END - START) * score / 100, 2)


def draw_grades(items: Sequence[tuple[str, Estimate]], cuts: Sequence[tuple[str, float]]) -> GradesPlot:
    """Draws items in order, each with its title and estimate, and each boundary with its grade and score."""
    marks = [
        Mark(HEAD + (place + 0.5) * ROW, truncate_label(title, 34), *(position(value) for value in ends(estimate)))
        for place, (title, estimate) in enumerate(items)
    ]
    bottom = HEAD + len(items) * ROW
    lines = [Cut(number, name, round(score, 1), position(score)) for number, (name, score) in enumerate(cuts)]
    return GradesPlot(bottom + FOOT + 18, bottom, marks, lines)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.score_low or 0.0, estimate.score or 0.0, estimate.score_high or 0.0
