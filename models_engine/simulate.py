"""Simulated crowds: annotators with known utilities, tastes, reliability and side bias, and their answers."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from models_engine.arrays import read_count, read_number
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, TooLarge
from models_engine.linalg import centre

__all__ = ["Competition", "Crowd", "competition", "opposed_camps", "simulate_crowd"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_VALUES = 10**8  # of people's utilities for items: 800 MB
MAX_SPREAD = 100.0  # in logits: with such a difference every answer is certain, and cosh of more would overflow


def _read_sizes(**sizes: int) -> list[int]:
    """Read numbers of people or items, 1 or more. Raises InvalidData, and TooLarge for their product."""
    found = [read_count(size, name) for name, size in sizes.items()]
    for name, size in zip(sizes, found, strict=True):
        if size < 1:
            raise InvalidData(f"{name} is {size}; give 1 or more.", value=size)
    if np.prod(found, dtype=np.float64) > MAX_VALUES:
        sizes_text = " and ".join(f"{name}={size:,}" for name, size in zip(sizes, found, strict=True))
        raise TooLarge(f"{sizes_text} make more than {MAX_VALUES:,} values; simulate fewer.")
    return found


def _read_spreads(**spreads: float) -> list[float]:
    """Read standard deviations, or Davidson's nu. Raises InvalidData."""
    return [read_number(spread, name, least=0.0, most=MAX_SPREAD) for name, spread in spreads.items()]


@dataclass(frozen=True, eq=False)
class Crowd:
    """A crowd with known parameters. All answers are drawn from the generator passed in, so a seed repeats them.

    utilities (n_items,): the consensus, centred.   own (n_annotators, n_items): each annotator's utilities.
    reliability (n_annotators,): P(an answer follows the utilities; else it is reversed).
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
        """Draw pairs of random items, or of the (n_labels, 2) pairs `shown`, left first."""
        sets = self._draw_sets(n_labels, 2, rng) if shown is None else np.asarray(shown)
        who = self._draw_annotators(n_labels, rng)
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

    def graded(
        self, n_labels: int, cuts: ArrayLike, rng: np.random.Generator, *, shown: ArrayLike | None = None
    ) -> Comparisons:
        """Draw graded pairs of random items, or of those `shown`: grade g where margin plus noise is beyond cut g - 1.

        cuts (n_grades,): ascending from 0 or more; within the first of 0 is a tie (none if it is 0).
        """
        limits = np.asarray(cuts, dtype=np.float64)
        sets = self._draw_sets(n_labels, 2, rng) if shown is None else np.asarray(shown)
        who = self._draw_annotators(n_labels, rng)
        worth = self.own[who[:, None], sets]
        noise = rng.logistic(size=n_labels) if self.link == "logit" else rng.standard_normal(n_labels)
        perceived = worth[:, 0] - worth[:, 1] + self.side[who] + noise
        perceived *= np.where(rng.random(n_labels) < self.reliability[who], 1.0, -1.0)
        grade = np.searchsorted(limits, np.abs(perceived))
        outcome = np.where(grade == 0, 0.5, perceived > 0)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators, "n_grades": len(limits)}
        return Comparisons.from_pairs(sets[:, 0], sets[:, 1], outcome, who, grades=grade, **counts)

    def rankings(
        self, n_labels: int, k: int, rng: np.random.Generator, *, shown: ArrayLike | None = None
    ) -> Comparisons:
        """Draw full rankings, best first, of k random items, or of the (n_labels, k) sets `shown`."""
        sets, order, who = self._draw_orders(n_labels, k, rng, shown)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_rankings(np.take_along_axis(sets, order, axis=1), who, shown=sets, **counts)

    def weak_orders(self, n_labels: int, k: int, cut: float, rng: np.random.Generator) -> Comparisons:
        """Draw rankings with ties of k random items: perceived utilities no further apart than cut are tied.

        From the best perceived item down, each one is tied with those within cut below it. Logit link only.
        """
        sets = self._draw_sets(n_labels, k, rng)
        who = self._draw_annotators(n_labels, rng)
        perceived = self.own[who[:, None], sets] + rng.gumbel(size=sets.shape)
        ranks = np.empty_like(sets)
        for label, worth in enumerate(perceived):
            rank, top = -1, np.inf
            for place in np.argsort(-worth):
                if worth[place] < top - cut:
                    rank, top = rank + 1, worth[place]
                ranks[label, place] = rank
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_ranks(ranks, sets, who, tied=True, **counts)

    def top(
        self, n_labels: int, k: int, m: int, rng: np.random.Generator, *, shown: ArrayLike | None = None
    ) -> Comparisons:
        """Draw the best m, best first, of k random items, or of the (n_labels, k) sets `shown`."""
        sets, order, who = self._draw_orders(n_labels, k, rng, shown)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_top(np.take_along_axis(sets, order[:, :m], axis=1), sets, who, **counts)

    def choices(
        self, n_labels: int, k: int, rng: np.random.Generator, *, shown: ArrayLike | None = None
    ) -> Comparisons:
        """Draw the best of k random items, or of the (n_labels, k) sets `shown`."""
        return self.top(n_labels, k, 1, rng, shown=shown)

    def best_worst(
        self, n_labels: int, k: int, rng: np.random.Generator, *, shown: ArrayLike | None = None
    ) -> Comparisons:
        """Draw the best and the worst of k random items, or of the (n_labels, k) sets `shown`."""
        sets, order, who = self._draw_orders(n_labels, k, rng, shown)
        ends = np.take_along_axis(sets, order[:, [0, -1]], axis=1)
        counts = {"n_items": self.n_items, "n_annotators": self.n_annotators}
        return Comparisons.from_best_worst(ends[:, 0], ends[:, 1], sets, who, **counts)

    def _draw_annotators(self, n_labels: int, rng: np.random.Generator) -> Ints:
        """Draw annotators in random order, equally often up to one label."""
        return rng.permutation(np.resize(np.arange(self.n_annotators), n_labels))

    def _draw_sets(self, n_labels: int, k: int, rng: np.random.Generator) -> Ints:
        """Draw distinct random items in random order, (n_labels, k)."""
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

    def _draw_orders(
        self, n_labels: int, k: int, rng: np.random.Generator, shown: ArrayLike | None = None
    ) -> tuple[Ints, Ints, Ints]:
        """Draw (sets, order best first as columns of sets, annotators)."""
        sets = self._draw_sets(n_labels, k, rng) if shown is None else np.asarray(shown, dtype=np.int64)
        who = self._draw_annotators(n_labels, rng)
        noise = rng.gumbel(size=sets.shape) if self.link == "logit" else rng.normal(scale=np.sqrt(0.5), size=sets.shape)
        worth = self.own[who[:, None], sets]
        honest = np.where(rng.random(n_labels) < self.reliability[who], 1.0, -1.0)
        return sets, np.argsort(-(worth * honest[:, None] + noise), axis=1), who


def simulate_crowd(
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
    """Simulate a crowd. Utilities are N(0, utility_sd^2).

    taste_sd: standard deviation, per item, of an annotator's utilities around the consensus, through n_components
    latent factors.   reliability: (a, b) of a Beta distribution over annotators; None: all answer by their utilities.
    side_sd: spread of the annotators' side bias. Raises InvalidData and TooLarge.
    """
    n_items, n_annotators = _read_sizes(n_items=n_items, n_annotators=n_annotators)
    utility_sd, taste_sd = _read_spreads(utility_sd=utility_sd, taste_sd=taste_sd)
    side_sd, tie = _read_spreads(side_sd=side_sd, tie=tie)
    utilities = centre(rng.normal(scale=utility_sd, size=n_items))
    loadings = rng.standard_normal((n_items, n_components)) * taste_sd / np.sqrt(n_components)
    own = utilities + rng.standard_normal((n_annotators, n_components)) @ loadings.T
    honest = np.ones(n_annotators) if reliability is None else rng.beta(*reliability, size=n_annotators)
    side = rng.standard_normal(n_annotators) * side_sd
    if tie and link == "probit":
        raise InvalidData(f"tie={tie} needs the logit link; Davidson's tie has no probit form here.", value=tie)
    return Crowd(utilities, own, honest, side, tie, link)


@dataclass(frozen=True, eq=False)
class Competition:
    """Competitors who each made an item for every context, and a crowd whose members may prefer a competitor.

    utilities (n,): the competitors', centred.
    items (n_contexts, n): utilities of the items, with their own effects and their tags'; item number
    context * n + competitor.   tag (n_contexts,): -1 for none.   tag_effects (n_tags, n).
    tastes (n_annotators, n): what an annotator adds to a competitor.   side: added to the item shown left.
    tie: Davidson's nu.   n_careless: of the annotators, the first so many answer at random.
    """

    utilities: Floats
    items: Floats
    tag: Ints
    tag_effects: Floats
    tastes: Floats
    side: float = 0.0
    tie: float = 0.0
    n_careless: int = 0

    @property
    def competitor(self) -> Ints:
        """Return the number for each item, (n_items,)."""
        return np.tile(np.arange(self.items.shape[1]), len(self.items))

    @property
    def context(self) -> Ints:
        """Return the number for each item, (n_items,)."""
        return np.repeat(np.arange(len(self.items)), self.items.shape[1])

    def pairs(self, n_labels: int, rng: np.random.Generator) -> Comparisons:
        """Draw pairs of items of random contexts, by random annotators."""
        left, right, who, margin = self._draw_margins(n_labels, rng)
        tied = rng.random(n_labels) < self.tie / (2 * np.cosh(margin / 2) + self.tie)
        outcome = np.where(tied, 0.5, (rng.random(n_labels) < expit(margin)).astype(np.float64))
        counts = {"n_items": self.items.size, "n_annotators": len(self.tastes)}
        return Comparisons.from_pairs(left, right, outcome, who, **counts)

    def graded(self, n_labels: int, cuts: ArrayLike, rng: np.random.Generator) -> Comparisons:
        """Draw graded pairs likewise; cuts as in Crowd.graded, ties by the first of them and not by `tie`."""
        left, right, who, margin = self._draw_margins(n_labels, rng)
        limits, perceived = np.asarray(cuts, dtype=np.float64), margin + rng.logistic(size=n_labels)
        grade = np.searchsorted(limits, np.abs(perceived))
        counts = {"n_items": self.items.size, "n_annotators": len(self.tastes), "n_grades": len(limits)}
        outcome = np.where(grade == 0, 0.5, perceived > 0)
        return Comparisons.from_pairs(left, right, outcome, who, grades=grade, **counts)

    def _draw_margins(self, n_labels: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints, Floats]:
        """Return (left, right, annotator, margin)."""
        n_contexts, n = self.items.shape
        context, who = rng.integers(n_contexts, size=n_labels), rng.integers(len(self.tastes), size=n_labels)
        left = rng.integers(n, size=n_labels)
        right = (left + rng.integers(1, n, size=n_labels)) % n
        worth = [self.items[context, one] + self.tastes[who, one] for one in (left, right)]
        margin = np.where(who < self.n_careless, 0.0, worth[0] - worth[1] + self.side)
        return context * n + left, context * n + right, who, margin


def competition(
    rng: np.random.Generator,
    n_competitors: int,
    n_contexts: int,
    n_annotators: int,
    *,
    utility_sd: float = 1.0,
    item_sd: float = 0.0,
    taste_sd: float = 0.0,
    n_tags: int = 0,
    tag_sd: float = 0.0,
    side: float = 0.0,
    tie: float = 0.0,
    n_careless: int = 0,
) -> Competition:
    """Simulate a competition: normal effects of these standard deviations; contexts have random tags.

    Raises InvalidData and TooLarge.
    """
    if n_competitors == 1:
        raise InvalidData("n_competitors is 1; give 2 or more, so that there is something to compare.", value=1)
    n_competitors, n_contexts = _read_sizes(n_competitors=n_competitors, n_contexts=n_contexts)
    _, n_annotators = _read_sizes(n_competitors=n_competitors, n_annotators=n_annotators)
    utility_sd, item_sd = _read_spreads(utility_sd=utility_sd, item_sd=item_sd)
    taste_sd, tag_sd, tie = _read_spreads(taste_sd=taste_sd, tag_sd=tag_sd, tie=tie)
    utilities = centre(rng.normal(scale=utility_sd, size=n_competitors))
    tag = rng.integers(n_tags, size=n_contexts) if n_tags else np.full(n_contexts, -1)
    by_tag = centre(rng.normal(scale=tag_sd, size=(n_tags, n_competitors)))
    items = utilities + rng.normal(scale=item_sd, size=(n_contexts, n_competitors))
    items += by_tag[tag] if n_tags else 0.0
    tastes = rng.normal(scale=taste_sd, size=(n_annotators, n_competitors))
    return Competition(utilities, items, tag, by_tag, tastes, side, tie, n_careless)


def opposed_camps(
    rng: np.random.Generator,
    n_items: int,
    n_annotators: int,
    *,
    utility_sd: float = 1.0,
    taste_sd: float = 1.0,
    own_sd: float = 0.2,
    link: Literal["logit", "probit"] = "probit",
) -> Crowd:
    """Simulate two groups of opposed tastes: consensus +- one direction N(0, taste_sd^2), and own_sd for each
    annotator.

    The first half of the annotators is one group, the larger of an odd number. Consensus: N(0, utility_sd^2).
    Raises InvalidData and TooLarge.
    """
    n_items, n_annotators = _read_sizes(n_items=n_items, n_annotators=n_annotators)
    utility_sd, taste_sd, own_sd = _read_spreads(utility_sd=utility_sd, taste_sd=taste_sd, own_sd=own_sd)
    utilities = centre(rng.normal(scale=utility_sd, size=n_items))
    direction = rng.normal(scale=taste_sd, size=n_items)
    camp = np.where(np.arange(n_annotators) < (n_annotators + 1) // 2, 1.0, -1.0)
    own = utilities + camp[:, None] * direction + rng.normal(scale=own_sd, size=(n_annotators, n_items))
    return Crowd(utilities, own, np.ones(n_annotators), np.zeros(n_annotators), 0.0, link)
