"""Simulated crowds: people with known utilities, tastes, reliability and side bias who answer any kind of question."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.linalg import centre

__all__ = ["Crowd", "crowd"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Crowd:
    """A crowd whose truth is known. All answers are drawn from the generator passed in, so a seed repeats them.

    utilities (n_items,): the consensus, centred.   own (n_annotators, n_items): each annotator's utilities.
    reliability (n_annotators,): P(an answer follows the utilities; else it is the other way round).
    side (n_annotators,): utility each annotator adds to the item shown left (pairs only).
    tie: Davidson's nu (pairs under the logit link only).   link: logit (Gumbel noise, Plackett-Luce) or probit
    (Thurstone, noise variance 1/2 per item).
    """

    utilities: Floats
    own: Floats
    reliability: Floats
    side: Floats
    tie: float = 0.0
    link: Literal["logit", "probit"] = "logit"

    @property
    def n_items(self) -> int:
        return self.own.shape[1]

    @property
    def n_annotators(self) -> int:
        return self.own.shape[0]

    def pairs(self, n_labels: int, rng: np.random.Generator, *, shown: ArrayLike | None = None) -> Comparisons:
        """Pairs of random items, or the (n_labels, 2) pairs `shown`, left first."""
        sets = self._sets(n_labels, 2, rng) if shown is None else np.asarray(shown)
        who = self._who(n_labels, rng)
        worth = self.own[who[:, None], sets]
        margin = worth[:, 0] - worth[:, 1] + self.side[who]
        if self.link == "probit":
            left_wins = margin + rng.standard_normal(n_labels) > 0
        else:
            left_wins = rng.random(n_labels) < expit(margin)
        honest = rng.random(n_labels) < self.reliability[who]
        tied = rng.random(n_labels) < self.tie / (2 * np.cosh(margin / 2) + self.tie)
        outcome = np.where(tied, 0.5, (left_wins == honest).astype(np.float64))
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_pairs(sets[:, 0], sets[:, 1], outcome, who, **counts)

    def rankings(self, n_labels: int, k: int, rng: np.random.Generator) -> Comparisons:
        """Full rankings of k random items, best first."""
        sets, order, who = self._orders(n_labels, k, rng)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_rankings(np.take_along_axis(sets, order, axis=1), who, shown=sets, **counts)

    def top(self, n_labels: int, k: int, m: int, rng: np.random.Generator) -> Comparisons:
        """The best m of k random items, best first."""
        sets, order, who = self._orders(n_labels, k, rng)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_top(np.take_along_axis(sets, order[:, :m], axis=1), sets, who, **counts)

    def choices(self, n_labels: int, k: int, rng: np.random.Generator) -> Comparisons:
        """The best of k random items."""
        return self.top(n_labels, k, 1, rng)

    def best_worst(self, n_labels: int, k: int, rng: np.random.Generator) -> Comparisons:
        """The best and the worst of k random items."""
        sets, order, who = self._orders(n_labels, k, rng)
        ends = np.take_along_axis(sets, order[:, [0, -1]], axis=1)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_best_worst(ends[:, 0], ends[:, 1], sets, who, **counts)

    def _who(self, n_labels: int, rng: np.random.Generator) -> Ints:
        """Annotators in random order, equally often up to one label."""
        return rng.permutation(np.resize(np.arange(self.n_annotators), n_labels))

    def _sets(self, n_labels: int, k: int, rng: np.random.Generator) -> Ints:
        """(n_labels, k) distinct random items in random order."""
        if not 2 <= k <= self.n_items:
            raise InvalidData(
                f"sets of {k} cannot be drawn from {self.n_items} items; k is 2 to {self.n_items}.", value=k
            )
        if k * 8 < self.n_items:  # draw with repeats and redraw the few sets that have any
            sets = rng.integers(self.n_items, size=(n_labels, k))
            while len(again := np.flatnonzero((np.diff(np.sort(sets, axis=1), axis=1) == 0).any(axis=1))):
                sets[again] = rng.integers(self.n_items, size=(len(again), k))
            return sets
        return np.argsort(rng.random((n_labels, self.n_items)), axis=1)[:, :k]

    def _orders(self, n_labels: int, k: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        """(sets, order best first as columns of sets, annotators)."""
        sets, who = self._sets(n_labels, k, rng), self._who(n_labels, rng)
        noise = rng.gumbel(size=sets.shape) if self.link == "logit" else rng.normal(scale=np.sqrt(0.5), size=sets.shape)
        worth = self.own[who[:, None], sets]
        honest = np.where(rng.random(n_labels) < self.reliability[who], 1.0, -1.0)
        return sets, np.argsort(-(worth * honest[:, None] + noise), axis=1), who


def crowd(
    rng: np.random.Generator,
    n_items: int,
    n_annotators: int,
    *,
    utility_sd: float = 1.0,
    taste_sd: float = 0.0,
    n_components: int = 2,
    reliability: tuple[float, float] | None = None,
    side_sd: float = 0.0,
    tie: float = 0.0,
    link: Literal["logit", "probit"] = "logit",
) -> Crowd:
    """A random crowd. Utilities are N(0, utility_sd^2).

    taste_sd: standard deviation, per item, of an annotator's utilities around the consensus, through n_components
    latent factors.   reliability: (a, b) of a Beta distribution over annotators; None: all answer by their utilities.
    side_sd: spread of the annotators' side bias.
    """
    utilities = centre(rng.normal(scale=utility_sd, size=n_items))
    loadings = rng.standard_normal((n_items, n_components)) * taste_sd / np.sqrt(n_components)
    own = utilities + rng.standard_normal((n_annotators, n_components)) @ loadings.T
    honest = np.ones(n_annotators) if reliability is None else rng.beta(*reliability, size=n_annotators)
    side = rng.standard_normal(n_annotators) * side_sd
    if tie and link == "probit":
        raise InvalidData(f"tie={tie} needs the logit link; Davidson's tie has no probit form here.", value=tie)
    return Crowd(utilities, own, honest, side, tie, link)
