"""Turns LaTeX formulas into MathML: known elements and attributes alone, written out here with every text escaped."""

from html import escape, unescape
from importlib import import_module
from typing import Any
from xml.etree.ElementTree import Element

from django.utils.safestring import SafeString, mark_safe

MAX_LENGTH = 2_000  # characters of one formula
MAX_DEPTH = 40
MAX_ELEMENTS = 2_000
TAGS = frozenset(
    "math mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace msqrt mstyle msub msubsup "
    "msup mtable mtd mtext mtr munder munderover none".split()
)
ATTRIBUTES = frozenset(
    "accent accentunder columnalign columnspan depth display displaystyle fence form height linethickness lspace "
    "mathvariant maxsize minsize movablelimits rowspan rspace scriptlevel separator stretchy symmetric width".split()
)


def render_formula(latex: str, *, block: bool) -> SafeString:
    """Return the formula as MathML; as code, as it was typed, where it can't be read or is beyond a limit."""
    source = latex.strip()
    html = "" if len(source) > MAX_LENGTH else mathml_of(source, block)
    return mark_safe(html or f"<code>{escape(source)}</code>")  # noqa: S308  (escaped, or written by `written`)


def mathml_of(latex: str, block: bool) -> str:
    """Return "" where the formula can't be read, or is larger or deeper than the limits."""
    # Loaded where it is used: most processes never show a formula.
    try:
        root: Element = import_module("latex2mathml.converter").convert_to_element(latex)
    except Exception:
        return ""
    if not is_small(root):
        return ""
    root.set("display", "block" if block else "inline")
    return written(root, f' xmlns="http://www.w3.org/1998/Math/MathML" alttext="{escape(latex)}"')


def is_small(root: Element) -> bool:
    n, waiting = 0, [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        n += 1
        if depth > MAX_DEPTH or n > MAX_ELEMENTS:
            return False
        waiting += [(child, depth + 1) for child in element]
    return True


def written(element: Element, more: str = "") -> str:
    """Return the element and what is in it; of an unknown element only what is in it."""
    inside = escaped(element.text) + "".join(written(child) + escaped(child.tail) for child in element)
    if element.tag not in TAGS:
        return inside
    kept = "".join(f' {name}="{escape(str(value))}"' for name, value in element.attrib.items() if name in ATTRIBUTES)
    return f"<{element.tag}{more}{kept}>{inside}</{element.tag}>"


def escaped(text: Any) -> str:
    """Return the text escaped; the library writes symbols as references (&#x02211;) and words as they are."""
    return escape(unescape(text)) if text else ""
