"""Sequences of tokens, one per annotator, and what every model of them offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_integers
from models_engine.errors import InvalidData

__all__ = ["SequenceModel", "Sequences", "mean_loss"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sequences:
    """tokens: (n_events,), those of one annotator together, in order of time. starts: (n_annotators + 1,), the places
    where each begins. n_tokens: how many different tokens there are; an annotator may have none."""

    tokens: Ints
    starts: Ints
    n_tokens: int

    @classmethod
    def from_lists(cls, lists: Sequence[ArrayLike], n_tokens: int) -> "Sequences":
        """Read one list of tokens per annotator, each from 0 to n_tokens - 1. Raises InvalidData."""
        if n_tokens < 1:
            raise InvalidData(f"n_tokens is {n_tokens}; a sequence needs at least one token to hold.")
        read = [read_integers(one, "tokens", most=n_tokens - 1) for one in lists]
        tokens = np.concatenate([np.zeros(0, dtype=np.int64), *read])
        return cls(tokens, np.cumsum([0, *map(len, read)]), int(n_tokens))

    @property
    def n_annotators(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @property
    def annotators(self) -> Ints:
        """Return (n_events,) whose each token is."""
        return np.repeat(np.arange(self.n_annotators), self.lengths)

    @property
    def places(self) -> Ints:
        """Return (n_events,) how many tokens of the same annotator came before each."""
        return np.arange(len(self.tokens)) - np.repeat(self.starts[:-1], self.lengths)

    def of(self, annotator: int) -> Ints:
        return self.tokens[self.starts[annotator] : self.starts[annotator + 1]]

    def random_tails(self, share: float, rng: np.random.Generator) -> Ints:
        """Return (n_annotators,) where a last share of each begins: of a short sequence its last token, or nothing."""
        held = np.floor(self.lengths * share + rng.uniform(size=self.n_annotators)).astype(np.int64)
        return np.asarray(self.lengths - np.minimum(held, self.lengths))

    def heads(self, lengths: Ints) -> "Sequences":
        """Return the first so many tokens of each annotator, (n_annotators,)."""
        kept = self.places < np.repeat(lengths, self.lengths)
        return Sequences(self.tokens[kept], np.append(0, np.cumsum(np.minimum(lengths, self.lengths))), self.n_tokens)


class SequenceModel(Protocol):
    """A fitted model of what comes next. An annotator unknown to it is None."""

    def log_next(self, history: ArrayLike, annotator: int | None) -> Floats:
        """Return (n_tokens,) the log probability of each token to come next; `history` may be empty."""
        ...

    def log_tokens(self, sequences: Sequences) -> Floats:
        """Return (n_events,) log P of each token given those before; annotators are numbered as in the fit."""
        ...


def mean_loss(log_tokens: Floats, sequences: Sequences, tails: Ints) -> Floats:
    """Return (n,) the mean of minus the log probabilities of each annotator's tokens from place `tails` on.

    tails: (n_annotators,). Annotators without such tokens are left out.
    """
    kept = sequences.places >= np.repeat(tails, sequences.lengths)
    who = sequences.annotators[kept]
    n = np.bincount(who, minlength=sequences.n_annotators)
    total = np.bincount(who, -log_tokens[kept], sequences.n_annotators)
    return np.asarray(total[n > 0] / n[n > 0])
