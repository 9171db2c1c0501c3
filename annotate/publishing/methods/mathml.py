"""Turns the linear formulas of models_engine.estimators.methods into MathML and into readable text."""

import re
from collections.abc import Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

TOKEN = re.compile(r"(?P<word>[^\W\d_]+′?)|(?P<number>\d+)|(?P<sign>\S)")
PLAIN_WORDS = frozenset({"beats", "out", "of", "prefers", "to", "tie", "ranking", "by", "grade"})  # words within P(...)


def mathml(formula: str) -> SafeString:
    """Return a <math> element; every text of the formula is escaped."""
    return format_html('<math display="block">{}</math>', _row(_tokens(formula), ""))


def readable(formula: str) -> str:
    """Return the formula as one line of plain text: fractions with a slash, braces of subscripts dropped."""
    text = re.sub(r"frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}", _fraction, formula)
    return text.replace("{", "").replace("}", "")


def _fraction(found: re.Match[str]) -> str:
    above, below = (f"({part})" if re.search(r"\W", part) else part for part in found.groups())
    return f"{above} / {below}"


def _tokens(formula: str) -> Iterator[tuple[str, str]]:
    for found in TOKEN.finditer(formula):
        yield str(found.lastgroup), found[str(found.lastgroup)]


def _row(tokens: Iterator[tuple[str, str]], until: str) -> SafeString:
    """Return <mrow> of what comes before `until`, with subscripts and superscripts put to what they follow."""
    found: list[SafeString] = []
    for kind, text in tokens:
        if text == until:
            break
        if text in ("_", "^") and found:
            tag = "msub" if text == "_" else "msup"
            found.append(format_html("<{}>{}{}</{}>", tag, found.pop(), _atom(tokens, *next(tokens)), tag))
        else:
            found.append(_atom(tokens, kind, text))
    return format_html("<mrow>{}</mrow>", format_html_join("", "{}", ((one,) for one in found)))


def _atom(tokens: Iterator[tuple[str, str]], kind: str, text: str) -> SafeString:
    if text == "frac":
        above, below = _group(tokens), _group(tokens)
        return format_html("<mfrac>{}{}</mfrac>", above, below)
    if text == "{":
        return _row(tokens, "}")
    if text in PLAIN_WORDS:
        return format_html("<mtext>\N{NO-BREAK SPACE}{}\N{NO-BREAK SPACE}</mtext>", text)
    tag = {"word": "mi", "number": "mn"}.get(kind, "mo")
    return format_html("<{}>{}</{}>", tag, "−" if text == "-" else text, tag)


def _group(tokens: Iterator[tuple[str, str]]) -> SafeString:
    next(tokens)  # the opening brace
    return _row(tokens, "}")
