"""The words of a Markdown text without its marks, for one line that names it; what a task shows is rendered instead."""

import re

MAX_READ = 1_000  # characters, more than any line that names a text has

BLOCK_MARKS = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+]|\d{1,9}[.)])[ \t]+)+", re.MULTILINE)
FENCE_OR_RULE = re.compile(r"^[ \t]*(?:`{3,}.*|~{3,}.*|(?:[-*_][ \t]*){3,})$", re.MULTILINE)
CLOSING_MARKS = re.compile(r"^([ \t]*#{1,6}[ \t][^\n]*?)[ \t]+#+[ \t]*$", re.MULTILINE)
UNDERLINE = re.compile(r"(?<=\S)[ \t]*\n {0,3}(?:=+|-{2,})[ \t]*$", re.MULTILINE)
# A heading that something follows and that has no end of its own.
HEADING = re.compile(r"^( {0,3}#{1,6}[ \t]+[^\n]*[^\s.:;,!?…#])(?=\s*\n\s*\S)", re.MULTILINE)
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
    words = CLOSING_MARKS.sub(r"\1", UNDERLINE.sub("", text[:MAX_READ]))
    words = FENCE_OR_RULE.sub("", words)
    words = BLOCK_MARKS.sub("", words)
    words = EMPHASIS.sub(r"\2", CODE.sub(r"\1", LINK.sub(r"\1", words)))
    words = STRONG.sub(lambda found: next(filter(None, found.groups())), words)
    return words if words.strip() else text


def end_headings(text: str) -> str:
    """Return the beginning of the text with a colon after each heading, so that in one line it stands apart."""
    text = CLOSING_MARKS.sub(r"\1", text[:MAX_READ])
    for heading in (HEADING, STRONG_LINE, UNDERLINED):
        text = heading.sub(r"\1:", text)
    return text
