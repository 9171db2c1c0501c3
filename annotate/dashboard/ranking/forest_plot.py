"""Lays out a forest plot of one page of the ranking, in the units of its view box."""

import unicodedata
from dataclasses import dataclass

from annotate.core.charts import Scale
from annotate.dashboard.ranking.queries import AVERAGE_SCORE, Ranking, RankingRow

WIDTH = 960
LABEL_END, RANK_END, AXIS_START = 372, 44, 392
AXIS_WIDTH = WIDTH - AXIS_START - 24
ROW, HEAD, GAP, PART = 22, 34, 8, 30
LABEL_COLUMNS = 42  # narrow characters that fit the label's column


@dataclass(frozen=True)
class Mark:
    y: float
    rank: int
    label: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Heading:
    y: float
    number: int
    tag: str
    n_items: int


@dataclass(frozen=True)
class ForestPlot:
    width: int
    height: float
    top: float
    bottom: float
    rank_end: int
    label_end: int
    axis_start: int
    axis_end: int
    ticks: list[tuple[float, str, bool]]
    marks: list[Mark]
    breaks: list[float]
    headings: list[Heading]


def forest_plot(ranking: Ranking) -> ForestPlot:
    y = float(HEAD)
    marks, breaks, headings = [], [], []
    for section in ranking.sections:
        if section.part is None:
            continue
        if ranking.n_parts > 1:
            headings.append(Heading(y + PART - 10, section.number, section.tag, section.n_items))
            y += PART
        for place, row in enumerate(section.rows):
            if row.rank_class and place:
                breaks.append(y + GAP / 2)
                y += GAP
            if row.mark:
                marks.append(mark(row, y + ROW / 2, ranking.scale))
            y += ROW
    return ForestPlot(
        width=WIDTH,
        height=y + 12,
        top=HEAD - 6,
        bottom=y + 4,
        rank_end=RANK_END,
        label_end=LABEL_END,
        axis_start=AXIS_START,
        axis_end=AXIS_START + AXIS_WIDTH,
        ticks=[
            (axis_position(ranking.scale, value), label, zero) for value, label, zero in ranking.scale.tick_values()
        ],
        marks=marks,
        breaks=breaks,
        headings=headings,
    )


def axis_position(scale: Scale, value: float) -> float:
    return round(AXIS_START + AXIS_WIDTH * scale.share(value), 2)


def mark(row: RankingRow, y: float, scale: Scale) -> Mark:
    e = row.estimate
    ends = (e.score_low, e.score, e.score_high) if scale.reference == AVERAGE_SCORE else (e.low, e.utility, e.high)
    low, middle, high = (axis_position(scale, value or 0.0) for value in ends)
    return Mark(y, row.estimate.rank, truncate_label(row.title), low, middle, high)


def truncate_label(text: str, columns: int = LABEL_COLUMNS) -> str:
    """Cut the text to what fits, wide characters counted twice."""
    used = 0
    for i, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns:
            return text[: max(1, i - 1)].rstrip() + "…"
    return text
