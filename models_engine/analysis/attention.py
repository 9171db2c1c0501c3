"""How a rule that asks what matters spreads its questions over the items, for forecasts of the labels still needed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.acquisition.aims import Aim, open_density
from models_engine.acquisition.candidates import LEAST_WORTH, N_PLACES

__all__ = ["Attention"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Attention:
    """A rule that chooses questions for an aim, but for a balanced share of them.

    margin: the difference up to which items count as tied.   adaptive_so_far: the share of the labels there are whose
    questions were chosen so.   unit: what turns utilities into logits.
    """

    aim: Aim
    balanced: float
    margin: float = 0.0
    adaptive_so_far: float = 0.0
    unit: float = 1.0

    def growth(self, mean: Floats, variance: Floats) -> Floats:
        """Return how often each item comes, as a multiple of an even spread, (n_draws, n_items).

        mean (n_draws, n_items), variance likewise or (n_items,): of the utilities by then. Items whose worth is at
        least LEAST_WORTH of the largest come equally often: rounds of matching ask of each at most once.
        """
        worth = self._values(mean, np.broadcast_to(variance, mean.shape))
        most = worth.max(axis=1, keepdims=True)
        chosen = (worth >= LEAST_WORTH * most) & (most > 0)
        n_chosen = chosen.sum(axis=1, keepdims=True)
        share = np.where(n_chosen > 0, chosen * (mean.shape[1] / np.maximum(n_chosen, 1)), 1.0)
        return self.balanced + (1 - self.balanced) * share

    def gain(self, mean: Floats) -> float:
        """Return how much more a comparison will tell than those so far did, by how close the items are to each other.

        mean (n_items,). A comparison at a margin of d logits tells in proportion to p (1 - p), p = 1/(1 + exp(-d)).
        """
        n = len(mean)
        ranked = np.sort(self.unit * mean)
        near = np.concatenate(
            [_information(ranked[step:] - ranked[:-step]) for step in range(1, min(N_PLACES, n - 1) + 1)]
        )
        rng = np.random.default_rng(0)
        one = rng.integers(n, size=4_000)
        other = (one + rng.integers(1, n, size=4_000)) % n
        closer = float(near.mean() / _information(ranked[one] - ranked[other]).mean())
        future = self.balanced + (1 - self.balanced) * closer
        return future / (1 - self.adaptive_so_far + self.adaptive_so_far * closer)

    def _values(self, mean: Floats, variance: Floats) -> Floats:
        """Return what acquisition says an item is worth, for the best k and classes; for the whole order, 1."""
        if self.aim.kind == "whole":
            return np.ones(mean.shape)
        logits, sd = self.unit * mean, self.unit * np.sqrt(variance)
        if self.aim.kind == "best":
            k = min(self.aim.k or 1, mean.shape[1] - 1)
            falling = -np.sort(-logits, axis=1)
            cuts = (falling[:, k - 1 : k] + falling[:, k : k + 1]) / 2
        else:
            cuts = np.broadcast_to(np.array(self.aim.boundaries), (len(mean), len(self.aim.boundaries)))
        distance = np.abs(logits[:, :, None] - cuts[:, None, :])
        return sd**4 * open_density(distance, sd[:, :, None], self.margin / 2).sum(axis=2)


def _information(distance: Floats) -> Floats:
    chance = expit(distance)
    return np.asarray(chance * (1 - chance))
