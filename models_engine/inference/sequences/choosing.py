"""Chooses between counts and the recurrent network: the network only where it wins on held-out tails."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.sequences.data import SequenceModel, Sequences, mean_loss
from models_engine.inference.sequences.gru_fit import VARIANTS, RecurrentNetwork
from models_engine.inference.sequences.ngrams import Ngrams
from models_engine.progress import Progress

__all__ = ["COUNTS", "Chosen", "choose_model", "gain"]

Floats = NDArray[np.float64]
COUNTS = "counts"
HELD_OUT = 0.1  # the last share of each sequence


@dataclass(frozen=True, eq=False)
class Chosen:
    """name: COUNTS or a variant of the network. losses: by candidate, the mean over annotators on held-out tails.
    gains: by variant, the mean gain over counts with its standard error, nats a token."""

    name: str
    model: SequenceModel
    losses: dict[str, float]
    gains: dict[str, tuple[float, float]]


def gain(of_counts: Floats, of_network: Floats) -> tuple[float, float]:
    """Return the mean of the differences of the annotators' losses, (n,) each, and its standard error: inf for one."""
    differences = of_counts - of_network
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
    return float(differences.mean()) if len(differences) else 0.0, float(error)


def choose_model(
    sequences: Sequences,
    variants: Sequence[str] = tuple(VARIANTS),
    *,
    width: int = 24,
    seed: int = 0,
    progress: Progress | None = None,
) -> Chosen:
    """Fit each candidate to all but the last tenth of each sequence, and the one chosen to all of it.

    Counts are chosen unless a variant's mean gain over them is larger than its standard error; of several, the one that
    gains most. Raises InsufficientData without a token, InvalidSetting, Cancelled.
    """
    tails = sequences.random_tails(HELD_OUT, np.random.default_rng([seed, 1]))
    heads = sequences.heads(tails)
    networks = {name: RecurrentNetwork(name, width=width) for name in variants}
    of_counts = mean_loss(Ngrams().fit(heads, progress=progress).log_tokens(sequences), sequences, tails)
    losses, gains = {COUNTS: _mean(of_counts)}, {}
    for name, network in networks.items():
        found = network.fit(heads, seed=seed, progress=progress)
        own = mean_loss(found.log_tokens(sequences), sequences, tails)
        losses[name], gains[name] = _mean(own), gain(of_counts, own)
    winners = [name for name, (mean, error) in gains.items() if mean > error]
    best = max(winners, key=lambda name: gains[name][0], default=COUNTS)
    model: SequenceModel
    if best == COUNTS:
        model = Ngrams().fit(sequences, progress=progress)
    else:
        model = networks[best].fit(sequences, seed=seed, progress=progress)
    return Chosen(best, model, losses, gains)


def _mean(losses: Floats) -> float:
    return float(losses.mean()) if len(losses) else 0.0
