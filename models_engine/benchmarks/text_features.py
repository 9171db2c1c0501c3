"""Features of texts: TF-IDF of words, compressed by a truncated singular value decomposition, and the length."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

__all__ = ["log_lengths", "text_features", "tf_idf"]

Floats = NDArray[np.float64]
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
MIN_TEXTS = 2  # words in fewer texts are ignored


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words of letters and digits."""
    return WORD.findall(text.lower())


def log_lengths(texts: Sequence[str]) -> Floats:
    """Return the log of 1 + the number of words, (n_texts,)."""
    return np.log1p([len(split_words(text)) for text in texts])


def tf_idf(texts: Sequence[str]) -> scipy.sparse.csr_array:
    """Compute TF-IDF (n_texts, n_words) of every word in MIN_TEXTS texts or more.

    (1 + log count) log((1 + n) / (1 + df)) + 1 (Manning, Raghavan & Schuetze 2008, 6.2, smoothed), rows of length 1 (0
    for a text without such words).
    """
    counts = [Counter(split_words(text)) for text in texts]
    found = Counter(word for count in counts for word in count)
    kept = {word: place for place, word in enumerate(sorted(word for word, n in found.items() if n >= MIN_TEXTS))}
    cells = [(row, kept[word], n) for row, count in enumerate(counts) for word, n in count.items() if word in kept]
    rows, columns, times = np.array(cells, dtype=np.int64).reshape(-1, 3).T
    rarity = np.log((1 + len(texts)) / (1 + np.array([found[word] for word in kept]))) + 1
    matrix = scipy.sparse.csr_array(
        ((1 + np.log(times)) * rarity[columns], (rows, columns)), shape=(len(texts), len(kept))
    )
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.where(length > 0, length, 1)) @ matrix)


def text_features(texts: Sequence[str], width: int) -> Floats:
    """Return (n_texts, up to width + 1): left singular vectors times singular values, largest first; the log length."""
    matrix = tf_idf(texts)
    count = min(width, min(matrix.shape) - 1)
    if count < 1:
        return log_lengths(texts)[:, None]
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    u, d, _ = svds(matrix, k=count, v0=start)
    order = np.argsort(-d)
    return np.column_stack([u[:, order] * d[order], log_lengths(texts)])
