"""Draws the picture that other sites show beside a shared results link: the question and the first places, as PNG."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from django.core.cache import cache
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from PIL import Image, ImageDraw, ImageFont

from annotate.core.numbers import format_number
from annotate.publishing.results_links.public_page import PublicRow

WIDTH, HEIGHT = 1200, 630  # what sites that show such pictures ask for
MARGIN, MAX_ROWS = 64, 5
ROW_TOP, ROW_HEIGHT = 262, 66
BAR_START, BAR_END = 760, 1060
CACHE_SECONDS = 3600
INK, MUTED, ACCENT, TRACK, PAPER = "#142026", "#4d5c64", "#0a6777", "#dfe7e9", "#ffffff"
FONTS = ("DejaVuSans.ttf", "LiberationSans-Regular.ttf", "NotoSans-Regular.ttf")  # else Pillow's own, of Latin letters
Font = ImageFont.FreeTypeFont


@dataclass(frozen=True)
class Card:
    """What the picture says. places: (place, title, score), the first ones."""

    project: str
    question: str
    places: Sequence[tuple[int, str, float | None]]

    @classmethod
    def of_rows(cls, project: str, question: str, rows: Sequence[PublicRow]) -> "Card":
        return cls(project, question, [(row.place, row.title, row.score) for row in rows[:MAX_ROWS]])

    @property
    def words(self) -> str:
        """Return the picture in words, for those who do not see it."""
        places = "; ".join(f"{place}. {title}" for place, title, _score in self.places)
        if not places:
            return _("%(question)s No result yet.") % {"question": self.question}
        return _("%(question)s First places: %(places)s.") % {"question": self.question, "places": places}


def cached_card(card: Card) -> bytes:
    """Return the PNG, drawn once for the same words: what was withdrawn or renamed is not in it any more."""
    content = json.dumps([card.project, card.question, list(card.places)])
    key = f"results-card:{sha256(content.encode()).hexdigest()}:{get_language()}"
    return cast(bytes, cache.get_or_set(key, lambda: draw_card(card), CACHE_SECONDS))


def draw_card(card: Card) -> bytes:
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((0, 0, WIDTH, 14), fill=ACCENT)
    drawing.text((MARGIN, 44), fit_line(drawing, card.project, font(28), WIDTH - 2 * MARGIN), MUTED, font(28))
    for i, line in enumerate(wrap_lines(drawing, card.question, font(48), WIDTH - 2 * MARGIN, most=2)):
        drawing.text((MARGIN, 96 + 62 * i), line, INK, font(48))
    if not card.places:
        drawing.text((MARGIN, ROW_TOP + 30), _("No result yet."), MUTED, font(34))
    for i, (place, title, score) in enumerate(card.places):
        draw_place(drawing, ROW_TOP + ROW_HEIGHT * i, place, title, score)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def draw_place(drawing: ImageDraw.ImageDraw, y: int, place: int, title: str, score: float | None) -> None:
    drawing.text((MARGIN, y), f"{place}.", ACCENT, font(34))
    drawing.text((MARGIN + 72, y), fit_line(drawing, title, font(34), BAR_START - MARGIN - 96), INK, font(34))
    if score is None:
        return
    end = BAR_START + (BAR_END - BAR_START) * min(100.0, max(0.0, score)) / 100
    drawing.rounded_rectangle((BAR_START, y + 10, BAR_END, y + 34), 12, fill=TRACK)
    drawing.rounded_rectangle((BAR_START, y + 10, max(end, BAR_START + 24), y + 34), 12, fill=ACCENT)
    drawing.text((BAR_END + 24, y), format_number(score, 0), INK, font(34))


def font(size: int) -> Font:
    for name in FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return cast(Font, ImageFont.load_default(size))


def fit_line(drawing: ImageDraw.ImageDraw, text: str, drawn: Font, width: float) -> str:
    """Return as much of the text as fits on a line."""
    text = " ".join(text.split())
    if drawing.textlength(text, drawn) <= width:
        return text
    while text and drawing.textlength(text + "…", drawn) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrap_lines(drawing: ImageDraw.ImageDraw, text: str, drawn: Font, width: float, *, most: int) -> list[str]:
    """Return at most `most` lines; what does not fit is cut off the last."""
    words = text.split()
    lines: list[str] = []
    while words and len(lines) < most - 1:
        n = next((n for n in range(len(words), 1, -1) if drawing.textlength(" ".join(words[:n]), drawn) <= width), 1)
        lines.append(fit_line(drawing, " ".join(words[:n]), drawn, width))
        words = words[n:]
    return [*lines, fit_line(drawing, " ".join(words), drawn, width)] if words else lines
