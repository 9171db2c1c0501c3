"""The likelihood of incomplete rankings of more than eight items, averaged over rankings drawn from the model."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import gammaln, log_softmax, logsumexp

from models_engine.inference.angle.completions import draw_rankings
from models_engine.inference.angle.permutations import LEAST, place_scores
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean, mean_length
from models_engine.linalg import chunk_slices

__all__ = ["DrawnRankings", "Orders"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
N_RANKINGS = 200
RADIUS = 1 / 3  # times sqrt(t - 1): how far eta may be from where rankings were drawn; they are worth 90% there
STEP = 1e-4  # of a utility, for differences
MAX_EXACT_BLOCK = 6  # places over which permutations are summed exactly; more count as uniform on their sphere


@dataclass(frozen=True, eq=False)
class DrawnRankings:
    """Rankings drawn from the model at `base` (t,): y (n_rankings, t). They serve any eta near it, weighted."""

    base: Floats
    y: Floats

    @classmethod
    def at(cls, eta: Floats, rng: np.random.Generator, n: int = N_RANKINGS) -> "DrawnRankings":
        """Draw n rankings from the model at eta (t,)."""
        return cls(eta, place_scores(len(eta))[draw_rankings(np.tile(eta, (n, 1)), rng)])

    def near(self, eta: Floats, rng: np.random.Generator) -> "DrawnRankings":
        """Return these rankings where they serve for eta (t,), else others drawn there."""
        return self if float(np.linalg.norm(eta - self.base)) <= 2 * self.radius else self.at(eta, rng, len(self.y))

    @property
    def radius(self) -> float:
        return RADIUS * float(np.sqrt(len(self.base) - 1))

    def log_weights(self, eta: Floats) -> Floats:
        """Return the log weights, of sum 1, that make them rankings from the model at eta (t,); (n_rankings,)."""
        return np.asarray(log_softmax(self.y @ (eta - self.base)))


@dataclass(frozen=True, eq=False)
class _Alike:
    """Labels over sets of one size and with ties at the same places. m labels.

    rows (m,): which labels.   items (m, k): best first.   blocks: slices of the columns of equal rank.
    """

    rows: Ints
    items: Ints
    blocks: tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Orders:
    """Incomplete rankings, whose probability is the mean over the model's rankings of P(order | places of the set).

    A ranking from the model gives the set's places; given those, the order of the set has a probability in closed
    form (exact up to six items, on the sphere above), so that the mean over few rankings suffices
    and no completion is drawn. Against drawing completions (Xu, Alvo & Yu, 4.1) this needs no constant and does not
    slow down with the share of missing items.
    t: n_items.   n: number of labels.
    """

    t: int
    n: int
    groups: tuple[_Alike, ...]

    @classmethod
    def of(cls, codes: Ints) -> "Orders":
        """Read codes (n, t): 1 + the rank of each item of the label's set, 0 for the others."""
        n, t = codes.shape
        keys = np.where(codes > 0, codes, np.iinfo(np.int64).max)
        order = np.argsort(keys, axis=1, kind="stable")
        ranks, size = np.take_along_axis(keys, order, axis=1), (codes > 0).sum(axis=1)
        starts = np.diff(ranks, axis=1, prepend=0) > 0  # where a block of equal ranks begins
        starts &= np.arange(t) < size[:, None]
        patterns, which = np.unique(np.column_stack([size, starts]), axis=0, return_inverse=True)
        groups = []
        for index, pattern in enumerate(patterns):
            k, begins = int(pattern[0]), np.flatnonzero(pattern[1:])
            if len(begins) > 1:  # one block orders nothing
                rows = np.flatnonzero(which.ravel() == index)
                ends = [*begins[1:].tolist(), k]
                blocks = tuple(slice(a, b) for a, b in zip(begins.tolist(), ends, strict=True))
                groups.append(_Alike(rows, order[rows, :k], blocks))
        return cls(t, n, tuple(groups))

    def log_probabilities(self, eta: Floats, rankings: DrawnRankings) -> Floats:
        """Return log P(label | eta), (n,), for eta (t,)."""
        result = np.zeros(self.n)
        for part, y, log_weight in self._parts(eta, rankings):
            _, _, log_given = _given_places(eta[part.items], y, part)
            result[part.rows] = logsumexp(log_given + log_weight, axis=1)
        return result

    def derivatives(
        self, eta: Floats, weight: Floats, rankings: DrawnRankings, *, exact: bool = False
    ) -> tuple[float, Floats, Floats]:
        """Return the sum of weight (n,) times log P(label | eta), its gradient (t,), and minus its Hessian (t, t).

        Derivatives of the mean over these rankings; of three to six items of equal standing the Hessian takes the
        covariance on the sphere, or if `exact` that of their permutations, which takes ten times as long. With g the
        gradient of one ranking's log term, the Hessian of a label's is E[its Hessian] + Cov[g], each ranking weighted
        by its share in the label's probability.
        """
        value, slope, curvature = 0.0, np.zeros(self.t), np.zeros((self.t, self.t))
        for part, y, log_weight in self._parts(eta, rankings):
            w = weight[part.rows]
            whole, blocks, log_given = _given_places(eta[part.items], y, part)
            log_joint = log_given + log_weight
            level = logsumexp(log_joint, axis=1)
            value += float(w @ level)
            share = np.exp(log_joint - level[:, None])  # (m, n_rankings)
            mean_y = np.exp(log_weight) @ y
            apart = np.concatenate([one.mean for one in blocks], axis=2) - whole.mean  # (m, n_rankings, k)
            every, to_item = np.arange(len(part.rows)), _indicators(part.items, self.t)
            local = np.zeros((len(part.rows), self.t))
            local[every[:, None], part.items] = np.einsum("lm,lmk->lk", share, apart)
            label_slope = share @ (y - mean_y) + local
            slope += w @ label_slope

            weighted = w[:, None] * share
            centred = y - mean_y
            cross = centred.T @ sum((to_item[k].T @ (weighted * apart[:, :, k])).T for k in range(apart.shape[2]))
            second = centred.T @ (weighted.sum(axis=0)[:, None] * centred) + cross + cross.T
            second -= label_slope.T @ (w[:, None] * label_slope)
            second -= float(w.sum()) * centred.T @ (np.exp(log_weight)[:, None] * centred)
            inner = np.einsum("lm,lma,lmb->lab", share, apart, apart, optimize=True) - whole.covariance(share, exact)
            for columns, one in zip(part.blocks, blocks, strict=True):
                inner[:, columns, columns] += one.covariance(share, exact)
            np.add.at(second, (part.items[:, :, None], part.items[:, None, :]), w[:, None, None] * inner)
            curvature -= second
        return value, slope, curvature

    def _parts(self, eta: Floats, rankings: DrawnRankings) -> Iterator[tuple[_Alike, Floats, Floats]]:
        """Cut groups to what memory holds; of a set of all items one ranking says the places."""
        log_weight = rankings.log_weights(eta)
        for group in self.groups:
            k = group.items.shape[1]
            y, level = (rankings.y[:1], np.zeros(1)) if k == self.t else (rankings.y, log_weight)
            for rows in chunk_slices(len(group.rows), len(y) * max(k, 2 ** (MAX_EXACT_BLOCK + 1))):
                yield _Alike(group.rows[rows], group.items[rows], group.blocks), y, level


def _indicators(items: Ints, t: int) -> list[scipy.sparse.csr_array]:
    """Return for each column of items (m, k) the matrix (m, t) that has 1 at the item."""
    ones, every = np.ones(len(items)), np.arange(len(items) + 1)
    return [scipy.sparse.csr_array((ones, column, every), shape=(len(items), t)) for column in items.T]


@dataclass(frozen=True, eq=False)
class _Block:
    """Items of utilities x (m, r) permuted over places of scores (m, n_rankings, r): uniform on the sphere."""

    x: Floats
    scores: Floats

    @cached_property
    def log_sum(self) -> Floats:
        """Return log of the sum of exp(x'scores) over the permutations, (m, n_rankings)."""
        r = self.x.shape[1]
        level = self.x.sum(axis=1)[:, None] * self._middle
        return gammaln(r + 1) + level + log_sphere_mean(self._spread[:, None] * self._reach, r - 1)

    @cached_property
    def mean(self) -> Floats:
        """Return the mean of the permuted scores, (m, n_rankings, r): the gradient of log_sum by x."""
        along = (self._reach * self._length)[:, :, None] * self._direction[:, None, :]
        return self._middle[:, :, None] + along

    def covariance(self, share: Floats, exact: bool) -> Floats:
        """Return the mean over rankings, weighted by share (m, n_rankings), of the covariance of scores; (m, r, r)."""
        del exact  # as exact as the sphere
        r, kappa, length = self.x.shape[1], self._spread[:, None] * self._reach, self._length
        ratio = np.where(kappa > 1e-9, length / np.maximum(kappa, 1e-9), 1 / max(r - 1, 1))
        across = (share * self._reach**2 * ratio).sum(axis=1)
        along = (share * self._reach**2 * (1 - length**2 - (r - 2) * ratio)).sum(axis=1)
        outer = self._direction[:, :, None] * self._direction[:, None, :]
        return across[:, None, None] * (np.eye(r) - 1 / r - outer) + along[:, None, None] * outer

    @cached_property
    def _middle(self) -> Floats:
        return self.scores.mean(axis=2)

    @cached_property
    def _reach(self) -> Floats:
        return np.linalg.norm(self.scores - self._middle[:, :, None], axis=2)

    @cached_property
    def _spread(self) -> Floats:
        return np.linalg.norm(self.x - self.x.mean(axis=1, keepdims=True), axis=1)

    @cached_property
    def _direction(self) -> Floats:
        return (self.x - self.x.mean(axis=1, keepdims=True)) / np.where(self._spread > 0, self._spread, 1.0)[:, None]

    @cached_property
    def _length(self) -> Floats:
        return mean_length(self._spread[:, None] * self._reach, self.x.shape[1] - 1)


@dataclass(frozen=True, eq=False)
class _Alone(_Block):
    """A block of one item, which has one place."""

    @cached_property
    def log_sum(self) -> Floats:
        return self.x * self.scores[:, :, 0]

    @property
    def mean(self) -> Floats:
        return self.scores

    def covariance(self, share: Floats, exact: bool) -> Floats:
        return np.zeros((len(self.x), 1, 1))


@dataclass(frozen=True, eq=False)
class _Few(_Block):
    """A block whose sum and mean are exact, by sums over the sets of items at the first places; 2^r r additions.

    Its covariance is that on the sphere, or the derivative of the mean by differences.
    """

    @cached_property
    def log_sum(self) -> Floats:
        level = self._middle * self.x.sum(axis=1)[:, None] + self._factors[1]
        return np.log(np.maximum(self._first[-1], LEAST)) + level

    @cached_property
    def mean(self) -> Floats:
        r = self.x.shape[1]
        factors, last = self._factors[0], [np.zeros_like(self._first[0])] * (2**r - 1) + [np.ones_like(self._first[0])]
        scores = np.ascontiguousarray(self.scores.transpose(2, 0, 1))
        mean = np.zeros_like(scores)
        for items in range(2**r - 2, -1, -1):
            place = items.bit_count()
            for item in (one for one in range(r) if not items >> one & 1):
                after = factors[item, place] * last[items | 1 << item]
                last[items] = last[items] + after
                mean[item] += self._first[items] * after * scores[place]
        mean /= np.maximum(self._first[-1], LEAST)
        return np.ascontiguousarray(mean.transpose(1, 2, 0))

    def covariance(self, share: Floats, exact: bool) -> Floats:
        if not exact:
            return super().covariance(share, exact)
        columns = []
        for one in STEP * np.eye(self.x.shape[1]):
            ahead, behind = (type(self)(self.x + sign * one, self.scores).mean for sign in (1, -1))
            columns.append(np.einsum("lm,lmr->lr", share, ahead - behind) / (2 * STEP))
        return np.stack(columns, axis=2)

    @cached_property
    def _first(self) -> list[Floats]:
        """Return for each set of items the sum over their orders at the first places, (m, n_rankings) each."""
        factors = self._factors[0]
        sums = [np.ones(factors.shape[2:])]
        for items in range(1, 2 ** self.x.shape[1]):
            place = items.bit_count() - 1
            parts = (
                factors[item, place] * sums[items ^ 1 << item] for item in range(self.x.shape[1]) if items >> item & 1
            )
            sums.append(sum(parts, start=np.zeros(factors.shape[2:])))
        return sums

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """Return exp(x_i score_j - largest of item i), (r, r, m, n_rankings), at most 1, and the sum of those largest,
        (m, n_rankings); both centred.
        """
        x, scores = self.x - self.x.mean(axis=1, keepdims=True), self.scores - self._middle[:, :, None]
        factors = x.T[:, None, :, None] * np.ascontiguousarray(scores.transpose(2, 0, 1))
        largest = factors.max(axis=1)
        factors -= largest[:, None]
        return np.exp(factors, out=factors), largest.sum(axis=0)


def _block(x: Floats, scores: Floats) -> _Block:
    r = x.shape[1]
    kind = _Alone if r == 1 else _Few if 2 < r <= MAX_EXACT_BLOCK else _Block  # of two items the sphere is two points
    return kind(x, scores)


def _given_places(x: Floats, y: Floats, part: _Alike) -> tuple[_Block, list[_Block], Floats]:
    """Return the set's block, those of equal rank, and log P(order | places), (m, n_rankings); x (m, k) best first."""
    scores = np.sort(y[:, part.items], axis=2).transpose(1, 0, 2)
    whole = _block(x, scores)
    blocks = [_block(x[:, one], scores[:, :, one]) for one in part.blocks]
    return whole, blocks, np.sum([one.log_sum for one in blocks], axis=0) - whole.log_sum
