"""Finds texts that say nearly the same, by the cosine between their sets of three-character runs.

It needs no dictionary and works in any language that is written in letters; the word order counts little, endings and
spelling little, other words for the same thing are not found. Building takes the time of one sort of all characters,
looking up a text that of its own runs: a search over 10,000 texts never compares them with each other.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_TEXTS = 10_000
MAX_CHARACTERS = 300  # of a text, which says by then what it is about
LEAST = 0.4  # cosine from which two texts are called similar
SIGNS = re.compile(r"[\W_]+")
CODE_BITS = 21  # of a Unicode character

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Match:
    """place: of the text among those given. cosine: 1 where it has the same runs."""

    place: int
    cosine: float


class SimilarTexts:
    """The runs of many texts, sorted, so that those of one more are looked up."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Keep the first MAX_TEXTS of these texts."""
        plain = [plain_text(text) for text in texts[:MAX_TEXTS]]
        lengths = [len(text) for text in plain]
        runs, inside = runs_of("".join(plain), np.repeat(np.arange(len(plain)), lengths))
        order = np.argsort(runs, kind="stable")  # the texts of a run stay in their order
        runs, inside = runs[order], inside[order]
        new = np.ones(len(runs), dtype=bool)
        new[1:] = (runs[1:] != runs[:-1]) | (inside[1:] != inside[:-1])
        self.runs, self.inside = runs[new], inside[new]
        self.sizes = np.bincount(self.inside, minlength=len(plain))

    def find(self, text: str, n: int = 3, least: float = LEAST) -> list[Match]:
        """Return up to n texts whose cosine with this one is `least` or more, the most similar first."""
        plain = plain_text(text)
        wanted = np.unique(runs_of(plain, np.zeros(len(plain), dtype=np.int64))[0])
        if not len(wanted) or not len(self.runs):
            return []
        starts = np.searchsorted(self.runs, wanted, "left")
        ends = np.searchsorted(self.runs, wanted, "right")
        found = [self.inside[start:end] for start, end in zip(starts, ends, strict=True)]
        shared = np.bincount(np.concatenate(found), minlength=len(self.sizes))
        cosines = shared / np.sqrt(np.maximum(self.sizes, 1) * len(wanted))
        best = np.argsort(-cosines, kind="stable")[:n]
        return [Match(int(place), float(cosines[place])) for place in best if cosines[place] >= least]


def plain_text(text: str) -> str:
    """Return the words in lower case between single blanks, without accents' other spellings and without signs."""
    folded = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]).casefold()
    words = SIGNS.sub(" ", folded).strip()
    return f" {words} " if words else ""


def runs_of(text: str, owners: Integers) -> tuple[Integers, Integers]:
    """Return every three characters in a row as one number, and whose they are; none across two owners.

    owners: (len(text),), for each character the text that it is of.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    if len(codes) < 3:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    runs = (codes[:-2] << 2 * CODE_BITS) | (codes[1:-1] << CODE_BITS) | codes[2:]
    whole = owners[:-2] == owners[2:]
    return runs[whole], owners[:-2][whole]
