"""Trains the gated recurrent network of a collection of sequences: own, pooled, residual, or with user vectors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_integers
from models_engine.errors import InsufficientData, InvalidSetting
from models_engine.inference.sequences.data import Sequences, mean_loss
from models_engine.inference.sequences.gru import START, Batch, Parameters, log_outputs, loss_and_gradient, run
from models_engine.messages import Message, gettext_noop
from models_engine.progress import FitLog, Progress
from models_engine.summaries import Diagnostics

__all__ = ["VARIANTS", "GruPosterior", "RecurrentNetwork"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# shared matrices, own matrices, own vectors
VARIANTS = {
    "own": (False, True, False),
    "pooled": (True, False, False),
    "residual": (True, True, False),
    "user vector": (True, False, True),
}
BATCH = 32  # annotators at once
STRETCH = 64  # steps that gradients go back
HELD_OUT = 0.1  # the last share of each sequence, which says when to stop
RATE, FORGETTING, CLIP = 0.01, 0.9, 1.0
MAX_RISES = 3


@dataclass(frozen=True)
class RecurrentNetwork:
    """variant: one of VARIANTS. width: of the state. ridge: on what is an annotator's own beside what is shared."""

    variant: str = "pooled"
    width: int = 24
    ridge: float = 0.01
    max_epochs: int = 60

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise InvalidSetting(f"there is no variant {self.variant!r}; choose one of {', '.join(VARIANTS)}.")
        if self.width < 1 or self.max_epochs < 1 or not 0 <= self.ridge < np.inf:
            raise InvalidSetting("width and max_epochs must be 1 or more, ridge finite and 0 or more.")

    def fit(self, sequences: Sequences, *, seed: int = 0, progress: Progress | None = None) -> "GruPosterior":
        """Train by RMSprop on all but the last tenth of each sequence, which says when to halve the rate and stop.

        Raises InsufficientData without a token, Cancelled.
        """
        if not len(sequences.tokens):
            raise InsufficientData("there is no token; a sequence model needs at least one.")
        log, rng = FitLog(self.max_epochs, progress), np.random.default_rng(seed)
        tails = sequences.random_tails(HELD_OUT, rng)
        heads = sequences.heads(tails)
        at, rate, rises = self._start(heads, rng), RATE, 0
        best, least = at.copy(), np.inf
        squares = {name: np.zeros_like(array) for name, array in at.arrays().items()}
        is_shared = VARIANTS[self.variant][0]
        while len(log.objective) < self.max_epochs and rises < MAX_RISES:
            for batch in _batches(heads, self.width, rng):
                self._train(at, squares, batch, rate, self.ridge if is_shared else 0.0, log)
            losses = mean_loss(GruPosterior(at, UNTRAINED).log_tokens(sequences), sequences, tails)
            loss = float(losses.mean()) if len(losses) else float(len(log.objective))
            if loss < least:
                best, least = at.copy(), loss
            else:
                rate, rises = rate / 2, rises + 1
            log.step(-least)
        text = gettext_noop("the loss of held-out tails rose %(rises)d times in %(n)d epochs")
        message = Message.of(text, rises=rises, n=len(log.objective))
        return GruPosterior(best, log.finish(converged=rises >= MAX_RISES, message=message))

    def _start(self, sequences: Sequences, rng: np.random.Generator) -> Parameters:
        shared, own, vector = VARIANTS[self.variant]
        d, n = self.width, sequences.n_annotators
        scale = 1 / np.sqrt(d)
        common = rng.normal(0, scale, (3, d, d))
        counts = np.bincount(sequences.tokens, minlength=sequences.n_tokens) + 0.1
        return Parameters(
            rows=rng.normal(0, 0.1, (sequences.n_tokens, 3 * d)),
            bias=np.zeros(3 * d),
            matrices=common if shared else np.zeros((3, d, d)),
            own=np.tile(np.zeros_like(common) if shared else common, (n if own else 0, 1, 1, 1)),
            vectors=np.zeros((n if vector else 0, 3 * d)),
            out=rng.normal(0, 0.1, (sequences.n_tokens, d)),
            level=np.log(counts / counts.sum()),
        )

    def _train(
        self, at: Parameters, squares: dict[str, Floats], batch: Batch, rate: float, ridge: float, log: FitLog
    ) -> None:
        """Step along the gradient of each stretch of the batch, the state carried on from one to the next."""
        h = batch.h
        for start in range(0, batch.tokens.shape[1], STRETCH):
            log.check()
            tokens = batch.tokens[:, start : start + STRETCH]
            going = (tokens >= 0).any(axis=1)
            part = Batch(tokens[going], batch.annotators[going], h[going])
            _loss, gradient, after = loss_and_gradient(at, part, ridge)
            h = h.copy()
            h[going] = after
            norm = np.sqrt(sum(float((one**2).sum()) for one in gradient.arrays().values()))
            clip = min(1.0, CLIP / max(norm, 1e-12))
            for name, slope in gradient.arrays().items():
                if name == "matrices" and not VARIANTS[self.variant][0]:
                    continue
                where = part.annotators if name in ("own", "vectors") and len(slope) else slice(None)
                value, square = getattr(at, name), squares[name]
                square[where] = FORGETTING * square[where] + (1 - FORGETTING) * (clip * slope) ** 2
                value[where] -= rate * clip * slope / (np.sqrt(square[where]) + 1e-6)


UNTRAINED = Diagnostics(False, 0, (), 0.0, "still being trained")


def _batches(sequences: Sequences, width: int, rng: np.random.Generator | None = None) -> Iterator[Batch]:
    """Return the annotators with tokens in batches of like length, in random order where `rng` is given."""
    order = np.argsort(sequences.lengths, kind="stable")
    order = order[sequences.lengths[order] > 0]
    parts = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    for place in rng.permutation(len(parts)) if rng else range(len(parts)):
        who = parts[place]
        tokens = np.full((len(who), int(sequences.lengths[who].max())), -1)
        for row, one in enumerate(who):
            tokens[row, : sequences.lengths[one]] = sequences.of(one)
        yield Batch(tokens, who, np.full((len(who), width), START))


@dataclass(frozen=True, eq=False)
class GruPosterior:
    """The trained network. diagnostics.objective: minus the held-out loss, nats a token, by epoch, the best so far."""

    parameters: Parameters
    diagnostics: Diagnostics

    def log_next(self, history: ArrayLike, annotator: int | None) -> Floats:
        """Return (n_tokens,); an annotator unknown to the network, or None, has the mean of all own parameters."""
        at = self.parameters
        tokens = read_integers(history, "history", most=len(at.rows) - 1)
        n = max(len(at.own), len(at.vectors))
        known = annotator if annotator is not None and 0 <= annotator < n else -1
        start = np.full((1, at.out.shape[1]), START)
        last = run(at, Batch(tokens[None], np.array([known]), start)).last
        return log_outputs(at, last[0])

    def log_tokens(self, sequences: Sequences) -> Floats:
        at, found = self.parameters, np.zeros(len(sequences.tokens))
        n = max(len(at.own), len(at.vectors))
        for batch in _batches(sequences, at.out.shape[1]):
            known = np.where(batch.annotators < n, batch.annotators, -1)
            states = run(at, Batch(batch.tokens, known, batch.h)).states
            for row, one in enumerate(batch.annotators):
                own = sequences.of(one)
                logs = log_outputs(at, states[: len(own), row])
                found[sequences.starts[one] : sequences.starts[one + 1]] = logs[np.arange(len(own)), own]
        return found
