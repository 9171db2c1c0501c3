"""Lays out a forest plot of one page of the ranking, in the units of its view box."""

import unicodedata
from dataclasses import dataclass

from annotate.core.charts import Scale
from annotate.core.cutting import cut_at_word
from annotate.dashboard.ranking.queries import AVERAGE_SCORE, Ranking, RankingRow

HEAD, GAP, PART = 34, 8, 30


@dataclass(frozen=True)
class Layout:
    """Where places, names and intervals stand. columns: the narrow characters that fit the name's room."""

    name: str
    width: int
    row: int
    rank_end: int
    label_at: int
    label_anchor: str
    label_room: tuple[int, int]  # where it begins, and its width
    label_rise: int  # how far above the interval the name stands
    axis_start: int
    axis_end: int
    columns: int


WIDE = Layout("wide", 960, 22, 44, 372, "end", (52, 328), 0, 392, 936, 42)
# For a phone: the name stands above its interval, which has the whole width.
NARROW = Layout("narrow", 360, 40, 28, 36, "start", (36, 320), 18, 12, 344, 38)


@dataclass(frozen=True)
class Mark:
    y: float
    label_y: float
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
    layout: Layout
    height: float
    top: float
    bottom: float
    ticks: list[tuple[float, str, bool]]
    marks: list[Mark]
    breaks: list[float]
    headings: list[Heading]


def forest_plots(ranking: Ranking) -> list[ForestPlot]:
    """Return the drawing twice, for wide pages and for phones; the page's style shows one of them."""
    return [forest_plot(ranking), forest_plot(ranking, NARROW)]


def forest_plot(ranking: Ranking, layout: Layout = WIDE) -> ForestPlot:
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
                marks.append(mark(row, y + (layout.row + layout.label_rise) / 2, ranking.scale, layout))
            y += layout.row
    return ForestPlot(
        layout=layout,
        height=y + 12,
        top=HEAD - 6,
        bottom=y + 4,
        ticks=[
            (axis_position(ranking.scale, value, layout), label, zero)
            for value, label, zero in ranking.scale.tick_values()
        ],
        marks=marks,
        breaks=breaks,
        headings=headings,
    )


def axis_position(scale: Scale, value: float, layout: Layout) -> float:
    return round(layout.axis_start + (layout.axis_end - layout.axis_start) * scale.share(value), 2)


def mark(row: RankingRow, y: float, scale: Scale, layout: Layout) -> Mark:
    e = row.estimate
    ends = (e.score_low, e.score, e.score_high) if scale.reference == AVERAGE_SCORE else (e.low, e.utility, e.high)
    low, middle, high = (axis_position(scale, value or 0.0, layout) for value in ends)
    label = truncate_label(row.title, layout.columns)
    return Mark(y, y - layout.label_rise, row.estimate.rank, label, low, middle, high)


def truncate_label(text: str, columns: int = WIDE.columns) -> str:
    """Cut the text at a word to what fits, wide characters counted twice."""
    used = 0
    for i, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns:
            return cut_at_word(text, max(2, i))
    return text
