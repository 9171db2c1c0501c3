"""A chart of lines with standard errors as SVG, for benchmarks."""

from collections.abc import Mapping, Sequence
from html import escape

from models_engine.scales import LinearScale

__all__ = ["draw_lines"]

WIDTH, HEIGHT, LEFT, BELOW, TOP = 560, 320, 60, 40, 30
COLOURS = ("#1f5fa8", "#b3501f", "#2f7d32", "#7a3b9a", "#6b6b00", "#8a1f4b")
Point = tuple[float, float, float]


def draw_lines(title: str, x_name: str, y_name: str, lines: Mapping[str, Sequence[Point]]) -> str:
    """Draw lines of (x, y, standard error of y) by name; x at equal distances in the order of all values.

    Raises ValueError without a point.
    """
    places = sorted({x for points in lines.values() for x, _, _ in points})
    reached = [y + sign * error for points in lines.values() for _, y, error in points for sign in (-1, 1)]
    if not places:
        raise ValueError("there are no points to draw.")
    scale = LinearScale.around(min(reached), max(reached))
    across = LinearScale.around(0.0, max(1.0, len(places) - 1.0), margin=0.06)

    def x_of(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 130) * across.share(places.index(value))

    def y_of(value: float) -> float:
        return TOP + (HEIGHT - TOP - BELOW) * (1 - scale.share(value))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>{escape(title)}</title><rect width="100%" height="100%" fill="#fff"/>',
        _text(LEFT, 18, title, "start"),
        _text((LEFT + WIDTH - 130) / 2, HEIGHT - 6, x_name, "middle"),
    ]
    marks, decimals = scale.marks(5)
    for value, _ in marks:
        y = y_of(value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 130}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{value:.{decimals}f}", "end"))
    parts += [_text(x_of(value), HEIGHT - BELOW + 18, f"{value:g}", "middle") for value in places]
    for index, (name, points) in enumerate(lines.items()):
        colour = COLOURS[index % len(COLOURS)]
        corners = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y, _ in points)
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y, error in points:
            ends = f'y1="{y_of(y - error):.1f}" y2="{y_of(y + error):.1f}"'
            parts.append(f'<line x1="{x_of(x):.1f}" x2="{x_of(x):.1f}" {ends} stroke="{colour}"/>')
        parts.append(_text(WIDTH - 124, TOP + 16 * (index + 1), name, "start", colour))
    return "\n".join([*parts, f"<desc>{escape(y_name)} by {escape(x_name)}</desc></svg>"])


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
