"""Next tokens from counts: shared and own frequencies, alone and after the last token, mixed with learned weights."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_integers
from models_engine.errors import InsufficientData
from models_engine.inference.sequences.data import Sequences
from models_engine.progress import FitLog, Progress

__all__ = ["EXPERTS", "NgramPosterior", "Ngrams"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EXPERTS = ("uniform", "shared", "shared after the last", "own", "own after the last", "recent")
NOTHING = -1  # the last token where there is none yet
DECAY = 0.8  # of the weight of a token of one's own with each one since
LIMITS = (1, 2, 4, 8, 16, 64)  # of how often one's own last token came before: the weights differ by it
TOLERANCE = 1e-6


class OwnCounts:
    """What one annotator did so far: counts, counts after each token, and recent tokens with decaying weight."""

    def __init__(self) -> None:
        self.alone: Counter[int] = Counter()
        self.after: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.recent: dict[int, float] = {}
        self.last = NOTHING
        self.n = 0

    def add(self, token: int) -> None:
        if self.last != NOTHING:
            self.after[self.last][token] += 1
        self.alone[token] += 1
        self.recent = {one: weight * DECAY for one, weight in self.recent.items() if weight > 1e-6}
        self.recent[token] = self.recent.get(token, 0.0) + 1.0
        self.last = token
        self.n += 1

    @property
    def bucket(self) -> int:
        """Return which weights hold: by how often the last token was followed by another before."""
        seen = self.after[self.last].total() if self.last != NOTHING else -1
        return 0 if seen < 0 else 1 + int(np.searchsorted(LIMITS, seen, side="right"))


@dataclass(frozen=True)
class Ngrams:
    """Mixes six frequencies; max_steps: of expectation maximisation for the weights."""

    max_steps: int = 200

    def fit(self, sequences: Sequences, *, progress: Progress | None = None) -> "NgramPosterior":
        """Count, and learn the weights on every token given those before, shared counts without the
        token itself. Raises InsufficientData without a token, Cancelled."""
        if not len(sequences.tokens):
            raise InsufficientData("there is no token; a sequence model needs at least one.")
        alone = np.bincount(sequences.tokens, minlength=sequences.n_tokens).astype(np.float64)
        after: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for one in range(sequences.n_annotators):
            for last, token in pairwise([NOTHING, *sequences.of(one).tolist()]):
                after[last][token] += 1
        n_buckets = len(LIMITS) + 2
        flat = np.full((n_buckets, len(EXPERTS)), 1 / len(EXPERTS))
        counted = NgramPosterior(sequences.n_tokens, alone, dict(after), flat, ())
        chances, buckets = counted.of_experts(sequences, leave_out=True)
        weights, objective = _mix(chances, buckets, n_buckets, self.max_steps, progress)
        return NgramPosterior(sequences.n_tokens, alone, dict(after), weights, objective)


@dataclass(frozen=True, eq=False)
class NgramPosterior:
    """shared: (n_tokens,) counts; after: counts by the token before. weights: (n_buckets, n_experts). objective: mean
    log probability by step of learning them."""

    n_tokens: int
    shared: Floats
    after: dict[int, Counter[int]]
    weights: Floats
    objective: tuple[float, ...]

    def log_next(self, history: ArrayLike, annotator: int | None = None) -> Floats:
        """Return (n_tokens,); whoever it is, their own counts are those of the history."""
        own = OwnCounts()
        for token in read_integers(history, "history", most=self.n_tokens - 1).tolist():
            own.add(token)
        chances = np.stack([self._chances(own, token) for token in range(self.n_tokens)])
        return np.asarray(np.log(chances @ self.weights[own.bucket]))

    def log_tokens(self, sequences: Sequences) -> Floats:
        chances, buckets = self.of_experts(sequences)
        return np.asarray(np.log((chances * self.weights[buckets]).sum(axis=1)))

    def of_experts(self, sequences: Sequences, leave_out: bool = False) -> tuple[Floats, Ints]:
        """Return (n_events, n_experts) chances of the tokens, (n_events,) their buckets."""
        rows, buckets = [], []
        for one in range(sequences.n_annotators):
            own = OwnCounts()
            for token in sequences.of(one).tolist():
                rows.append(self._chances(own, token, leave_out))
                buckets.append(own.bucket)
                own.add(token)
        return np.array(rows).reshape(-1, len(EXPERTS)), np.array(buckets, dtype=np.int64)

    def _chances(self, own: OwnCounts, token: int, leave_out: bool = False) -> list[float]:
        """Return what each expert gives the token; one without counts gives what the one before it does."""
        less, uniform = float(leave_out), 1 / self.n_tokens
        total = self.shared.sum() - less
        alone = (self.shared[token] - less + uniform) / (total + 1)
        shared_after = alone
        of_last = self.after.get(own.last)
        if of_last:
            shared_after = (of_last[token] - less * (of_last[token] > 0) + alone) / (of_last.total() - less + 1)
        mine = own.alone[token] / own.n if own.n else shared_after
        own_last = own.after.get(own.last)
        mine_after = own_last[token] / own_last.total() if own_last else mine
        recent = own.recent.get(token, 0.0) / sum(own.recent.values()) if own.recent else mine
        return [uniform, alone, shared_after, mine, mine_after, recent]


def _mix(
    chances: Floats, buckets: Ints, n_buckets: int, max_steps: int, progress: Progress | None
) -> tuple[Floats, tuple[float, ...]]:
    """Return weights by expectation maximisation with one count spread over each bucket's experts.

    The first expert keeps a thousandth at least, so that no token is impossible.
    """
    n = chances.shape[1]
    weights, log = np.full((n_buckets, n), 1 / n), FitLog(max_steps, progress)
    change = np.inf
    while len(log.objective) < max_steps and change > TOLERANCE:
        joint = chances * weights[buckets]
        total = joint.sum(axis=1, keepdims=True)
        log.step(float(np.log(total).sum() + np.log(weights).sum() / n) / max(1, len(chances)))
        change = log.objective[-1] - log.objective[-2] if len(log.objective) > 1 else np.inf
        counts = np.full((n_buckets, n), 1 / n)
        np.add.at(counts, buckets, joint / total)
        weights = counts / counts.sum(axis=1, keepdims=True)
    return weights, tuple(log.objective)
