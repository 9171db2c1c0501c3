"""The words of a Markdown text without its marks, for one line that names it; what a task shows is rendered instead."""

import re

MAX_READ = 1_000  # characters, more than any line that names a text has

BLOCK_MARKS = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+]|\d{1,9}[.)])[ \t]+)+", re.MULTILINE)
FENCE_OR_RULE = re.compile(r"^[ \t]*(?:`{3,}.*|~{3,}.*|(?:[-*_][ \t]*){3,})$", re.MULTILINE)
UNDERLINE = re.compile(r"(?<=\S)[ \t]*\n {0,3}(?:=+|-{2,})[ \t]*$", re.MULTILINE)
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S")
ENDS = frozenset(".:;,!?…#")
# A line that something follows and that has no end of its own, underlined.
UNDERLINED = re.compile(r"^([^\n]*[^\s.:;,!?…])(?=[ \t]*\n {0,3}(?:=+|-{2,})[ \t]*\n\s*\S)", re.MULTILINE)
# A line of strong words alone is used as a heading.
STRONG_LINE = re.compile(
    r"^( {0,3}(?:\*\*[^*\n]*[^*\s.:;,!?…]\*\*|__[^_\n]*[^_\s.:;,!?…]__))(?=[ \t]*\n\s*\S)", re.MULTILINE
)
LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
EMPHASIS = re.compile(r"(?<![\w*_])([*_])(?=[^\s*_])([^*_\n]+)(?<=\S)\1(?![\w*_])")
STRONG = re.compile(
    r"\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*|(?<!\w)__(?=[^\s_])([^_\n]+)(?<=\S)__(?!\w)|~~(?=[^\s~])([^~\n]+)(?<=\S)~~"
)
CODE = re.compile(r"(?<!`)`{1,2}([^`\n]+)`{1,2}(?!`)")


def markdown_words(text: str) -> str:
    """Return the beginning of the text without marks of headings, lists, quotations, code, links and emphasis.

    The text itself where nothing else would be left.
    """
    words = without_closing_marks(UNDERLINE.sub("", text[:MAX_READ]))
    words = FENCE_OR_RULE.sub("", words)
    words = BLOCK_MARKS.sub("", words)
    words = EMPHASIS.sub(r"\2", CODE.sub(r"\1", LINK.sub(r"\1", words)))
    words = STRONG.sub(lambda found: next(filter(None, found.groups())), words)
    return words if words.strip() else text


def without_closing_marks(text: str) -> str:
    """Return the text without the marks that may stand after a heading, too."""
    return "\n".join(map(closed_heading, text.split("\n")))


def closed_heading(line: str) -> str:
    text = line.rstrip().rstrip("#")
    is_closed = text != line.rstrip() and text[-1:].isspace() and HEADING.match(text)
    return text.rstrip() if is_closed else line


def end_headings(text: str) -> str:
    """Return the beginning of the text with a colon after each heading, so that in one line it stands apart."""
    lines = without_closing_marks(text[:MAX_READ]).split("\n")
    last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    for number, line in enumerate(lines[:last]):
        if HEADING.match(line) and line.rstrip()[-1] not in ENDS:
            lines[number] = line.rstrip() + ":"
    return UNDERLINED.sub(r"\1:", STRONG_LINE.sub(r"\1:", "\n".join(lines)))
