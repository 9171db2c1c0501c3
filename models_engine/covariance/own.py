"""Covariance of one annotator's utilities over thousands of items, from few numbers of the annotator's own."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.errors import Unsupported
from models_engine.linalg import centre, centre_covariance, check_dense

__all__ = ["OwnCovariance"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OwnCovariance:
    """Covariance of `f - mean(f)` over `items`, f = t + V w + e: consensus, scores along components, own part.

    With t ~ N(0, F F' + diag(rest)), w ~ N(0, A) and e ~ N(0, diag(own)) beforehand, and what the annotator's answers
    about the items `judged` (j,) say, information J (j, j) about t + e there:
    w given t has covariance A and moves by -A V'J t; e there has covariance own - own J own and moves by
    -own J (t + V w).
    loadings V (n, c), factor F (n, r), rest, own (n,): of all items, shared by all annotators.   scores A (c, c).
    items (m,): which are meant.
    """

    loadings: Floats
    factor: Floats
    rest: Floats
    own: Floats
    scores: Floats
    judged: Ints
    information: Floats
    items: Ints
    _place: Ints = field(init=False, repr=False)
    _keep: Floats = field(init=False, repr=False)
    _known: Floats = field(init=False, repr=False)
    _across: Floats = field(init=False, repr=False)
    _reach: Floats = field(init=False, repr=False)
    _moved: Floats = field(init=False, repr=False)
    _cross: Floats = field(init=False, repr=False)
    _wide: Floats = field(init=False, repr=False)
    _alone: Floats = field(init=False, repr=False)
    _block: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        own, judged = self.own[self.judged], self.judged
        keep = np.eye(len(judged)) - own[:, None] * self.information
        known = self.information @ self.loadings[judged]
        across = known.T @ self.factor[judged]
        inner = known.T @ (self.rest[judged][:, None] * known)
        alone = np.diag(own) - own[:, None] * self.information * own
        # of the judged: how utilities follow the consensus and the scores, and their covariances; see `_rows`
        values = {
            "_place": _places(judged, len(self.own)),
            "_keep": keep,
            "_known": known,
            "_across": self.scores @ across,
            "_reach": keep @ self.loadings[judged],
            "_moved": keep @ self.factor[judged],
            "_cross": keep @ (self.rest[judged][:, None] * known) @ self.scores,
            "_wide": self.scores + self.scores @ inner @ self.scores,
            "_alone": (alone + alone.T) / 2,
            "_block": alone + (keep * self.rest[judged]) @ keep.T,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_items(self) -> int:
        return len(self.items)

    def _rows(self, items: Ints) -> tuple[Floats, Floats, Floats, Ints]:
        """Return, of items, how they move with the scores and the factor, their covariance with the scores through
        `rest`, and their place among those judged, -1 of others."""
        place = self._place[items]
        at = place >= 0
        reach, moved = self.loadings[items], self.factor[items]
        cross = np.zeros_like(reach)
        reach[at], moved[at], cross[at] = self._reach[place[at]], self._moved[place[at]], self._cross[place[at]]
        return reach, moved - reach @ self._across, cross, place

    def _diagonal(self, items: Ints, place: Ints) -> Floats:
        found = self.rest[items] + self.own[items]
        found[place >= 0] = np.diagonal(self._block)[place[place >= 0]]
        return found

    def variances(self) -> Floats:
        reach, moved, cross, place = self._rows(self.items)
        return self._centred(reach, moved, cross, place, self._diagonal(self.items, place), self._block)

    def score_deviations(self) -> Floats:
        """Return standard deviations of the scores, (c,), what is open about the consensus integrated."""
        return np.sqrt(np.diagonal(self._wide) + (self._across**2).sum(axis=1))

    def difference_deviations(self, open_: Floats) -> Floats:
        """Return standard deviations of f - t, centred, (m,).

        open_ (n,): the part of `rest` that is about V and so of the difference, not of t.
        """
        reach, moved, cross, place = self._rows(self.items)
        at, moved = place >= 0, moved - self.factor[self.items]
        inner, judged = place[at], self.judged
        apart = self._keep - np.eye(len(judged))
        known = (self.rest[judged][:, None] * self._known) @ self.scores
        cross[at] = (apart @ known)[inner]
        block = self._alone + (apart * (self.rest - open_)[judged]) @ apart.T
        block += (self._keep * open_[judged]) @ self._keep.T
        diagonal = self.own[self.items] + open_[self.items]
        diagonal[at] = np.diagonal(block)[inner]
        return np.sqrt(self._centred(reach, moved, cross, place, diagonal, block))

    def _centred(
        self, reach: Floats, moved: Floats, cross: Floats, place: Ints, diagonal: Floats, block: Floats
    ) -> Floats:
        n, at = len(place), place >= 0
        found = self._low_rank(*(one - one.mean(axis=0) for one in (reach, moved, cross)))
        sums = diagonal.copy()
        sums[at] = block[np.ix_(place[at], place[at])].sum(axis=1)
        return np.maximum(found + diagonal - 2 * sums / n + sums.sum() / n**2, 0.0)

    def _low_rank(self, reach: Floats, moved: Floats, cross: Floats) -> Floats:
        return (reach @ self._wide * reach).sum(axis=1) + (moved**2).sum(axis=1) - 2 * (cross * reach).sum(axis=1)

    def difference_variance(self, left: NDArray, right: NDArray) -> Floats:
        left, right = np.broadcast_arrays(left, right)
        a, b = self.items[left.ravel()], self.items[right.ravel()]
        one, other = self._rows(a), self._rows(b)
        found = self._low_rank(*(x - y for x, y in zip(one[:3], other[:3], strict=True)))
        found += self._diagonal(a, one[3]) + self._diagonal(b, other[3])
        both = (one[3] >= 0) & (other[3] >= 0)
        found[both] -= 2 * self._block[one[3][both], other[3][both]]
        return np.where(a == b, 0.0, np.maximum(found, 0.0)).reshape(left.shape)

    def dense(self) -> Floats:
        check_dense(self.n_items)
        reach, moved, cross, place = self._rows(self.items)
        mixed = cross @ reach.T
        found = reach @ self._wide @ reach.T + moved @ moved.T - mixed - mixed.T
        found[np.diag_indices(len(found))] += self._diagonal(self.items, place)
        at = np.flatnonzero(place >= 0)
        among = self._block[np.ix_(place[at], place[at])]
        found[np.ix_(at, at)] += among - np.diag(np.diagonal(among))
        return centre_covariance(found)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        count, judged = len(self.own), self.judged
        t = rng.standard_normal((n, self.factor.shape[1])) @ self.factor.T
        t += rng.standard_normal((n, count)) * np.sqrt(self.rest)
        w = rng.standard_normal((n, len(self.scores))) @ _root(self.scores).T - t[:, judged] @ self._known @ self.scores
        found = t + w @ self.loadings.T
        at = found[:, judged] @ self._keep.T + rng.standard_normal((n, len(judged))) @ _root(self._alone).T
        found += rng.standard_normal((n, count)) * np.sqrt(self.own)
        found[:, judged] = at
        return centre(found[:, self.items])

    def restrict(self, items: NDArray) -> "OwnCovariance":
        return replace(self, items=self.items[items])

    def to_arrays(self) -> dict[str, NDArray]:
        raise Unsupported("the utilities of one annotator are not stored by themselves; store the whole fit instead.")


def _places(judged: Ints, n: int) -> Ints:
    found = np.full(n, -1)
    found[judged] = np.arange(len(judged))
    return found


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0.0))
