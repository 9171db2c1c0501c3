"""A table as HTML with an interval drawn in each row, for notebooks: no script, nothing from elsewhere."""

from collections.abc import Mapping
from html import escape
from math import isfinite
from numbers import Integral
from typing import Any

__all__ = ["MAX_ROWS", "html_table"]

MAX_ROWS = 50
WIDTH, HEIGHT, RADIUS = 160, 16, 3  # of a drawing, in pixels
FIGURE = 'style="padding:.1em .6em;text-align:right"'
TEXT = 'style="padding:.1em .6em;text-align:left"'


def html_table(
    columns: Mapping[str, Any],
    *,
    caption: str,
    interval: tuple[str, str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """Return the first MAX_ROWS rows as HTML, all text escaped.

    columns: lists or arrays of equal length, by name; None and nan are empty cells.   interval: the columns of low end,
    middle and high end that are drawn, all on one scale.   notes: said below.
    """
    n_rows = max((len(column) for column in columns.values()), default=0)
    drawn = [[_number(columns[name][row]) for name in interval or ()] for row in range(min(n_rows, MAX_ROWS))]
    scale = _scale(drawn)
    head = "".join(f'<th scope="col" {FIGURE}>{escape(name)}</th>' for name in columns)
    rows = [
        f"<tr>{''.join(_cell(column[row]) for column in columns.values())}{_drawing(ends, scale)}</tr>"
        for row, ends in enumerate(drawn)
    ]
    below = (*notes, f"{n_rows - MAX_ROWS:,} more rows.") if n_rows > MAX_ROWS else notes
    return (
        f'<table><caption style="text-align:left">{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{''.join(f'<p>{escape(note)}</p>' for note in below)}"
    )


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<td {TEXT}>{escape(value)}</td>"
    number = _number(value)
    if not isfinite(number):
        return f"<td {FIGURE}></td>"
    return f"<td {FIGURE}>{int(value) if isinstance(value, Integral) else f'{number:.4g}'}</td>"


def _number(value: Any) -> float:
    try:
        return float("nan" if value is None else value)
    except (TypeError, ValueError):
        return float("nan")


def _scale(drawn: list[list[float]]) -> tuple[float, float]:
    """Return the smallest and the largest number that is drawn; equal where there is nothing to draw."""
    known = [value for ends in drawn for value in ends if isfinite(value)]
    return (min(known), max(known)) if known else (0.0, 0.0)


def _drawing(ends: list[float], scale: tuple[float, float]) -> str:
    if not ends or scale[0] == scale[1] or not all(map(isfinite, ends)):
        return ""
    room = (WIDTH - 2 * RADIUS) / (scale[1] - scale[0])
    low, middle, high = (RADIUS + room * (value - scale[0]) for value in ends)
    return (
        f'<td><svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{ends[0]:.3g} to {ends[2]:.3g}">'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="8" y2="8" stroke="currentColor" stroke-width="2"/>'
        f'<circle cx="{middle:.1f}" cy="8" r="{RADIUS}" fill="currentColor"/></svg></td>'
    )
