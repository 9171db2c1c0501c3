"""The stylesheets' promises, computed: contrast in both schemes, colours only from the tokens, only known names."""

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.embedded

CSS = ROOT / "static" / "css"
TOKENS = (CSS / "tokens.css").read_text()
SHEETS = sorted(CSS.rglob("*.css"))
COLOUR = re.compile(r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
PLAIN, MORE_CONTRAST = TOKENS.split("@media (prefers-contrast: more)")
COLOURS = {name: (light, dark) for name, light, dark in COLOUR.findall(PLAIN)}
GROUNDS = ["canvas", "surface", "sunken"]
STATES = ["good", "warn", "bad"]

TEXT = [
    *((ink, ground) for ink in ["text", "text-muted", "accent", "accent-strong", *STATES] for ground in GROUNDS),
    *((ink, "accent-soft") for ink in ["text", "text-muted", "accent", "accent-strong"]),
    *((ink, f"{state}-soft") for state in STATES for ink in [state, "text", "text-muted"]),
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("on-bad", "bad"),
]
MARKS = [
    *((ink, ground) for ink in ["line-strong", "mark", "mark-uncertain", "focus"] for ground in GROUNDS),
    *((f"group-{i}", ground) for i in range(1, 9) for ground in GROUNDS),
    ("mark", "mark-track"),
    ("mark-uncertain", "mark-track"),
    ("line-strong", "accent-soft"),
]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    darker, lighter = sorted([luminance(a), luminance(b)])
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_gives_the_figures_that_wcag_gives():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("more", [False, True], ids=["as is", "more contrast"])
@pytest.mark.parametrize(("pairs", "least"), [(TEXT, 4.5), (MARKS, 3.0)], ids=["text", "marks"])
def test_contrast(pairs, least, scheme, more):
    overrides = {name: (light, dark) for name, light, dark in COLOUR.findall(MORE_CONTRAST)} if more else {}
    colours = COLOURS | overrides
    found = {f"{ink} on {ground}": contrast(colours[ink][scheme], colours[ground][scheme]) for ink, ground in pairs}
    assert not {pair: ratio for pair, ratio in found.items() if ratio < least}


def test_every_colour_of_the_tokens_is_judged_or_only_decorates():
    judged = {name for pair in TEXT + MARKS for name in pair}
    assert set(COLOURS) - judged == {"line"}


def without_comments(sheet: Path) -> str:
    return re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_stylesheets_use_known_properties_and_take_colours_from_the_tokens(sheet):
    css = without_comments(sheet)
    defined = set(re.findall(r"(--[\w-]+):", TOKENS + css))
    assert not set(re.findall(r"var\((--[\w-]+)", css)) - defined
    if sheet.name != "tokens.css":
        assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", css)
        # Left and right are wrong in half of the world's scripts.
        assert not re.findall(r"\b(?:margin|padding|border)-(?:left|right)|\b(?:text-align|float): (?:left|right)", css)


def test_every_icon_that_a_template_asks_for_is_drawn():
    drawn = set(re.findall(r'<symbol id="([\w-]+)"', (ROOT / "static" / "icons.svg").read_text()))
    for template in (ROOT / "templates").rglob("*.html"):
        asked = set(re.findall(r'components/icon\.html" with name="([\w-]+)"', template.read_text()))
        assert asked <= drawn, f"{template.name} asks for {asked - drawn}"
