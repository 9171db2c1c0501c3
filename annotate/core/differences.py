"""Marks the words in which two texts differ, each in its own text: for eyes and for screen readers."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from typing import NamedTuple

from django.core.cache import cache
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotate.core.sanitizing import CACHED_LENGTH, CACHED_SECONDS

MAX_WORDS = 1500  # of each text; the comparison takes time with the square of it
LEAST_ALIKE = 0.2  # of the words of both; below it nearly all would be marked, which tells nobody anything
CACHED_AS = "differences-1"
TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


class Run(NamedTuple):
    """Words one after the other, with the white space before them."""

    text: str
    differs: bool


def compare(first: str, second: str) -> tuple[list[Run], list[Run]] | None:
    """Return both texts as runs of words that the other has too, in this order, or has not.

    None where a text has more than MAX_WORDS words, or both have too little in common.
    """
    words = words_of(first), words_of(second)
    if max(map(len, words)) > MAX_WORDS:
        return None
    plain = [[word.strip() for word in some] for some in words]
    matcher = SequenceMatcher(None, plain[0], plain[1], autojunk=False)
    if matcher.ratio() < LEAST_ALIKE:
        return None
    runs: tuple[list[Run], list[Run]] = ([], [])
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        for side, some, (low, high) in zip(runs, words, ((start, end), (other_start, other_end)), strict=True):
            if low < high:
                side.append(Run("".join(some[low:high]), tag != "equal"))
    return runs


def words_of(text: str) -> list[str]:
    """Return the words and signs, each with the white space before it; white space at the end is left out."""
    words, space = [], ""
    for token in TOKEN.findall(text):
        if token.isspace():
            space = token
        else:
            words.append(space + token)
            space = ""
    return words


def mark_differences(first: str, second: str) -> tuple[SafeString, SafeString] | None:
    """Return both texts as safe HTML, what differs marked; None where `compare` has nothing to mark.

    Of long texts the result is kept, as what they look like rendered is.
    """
    if len(first) + len(second) < CACHED_LENGTH:
        return render_both(first, second)
    texts = sha256("\0".join((get_language() or "", first, second)).encode()).hexdigest()
    key = f"{CACHED_AS}-{texts}"
    kept = cache.get(key)
    if kept is None:
        kept = render_both(first, second) or ()
        cache.set(key, [str(text) for text in kept], CACHED_SECONDS)
    return (mark_safe(kept[0]), mark_safe(kept[1])) if kept else None  # noqa: S308  (made by render_run)


def render_both(first: str, second: str) -> tuple[SafeString, SafeString] | None:
    found = compare(first, second)
    return (render_runs(found[0]), render_runs(found[1])) if found else None


def render_runs(runs: Sequence[Run]) -> SafeString:
    return format_html_join("", "{}", ((render_run(run),) for run in runs))


def render_run(run: Run) -> SafeString:
    """Return the run, if it differs in an element that a screen reader tells by words around it."""
    if not run.differs:
        return format_html("{}", run.text)
    words = run.text.lstrip()
    return format_html(
        '{}<mark class="differs">{}{}{}</mark>',
        run.text[: len(run.text) - len(words)],
        hidden_text(_("[differs:")),
        words,
        hidden_text(_("end]")),
    )


def hidden_text(words: str) -> SafeString:
    return format_html('<span class="visually-hidden"> {} </span>', words)
