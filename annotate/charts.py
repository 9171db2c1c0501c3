"""Geometry of the charts: scales, ticks, bars and paths, as the plain text that SVG templates print."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.formats import get_format, number_format
from django.utils.translation import gettext as _

MINUS = "\N{MINUS SIGN}"
THINNEST = 0.04  # of a bar's length


def figure(value: float, decimals: int = 2) -> str:
    """A number for people: a true minus sign, never "-0.00", and the decimal sign of their language."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS).replace(".", get_format("DECIMAL_SEPARATOR"))


def grouped(value: float) -> str:
    """A whole number for people, its thousands set apart as in their language."""
    return number_format(round(value), force_grouping=True)


def in_percent(share: float, decimals: int = 0) -> str:
    """A share of 1 for people, the sign apart where their language writes it so."""
    return _("%(n)s%%") % {"n": figure(100 * share, decimals)}


def percent(value: float) -> str:
    """A position along the chart, 0 to 1, as SVG reads it whatever the page's language."""
    return f"{100 * value:.2f}%"


def nice_step(span: float, n: float) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten that cuts `span` into at most `n` pieces."""
    rough = span / n
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def decimals_of(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))


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


@dataclass(frozen=True)
class Scale:
    """A linear scale from `low` to `high`; positions are shares of its length."""

    low: float
    high: float

    @classmethod
    def around(cls, low: float, high: float, margin: float = 0.04) -> "Scale":
        """A scale that holds low to high with a margin; of one point, half a unit either side."""
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        pad = (high - low) * margin
        return cls(low - pad, high + pad)

    def share(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def interval(self, low: float, middle: float, high: float) -> Interval:
        return Interval(percent(self.share(low)), percent(self.share(middle)), percent(self.share(high)))

    def tick_values(self, n: int = 7) -> list[tuple[float, str, bool]]:
        """At most n + 1 round numbers inside the scale, in words, and whether it is zero."""
        step = nice_step(self.high - self.low, n)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(i * step, figure(i * step, decimals_of(step)), i == 0) for i in range(first, last + 1)]

    def ticks(self, n: int = 7) -> list[Tick]:
        return [Tick(percent(self.share(value)), label, zero) for value, label, zero in self.tick_values(n)]


def places(rank: int, low: int, high: int, n: int) -> Span:
    """Ranks low to high of n as a bar: place i covers (i - 1)/n to i/n; no bar is too thin to see."""
    n = max(n, high)
    width = max(THINNEST, (high - low + 1) / n)
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
class Columns:
    columns: list[Column]
    # Lines across, as (y, label), the ground line first.
    lines: list[tuple[str, str]]


def columns(values: Sequence[int], labels: Sequence[str], *, height: float) -> Columns:
    """Columns side by side, `height` pixels for a round number at or above the largest value; a positive value is at
    least one pixel high."""
    largest = max(values, default=1)
    step = max(1, round(nice_step(max(1, largest), 4)))
    top = step * max(1, math.ceil(largest / step))
    slot = 1 / max(1, len(values))

    def column(i: int, value: int, label: str) -> Column:
        tall = max(1.0, height * value / top) if value else 0.0
        x, width = percent((i + 0.04) * slot), percent(0.92 * slot)
        return Column(x, width, f"{height - tall:.1f}", f"{tall:.1f}", value, label)

    return Columns(
        [column(i, value, label) for i, (value, label) in enumerate(zip(values, labels, strict=True))],
        [(f"{height - height * line / top:.1f}", grouped(line)) for line in range(0, top + 1, step)],
    )


def line(values: Sequence[float], *, width: float, height: float) -> str:
    """The path of values at equal distances through a box, the smallest at the bottom; values that are not finite
    break it."""
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
