"""The ranking as one drawing: a forest plot of what a page of the ranking lists, in the units of its box."""

import unicodedata
from dataclasses import dataclass

from annotate.charts import Scale
from annotate.queries.ranking import Ranking, Row

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
class Forest:
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
    tiers: list[float]
    headings: list[Heading]


def forest(ranking: Ranking) -> Forest:
    y = float(HEAD)
    marks, tiers, headings = [], [], []
    for section in ranking.sections:
        if section.part is None:
            continue
        if ranking.n_parts > 1:
            headings.append(Heading(y + PART - 10, section.number, section.tag, section.n_items))
            y += PART
        for place, row in enumerate(section.rows):
            if row.tier and place:
                tiers.append(y + GAP / 2)
                y += GAP
            marks.append(mark(row, y + ROW / 2, ranking.scale))
            y += ROW
    return Forest(
        width=WIDTH,
        height=y + 12,
        top=HEAD - 6,
        bottom=y + 4,
        rank_end=RANK_END,
        label_end=LABEL_END,
        axis_start=AXIS_START,
        axis_end=AXIS_START + AXIS_WIDTH,
        ticks=[(along(ranking.scale, value), label, zero) for value, label, zero in ranking.scale.tick_values()],
        marks=marks,
        tiers=tiers,
        headings=headings,
    )


def along(scale: Scale, value: float) -> float:
    return round(AXIS_START + AXIS_WIDTH * scale.share(value), 2)


def mark(row: Row, y: float, scale: Scale) -> Mark:
    low, middle, high = (along(scale, value) for value in (row.estimate.low, row.estimate.utility, row.estimate.high))
    return Mark(y, row.estimate.rank, fitting(row.item.title), low, middle, high)


def fitting(text: str, columns: int = LABEL_COLUMNS) -> str:
    """As much of the text as fits, wide characters counted twice."""
    used = 0
    for i, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns:
            return text[: max(1, i - 1)].rstrip() + "…"
    return text
