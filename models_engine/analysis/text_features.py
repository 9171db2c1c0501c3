"""What a text says in some fifty plain numbers, as item features: its length, and its words along main directions."""

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from models_engine.arrays import read_count
from models_engine.errors import InvalidData

__all__ = ["MAX_DIRECTIONS", "NAMES", "log_lengths", "measure_texts", "split_words", "text_features", "tf_idf"]

Floats = NDArray[np.float64]
MIN_TEXTS = 2  # words in fewer texts are ignored
MAX_WORDS = 10_000  # of the vocabulary: those in most texts
MAX_TEXT_WORDS = 1_000  # of a text; its length counts all
MAX_DIRECTIONS = 50  # 100 predict hardly better: `python -m models_engine.benchmarks unseen`
TEXTS_PER_DIRECTION = 4
NAMES = ("length", *(f"words_{number}" for number in range(1, MAX_DIRECTIONS + 1)))
# Scripts that are written without spaces: Thai, Lao, Myanmar, Khmer, Japanese, Chinese.
WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def split_words(text: str) -> list[str]:
    """Split a text into its words, of letters and digits with their marks, in lower case.

    Text without spaces between words (Chinese, Japanese, Thai, ...) gives every two neighbouring letters instead.
    """
    words = word_pattern().findall(unicodedata.normalize("NFKC", text).casefold())
    return [part for word in words for part in _parts(word)]


@cache
def word_pattern() -> re.Pattern[str]:
    r"""Compile what a word is. Vowel signs and accents of their own are part of it, which \w leaves out."""
    marks = "".join(chr(code) for code in range(0x300, 0x20000) if unicodedata.category(chr(code))[0] == "M")
    letter = rf"(?:[^\W_]|[{re.escape(marks)}])"
    return re.compile(rf"{letter}+(?:'{letter}+)?")


def _parts(word: str) -> Iterator[str]:
    if not WITHOUT_SPACES.search(word):
        yield word
        return
    end = 0
    for run in WITHOUT_SPACES.finditer(word):
        if run.start() > end:
            yield word[end : run.start()]
        letters = run.group()
        yield from (letters[place : place + 2] for place in range(max(1, len(letters) - 1)))
        end = run.end()
    if end < len(word):
        yield word[end:]


def log_lengths(texts: Iterable[str]) -> Floats:
    """Return the log of 1 + the number of words, (n_texts,)."""
    return np.log1p([len(split_words(text)) for text in texts])


def tf_idf(texts: Iterable[str]) -> scipy.sparse.csr_array:
    """Compute TF-IDF (n_texts, n_words) of the words in MIN_TEXTS texts or more, at most MAX_WORDS: those in most.

    (1 + log count) log((1 + n) / (1 + df)) + 1 (Manning, Raghavan & Schuetze 2008, 6.2, smoothed), rows of length 1 (0
    for a text without such words). Of a text its first MAX_TEXT_WORDS words count.
    """
    return _tf_idf(split_words(text) for text in texts)


def _tf_idf(texts: Iterable[Sequence[str]]) -> scipy.sparse.csr_array:
    number: dict[str, int] = {}
    columns, times, starts = array("i"), array("d"), array("i", [0])
    for words in texts:
        count = Counter(words[:MAX_TEXT_WORDS])
        columns.extend(number.setdefault(word, len(number)) for word in count)
        times.extend(count.values())
        starts.append(len(columns))
    n, places = len(starts) - 1, np.frombuffer(columns, dtype=np.int32) if columns else np.zeros(0, np.int32)
    found = np.bincount(places, minlength=len(number))
    often = sorted(word for word, place in number.items() if found[place] >= MIN_TEXTS)
    often = sorted(sorted(often, key=lambda word: -found[number[word]])[:MAX_WORDS])  # of equals the first by letter
    kept = np.array([number[word] for word in often], dtype=np.int64)
    values = 1 + np.log(np.frombuffer(times)) if times else np.zeros(0)
    matrix = scipy.sparse.csr_array((values, places, np.array(starts, dtype=np.int32)), shape=(n, len(number)))[:, kept]
    rarity = np.log((1 + n) / (1 + found[kept])) + 1
    matrix.data *= rarity[matrix.indices]
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    matrix.data /= np.sqrt(np.bincount(rows, matrix.data**2, n))[rows]
    return matrix


def text_features(texts: Iterable[str], width: int) -> Floats:
    """Return (n_texts, up to width + 1): left singular vectors times singular values, largest first; the log length."""
    lengths, matrix = _read(texts)
    return np.column_stack([_directions(matrix, read_count(width, "width")), lengths])


def measure_texts(texts: Iterable[str]) -> Floats:
    """Return the features NAMES of each text, (n_texts, 51); the same for the same texts in the same order.

    length: the log of 1 + the number of words.   words_1, ...: the text's TF-IDF along the main directions of all
    (truncated singular value decomposition, Deerwester et al. 1990), the largest first, one for every four texts and
    at most 50; nan for those that there are not. Of a direction's two signs the one is taken that makes its largest
    weight of a word positive. Texts are
    read once, one at a time. Raises InvalidData where fewer than 2 have words.
    """
    lengths, matrix = _read(texts)
    n = np.count_nonzero(lengths)
    if n < MIN_TEXTS:
        raise InvalidData(f"{n} of {len(lengths)} texts have words; give {MIN_TEXTS} with words or more.", value=n)
    found = np.full((len(lengths), len(NAMES)), np.nan)
    found[:, 0] = lengths
    directions = _directions(matrix, min(MAX_DIRECTIONS, len(lengths) // TEXTS_PER_DIRECTION))
    found[:, 1 : 1 + directions.shape[1]] = directions
    return found


def _read(texts: Iterable[str]) -> tuple[Floats, scipy.sparse.csr_array]:
    """Return (log_lengths, tf_idf) of texts that are read once, one at a time."""
    lengths = array("d")

    def split() -> Iterator[list[str]]:
        for text in texts:
            words = split_words(text)
            lengths.append(np.log1p(len(words)))
            yield words

    matrix = _tf_idf(split())
    return np.array(lengths), matrix


def _directions(matrix: scipy.sparse.csr_array, width: int) -> Floats:
    """Return (n_texts, up to width) left singular vectors times singular values above 0, the largest first."""
    count = min(width, min(matrix.shape) - 1)
    if count < 1 or not matrix.nnz:
        return np.zeros((matrix.shape[0], 0))
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    u, d, vt = svds(matrix, k=count, v0=start)
    order = np.argsort(-d)
    order = order[d[order] > 1e-9 * d.max()]
    sign = np.sign(vt[order, np.abs(vt[order]).argmax(axis=1)])
    return u[:, order] * (d[order] * sign)
