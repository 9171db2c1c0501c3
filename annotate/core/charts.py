"""Computes the geometry of charts: scales, ticks, bars and paths, as the text that SVG templates print."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from annotate.core.numbers import format_integer, format_number
from models_engine.scales import LinearScale, nice_step

MAX_BAND = 2  # an interval ahead makes the chart at most so many times as high
MIN_WIDTH = 0.04  # of a bar's length


def percent(value: float) -> str:
    """Return a position along the chart, 0 to 1, as SVG reads it whatever the page's language."""
    return f"{100 * value:.2f}%"


@dataclass(frozen=True)
class Tick:
    at: str
    label: str
    is_zero: bool = False


@dataclass(frozen=True)
class Interval:
    """A line with a dot on a scale."""

    low: str
    middle: str
    high: str


@dataclass(frozen=True)
class Span:
    """A bar over places 1 to n, and the place itself."""

    start: str
    width: str
    at: str


class Scale(LinearScale):
    """A linear scale whose marks are written in the page's language."""

    def interval(self, low: float, middle: float, high: float) -> Interval:
        return Interval(percent(self.share(low)), percent(self.share(middle)), percent(self.share(high)))

    def tick_values(self, n: int = 7) -> list[tuple[float, str, bool]]:
        """Return at most n + 1 numbers inside the scale, at round steps from the reference, and whether each is
        that."""
        marks, decimals = self.marks(n)
        return [(value, format_number(value, decimals), is_zero) for value, is_zero in marks]

    def ticks(self, n: int = 7) -> list[Tick]:
        return [Tick(percent(self.share(value)), label, zero) for value, label, zero in self.tick_values(n)]


def place_span(rank: int, low: int, high: int, n: int) -> Span:
    """Return ranks low to high of n as a bar: place i covers (i - 1)/n to i/n; no bar is too thin to see."""
    n = max(n, high)
    width = max(MIN_WIDTH, (high - low + 1) / n)
    start = min((low - 1) / n, 1 - width)
    return Span(percent(start), percent(width), percent((rank - 0.5) / n))


@dataclass(frozen=True)
class Column:
    """One column of a chart that stands on the ground line: along the chart in percent, upright in pixels."""

    x: str
    width: str
    y: str
    height: str
    value: int
    label: str


@dataclass(frozen=True)
class AheadColumn:
    """What is likely to come: middle and interval of a column that begins at `start`."""

    start: datetime
    low: int
    middle: int
    high: int
    label: str


@dataclass(frozen=True)
class Ahead:
    """A column of what is likely to come, on top of what came where it is the running one; behind it its interval, cut
    at the chart's top."""

    x: str
    width: str
    y: str
    height: str
    band_x: str
    band_width: str
    band_y: str
    band_height: str
    column: AheadColumn


@dataclass(frozen=True)
class Columns:
    columns: list[Column]
    # Lines across, as (y, label), the ground line first.
    lines: list[tuple[str, str]]
    ahead: list[Ahead] = field(default_factory=list)


def columns(
    values: Sequence[int], labels: Sequence[str], *, height: float, ahead: Sequence[AheadColumn] = ()
) -> Columns:
    """Return columns side by side, `height` pixels for a round number at or above the largest value; a positive value
    is at least one pixel high.

    ahead: what is likely to come; its first column is the rest of the last of the values.
    """
    base = values[-1] if values and ahead else 0
    bases = [base, *[0] * (len(ahead) - 1)]
    middles = [before + one.middle for before, one in zip(bases, ahead, strict=False)]
    highs = [before + one.high for before, one in zip(bases, ahead, strict=False)]
    usual = max([*values, *middles], default=1)
    largest = max(usual, min(MAX_BAND * usual, max(highs, default=0)))
    step = max(1, round(nice_step(max(1, largest), 4)))
    top = step * max(1, math.ceil(largest / step))
    slot = 1 / max(1, len(values) + max(0, len(ahead) - 1))

    def up(value: float) -> float:
        return height * min(value, top) / top

    def column(i: int, value: int, label: str) -> Column:
        tall = max(1.0, up(value)) if value else 0.0
        x, width = percent((i + 0.04) * slot), percent(0.92 * slot)
        return Column(x, width, f"{height - tall:.1f}", f"{tall:.1f}", value, label)

    def column_ahead(i: int, before: int, one: AheadColumn) -> Ahead:
        at = max(len(values) - 1, 0) + i
        foot, middle, low, high = (up(before + value) for value in (0, one.middle, one.low, one.high))
        sides = (percent((at + 0.04) * slot), percent(0.92 * slot), percent(at * slot), percent(slot))
        x, width, band_x, band_width = sides
        body, band = (f"{height - middle:.1f}", f"{middle - foot:.1f}"), (f"{height - high:.1f}", f"{high - low:.1f}")
        return Ahead(x, width, *body, band_x, band_width, *band, one)

    return Columns(
        [column(i, value, label) for i, (value, label) in enumerate(zip(values, labels, strict=True))],
        [(f"{height - height * line / top:.1f}", format_integer(line)) for line in range(0, top + 1, step)],
        [column_ahead(i, before, one) for i, (before, one) in enumerate(zip(bases, ahead, strict=False))],
    )


def line_path(values: Sequence[float], *, width: float, height: float) -> str:
    """Return the path of values at equal distances through a box, the smallest at the bottom; values that are not
    finite break it."""
    finite = [value for value in values if math.isfinite(value)]
    if len(values) < 2 or not finite:
        return ""
    scale = Scale.around(min(finite), max(finite))
    path, pen = [], "M"
    for i, value in enumerate(values):
        if not math.isfinite(value):
            pen = "M"
            continue
        path.append(f"{pen}{width * i / (len(values) - 1):.2f} {height * (1 - scale.share(value)):.2f}")
        pen = "L"
    return "".join(path)
