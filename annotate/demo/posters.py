"""Posters drawn by code: twenty-four for the demo's second project, twenty for its jury."""

import io
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

SIZE = (480, 640)
SCALE = 2  # drawn larger and shrunk, for smooth edges
Colours = tuple[str, str, str, str]  # paper first

PALETTES: dict[str, Colours] = {
    "sea": ("#eef4f2", "#0b7285", "#66b2b2", "#14365d"),
    "ember": ("#fff4e6", "#d9480f", "#f7b267", "#5c1a1b"),
    "moss": ("#f4f5e7", "#386641", "#a7c957", "#bc4749"),
    "night": ("#14213d", "#fca311", "#e5e5e5", "#4361ee"),
    "brick": ("#f6ece3", "#a23e2a", "#d9a066", "#2f4858"),
    "plum": ("#f7eef6", "#6d2e6b", "#c98bb9", "#27505c"),
    "wheat": ("#fbf6e4", "#c08a1e", "#7d9d5a", "#4a3b28"),
    "slate": ("#e9edf0", "#475c6e", "#c2543d", "#1e2a33"),
    "dawn": ("#fdeee9", "#e0687a", "#f3c178", "#3d3a6b"),
}


@dataclass(frozen=True)
class Poster:
    """`key` names it to the owner, `caption` says what it shows, `png` is the file."""

    key: str
    caption: str
    png: bytes


def posters(wanted: Sequence[tuple[str, str]] | None = None) -> Iterator[Poster]:
    """Draw always the same posters: those of the second project, or of these patterns in these palettes."""
    for pattern, palette in wanted or WALL:
        (draw, words), colours = PATTERNS[pattern], PALETTES[palette]
        picture = Image.new("RGB", (SIZE[0] * SCALE, SIZE[1] * SCALE), colours[0])
        draw(ImageDraw.Draw(picture), picture.size, colours, random.Random(f"{pattern}/{palette}"))  # noqa: S311
        file = io.BytesIO()
        picture.reduce(SCALE).quantize(64, dither=Image.Dither.NONE).save(file, "PNG")
        yield Poster(f"{pattern}-{palette}", f"{words} in the colours of {palette}", file.getvalue())


def circles(draw: ImageDraw.ImageDraw, size: tuple[int, int], colours: Colours, rng: random.Random) -> None:
    for _ in range(14):
        x, y, r = rng.randrange(size[0]), rng.randrange(size[1]), rng.randrange(60, 260)
        draw.ellipse((x - r, y - r, x + r, y + r), outline=rng.choice(colours[1:]), width=rng.choice([12, 24, 48]))


def stripes(draw: ImageDraw.ImageDraw, size: tuple[int, int], colours: Colours, rng: random.Random) -> None:
    slant, x = rng.randrange(-500, 500), -600
    while x < size[0] + 600:
        width = rng.choice([20, 40, 70, 120])
        draw.polygon(
            [(x, 0), (x + width, 0), (x + width + slant, size[1]), (x + slant, size[1])], fill=rng.choice(colours)
        )
        x += width + rng.choice([0, 20, 40])


def tiles(draw: ImageDraw.ImageDraw, size: tuple[int, int], colours: Colours, rng: random.Random) -> None:
    """Draw quarter circles, turned at random (Truchet's tiles)."""
    side = 160
    for x in range(0, size[0], side):
        for y in range(0, size[1], side):
            turn, colour = rng.randrange(4), rng.choice(colours[1:])
            corner = (x - side * (turn in (1, 2)), y - side * (turn in (2, 3)))
            box = (*corner, corner[0] + 2 * side, corner[1] + 2 * side)
            start = {0: 180, 1: 270, 2: 0, 3: 90}[turn]
            draw.pieslice(box, start, start + 90, fill=colour)


def waves(draw: ImageDraw.ImageDraw, size: tuple[int, int], colours: Colours, rng: random.Random) -> None:
    for row in range(-40, size[1] + 200, 90):
        phase, height, length = rng.random() * math.tau, rng.randrange(15, 70), rng.choice([160, 320, 480])
        line = [(x, row + height * math.sin(phase + math.tau * x / length)) for x in range(0, size[0] + 8, 8)]
        draw.polygon([*line, (size[0], size[1] + 300), (0, size[1] + 300)], fill=rng.choice(colours))


def rays(draw: ImageDraw.ImageDraw, size: tuple[int, int], colours: Colours, rng: random.Random) -> None:
    x, y = rng.uniform(0.2, 0.8) * size[0], rng.uniform(0.55, 0.9) * size[1]
    n = rng.choice([18, 24, 36])
    for ray in range(0, n, 2):
        ends = [math.tau * (ray + side) / n for side in (0, 1)]
        far = [(x + 2000 * math.cos(angle), y + 2000 * math.sin(angle)) for angle in ends]
        draw.polygon([(x, y), *far], fill=colours[1 + ray // 2 % 2])
    r = rng.randrange(90, 170)
    draw.ellipse((x - r, y - r, x + r, y + r), fill=colours[3])


def blocks(draw: ImageDraw.ImageDraw, size: tuple[int, int], colours: Colours, rng: random.Random) -> None:
    """Rectangles cut again and again, as Mondrian's."""
    split_rectangle(draw, (0, 0, size[0], size[1]), colours, rng, 5)


def split_rectangle(
    draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], colours: Colours, rng: random.Random, depth: int
) -> None:
    left, top, right, bottom = box
    if depth == 0 or min(right - left, bottom - top) < 160 or (depth < 4 and rng.random() < 0.15):
        colour = rng.choice([colours[0], colours[0], *colours[1:]])
        draw.rectangle(box, fill=colour, outline=colours[3], width=10)
        return
    if right - left > bottom - top:
        at = round(left + (right - left) * rng.uniform(0.3, 0.7))
        halves = (left, top, at, bottom), (at, top, right, bottom)
    else:
        at = round(top + (bottom - top) * rng.uniform(0.3, 0.7))
        halves = (left, top, right, at), (left, at, right, bottom)
    for half in halves:
        split_rectangle(draw, half, colours, rng, depth - 1)


Draw = Callable[[ImageDraw.ImageDraw, tuple[int, int], Colours, random.Random], None]
PATTERNS: dict[str, tuple[Draw, str]] = {
    "circles": (circles, "Large overlapping rings"),
    "stripes": (stripes, "Slanted stripes of different widths"),
    "tiles": (tiles, "Tiles with a quarter circle each"),
    "waves": (waves, "Layers of waves"),
    "rays": (rays, "A disc that sends out rays"),
    "blocks": (blocks, "Rectangles cut into rectangles"),
}
WALL = [(pattern, palette) for pattern in PATTERNS for palette in ("sea", "ember", "moss", "night")]
CONTEST = [
    (pattern, palette)
    for pattern in ("circles", "tiles", "waves", "rays")
    for palette in ("brick", "plum", "wheat", "slate", "dawn")
]
