"""What the questions are for, and how much each item's uncertainty counts for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from models_engine.arrays import (
    read_count,
    read_deviations,
    read_floats,
    read_integers,
    read_number,
    read_values,
)
from models_engine.errors import InvalidAim, InvalidData
from models_engine.validation import check_boundaries

__all__ = [
    "Aim",
    "AimKind",
    "Marginals",
    "check_aim",
    "cuts_of",
    "density",
    "item_weights",
    "neighbours",
    "open_density",
    "read_margin",
    "read_marginals",
    "surely_tied",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AimKind = Literal["whole", "best", "classes"]
Bools = NDArray[np.bool_]
SURE = 0.95
N_NEIGHBOURS = 256  # places up or down the ranking within which items count as neighbours


@dataclass(frozen=True)
class Aim:
    """What the questions are for.

    kind: "whole", the order of all items; "best", which are the best k (of each part); "classes", on which side of
    each of the boundaries every item is.   boundaries: utilities, rising. Raises InvalidAim, InvalidBoundaries.
    """

    kind: AimKind
    k: int | None = None
    boundaries: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in get_args(AimKind):
            raise InvalidAim(f"aim {self.kind!r} is unknown; choose whole, best or classes.", value=self.kind)
        if self.kind == "best" and not self._has_number():
            raise InvalidAim(f"k is {self.k}; give how many best items are looked for, 1 or more.", value=self.k)
        if self.kind == "classes" and not len(check_boundaries(self.boundaries)):
            raise InvalidAim("there are no boundaries; give one or more, from the lowest to the highest.", value=())

    def _has_number(self) -> bool:
        try:
            return read_count(self.k, "k") >= 1
        except InvalidData:
            return False


@dataclass(frozen=True, eq=False)
class Marginals:
    """Independent Gaussians for the utilities: mean, sd and part of each item, (n_items,)."""

    mean: Floats
    sd: Floats
    part: Ints

    @property
    def n_items(self) -> int:
        return len(self.mean)

    def order(self, rng: np.random.Generator | None = None) -> Ints:
        """Return the items part by part, best first; equal means by lot, or by number without a generator."""
        lot = np.arange(self.n_items) if rng is None else rng.permutation(self.n_items)
        return np.lexsort((lot, -self.mean, self.part))


def read_marginals(mean: ArrayLike, sd: ArrayLike, aim: Aim, parts: ArrayLike | None, margin: float) -> Marginals:
    """Check what a caller gave. Raises InvalidData, and InvalidAim where no part has more than aim.k items."""
    check_aim(aim)
    means, sds = read_floats(mean, "mean"), read_floats(sd, "sd")
    if means.ndim != 1 or sds.shape != means.shape:
        raise InvalidData(f"mean has shape {means.shape} and sd {sds.shape}; give both per item, shape (n_items,).")
    for row in np.flatnonzero(~np.isfinite(means))[:1]:
        raise InvalidData(f"row {row}: the mean is {means[row]}; give a finite number.", row=int(row), value=means[row])
    means, sds = read_values(means, "mean"), read_deviations(sds, "sd", above_zero=True)
    read_margin(margin)
    part = np.zeros(len(means), dtype=np.int64) if parts is None else read_integers(parts, "parts")
    if len(part) != len(means):
        raise InvalidData(f"parts has {len(part)} rows and mean {len(means)}; give each item's part.", value=len(part))
    if len(part) < 2:
        raise InvalidAim(f"there are {len(part)} items; at least 2 are needed to ask anything.", value=len(part))
    largest = int(np.bincount(part).max())
    if aim.kind == "best" and aim.k is not None and aim.k >= largest:
        raise InvalidAim(
            f"k is {aim.k} and the largest part has {largest} items; give a k below that, or add items.", value=aim.k
        )
    return Marginals(means, sds, part)


def check_aim(aim: Aim, *kinds: AimKind) -> None:
    """Check that this is an aim, and one of these kinds where they are named. Raises InvalidAim."""
    if not isinstance(aim, Aim):
        raise InvalidAim(f"aim is a {type(aim).__name__}; give an Aim.", value=aim)
    if kinds and aim.kind not in kinds:
        raise InvalidAim(f"aim is {aim.kind!r} here; give one of kind {' or '.join(kinds)}.", value=aim.kind)


def read_margin(margin: float) -> float:
    """Read the difference, in logits, up to which items count as tied. Raises InvalidData."""
    return read_number(margin, "margin", least=0.0)


def cuts_of(marginals: Marginals, aim: Aim) -> Floats:
    """Return the boundaries that each item is to be on the right side of, (n_items, n_boundaries).

    best: midway between the k-th and the next item of the part; infinite in a part of k items or fewer, which has
    nothing to decide.   whole: none.
    """
    n = marginals.n_items
    if aim.kind == "classes":
        return np.broadcast_to(np.asarray(aim.boundaries, dtype=np.float64), (n, len(aim.boundaries)))
    if aim.kind == "whole" or aim.k is None:
        return np.zeros((n, 0))
    order = marginals.order()
    sizes = np.bincount(marginals.part)
    last = np.cumsum(sizes) - sizes + aim.k - 1  # place of the k-th item of each part in the order
    cut = np.full(len(sizes), np.inf)
    split = sizes > aim.k
    ranked = marginals.mean[order]
    cut[split] = (ranked[last[split]] + ranked[last[split] + 1]) / 2
    return cut[marginals.part][:, None]


def density(distance: Floats, sd: Floats) -> Floats:
    """Return phi(distance/sd) / (2 sd): how fast E[(-x)+], x ~ N(distance, sd^2), grows with the variance sd^2.

    That is the expected loss of a decision for x > 0 which costs as much as x is below 0.
    """
    scaled = distance / sd
    return np.exp(-(scaled**2) / 2) / (np.sqrt(8 * np.pi) * sd)


def surely_tied(distance: Floats, sd: Floats, margin: float) -> Bools:
    """Return whether P(-margin < x < margin) is at least 95%, x ~ N(distance, sd^2); never for a margin of 0.

    It is largest at a distance of 0, so that only sds up to margin / 1.96 are looked at.
    """
    distance, sd = np.broadcast_arrays(distance, sd)
    tied = np.asarray(sd <= margin / ndtri((1 + SURE) / 2))
    if tied.any():
        distance, sd = distance[tied], sd[tied]
        tied[tied] = ndtr((margin - distance) / sd) - ndtr((-margin - distance) / sd) >= SURE
    return tied


def open_density(distance: Floats, sd: Floats, margin: float) -> Floats:
    """Return the density beyond the margin, 0 where it is surely tied: nobody needs to know more there."""
    return np.where(surely_tied(distance, sd, margin), 0.0, density(distance + margin, sd))


def neighbours(part: Ints, within: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield places (i, i + d) in an order by parts that are of one part, for d = 1, 2, ... up to `within`."""
    for step in range(1, min(within, len(part) - 1) + 1):
        upper = np.flatnonzero(part[:-step] == part[step:])
        if not len(upper):
            return
        yield upper, upper + step


def item_weights(marginals: Marginals, aim: Aim, margin: float) -> Floats:
    """Return how fast the aim's expected loss falls with each item's variance, (n_items,).

    best, classes: the loss is that of the items on the wrong side of a cut, by their distance from it beyond margin/2.
    whole: that of pairs in the wrong order, by their difference beyond the margin, over N_NEIGHBOURS places.
    """
    if aim.kind != "whole":
        cuts = cuts_of(marginals, aim)
        return open_density(np.abs(marginals.mean[:, None] - cuts), marginals.sd[:, None], margin / 2).sum(axis=1)
    order = marginals.order()
    mean, variance, part = marginals.mean[order], marginals.sd[order] ** 2, marginals.part[order]
    total = np.zeros(len(order))
    for upper, lower in neighbours(part, N_NEIGHBOURS):
        each = open_density(mean[upper] - mean[lower], np.sqrt(variance[upper] + variance[lower]), margin)
        total[upper] += each  # each place comes at most once in upper, and in lower
        total[lower] += each
    weights = np.empty_like(total)
    weights[order] = total
    return weights
