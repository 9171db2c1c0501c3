"""Variational factors of crowd_gppl: consensus plus components, each annotator's scores with their full covariance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import digamma

from models_engine.inference.pairwise_gp.model import GammaPrior
from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.batched_ep import CrowdPrior
from models_engine.inference.probit_ep.expected_probit import expected_factor
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.linalg import cholesky, dense_laplacian, inverse_from_cholesky, sum_by_group

__all__ = ["FactorPosterior", "Scores", "TasteFactors"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FactorPosterior:
    """q of what belongs to items. Row 0 is the consensus, the others are components; c = n_components + 1 rows.

    mean (c, n_items), covariance (c, n_items, n_items), log_determinant (c,); inverse scales q(s) = Gamma(shape, rate).
    """

    mean: Floats
    covariance: Floats
    log_determinant: Floats
    shape: Floats
    rate: Floats

    @property
    def expected_scale(self) -> Floats:
        """Return E[s], (c,): large for a component that is not needed."""
        return self.shape / self.rate

    def taste(self) -> Floats:
        """Return E[V V'], (n_items, n_items), the covariance of an annotator's taste for scores of unit variance."""
        return self.mean[1:].T @ self.mean[1:] + self.covariance[1:].sum(axis=0)


@dataclass(frozen=True, eq=False)
class Scores:
    """q(w_u) = N(mean_u, covariance_u), (n_annotators, n_components) and one more axis; N(0, I) without labels."""

    mean: Floats
    covariance: Floats

    @property
    def second(self) -> Floats:
        """Return E[w w'], (n_annotators, c, c), with a leading 1, the consensus's score."""
        n, k = self.mean.shape
        found = np.empty((n, k + 1, k + 1))
        found[:, 0, 0] = 1.0
        found[:, 0, 1:] = found[:, 1:, 0] = self.mean
        found[:, 1:, 1:] = self.covariance + self.mean[:, :, None] * self.mean[:, None, :]
        return found


class TasteFactors:
    """f_u = t + V w_u, t ~ N(0, consensus / s_0), v_c ~ N(0, taste / (C s_c)), w_u ~ N(0, I), s ~ Gamma.

    crowd_gppl (7), with q(t) prod q(v_c) prod q(w_u) prod q(s). Unlike the paper's, every w_u keeps its C x C
    covariance, all annotators are updated exactly and at once given the item side, and sites take the expectation over
    the margin, whose moments are exact and which is treated as Gaussian. q(t) is not used as the consensus, because it
    ignores the posterior correlation of tastes and consensus (see batched_ep, where tastes are integrated out).

    begin (n_items, n_items): a taste covariance whose leading directions the components start from.
    """

    def __init__(
        self,
        sites: PairSites,
        blocks: list[Block],
        crowd: CrowdPrior,
        n_components: int,
        scale: GammaPrior,
        begin: Floats | None = None,
    ) -> None:
        self._sites, self._blocks, self._scale = sites, blocks, scale
        self._n, self._c = sites.n_items, n_components + 1
        lower = cholesky(crowd.taste / n_components)
        self._root = lower
        inverse = inverse_from_cholesky(lower)
        self._precisions = [crowd.precision] + [inverse] * n_components
        log_taste = 2 * float(np.log(np.diagonal(lower)).sum())
        self._prior_log_determinants = np.array(
            [-float(np.linalg.slogdet(crowd.precision)[1])] + [log_taste] * n_components
        )
        keys, self._pair = np.unique(sites.low * max(1, self._n) + sites.high, return_inverse=True)
        self._low, self._high = keys // max(1, self._n), keys % max(1, self._n)
        self.items = self._first(crowd, self._disagreement() if begin is None else self._whitened(begin))
        self.scores = Scores(
            np.zeros((sites.n_annotators, n_components)),
            np.tile(np.eye(n_components), (sites.n_annotators, 1, 1)),
        )
        self._weights = np.zeros(len(sites))
        self._push = np.zeros(len(sites))

    def _disagreement(self) -> Floats:
        """Return, in the kernel's metric, how annotators differ from the average answer to each pair,
        (n_items, n_items).
        """
        sites, counts = self._sites, self._sites.copies * (self._sites.wins + self._sites.losses)
        push = sites.copies * (sites.wins - sites.losses)
        total, seen = (sum_by_group(self._pair, values, len(self._low)) for values in (push, counts))
        push = push - counts * (total / np.maximum(seen, 1e-300))[self._pair]
        shape = (sites.n_annotators, self._n)
        pulled = scipy.sparse.coo_array((push, (sites.annotator, sites.low)), shape=shape).tocsr()
        pulled = pulled - scipy.sparse.coo_array((push, (sites.annotator, sites.high)), shape=shape).tocsr()
        return np.asarray(self._root.T @ (pulled.T @ (pulled @ self._root)))

    def _whitened(self, taste: Floats) -> Floats:
        """Return the taste covariance in the kernel's metric."""
        half = scipy.linalg.solve_triangular(self._root, taste, lower=True)
        return np.asarray(scipy.linalg.solve_triangular(self._root, half.T, lower=True))

    def _first(self, crowd: CrowdPrior, matrix: Floats) -> FactorPosterior:
        """Start components along the leading directions of the matrix, because 0 is a saddle point."""
        k = self._c - 1
        ascending, all_vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        values, vectors = ascending[::-1][:k], all_vectors[:, ::-1][:, :k]
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
        largest = float(np.max(np.append(values, 1e-300)))
        sizes = np.sqrt(np.where(values > 1e-9 * largest, values, 0.0) / largest)
        mean = np.zeros((self._c, self._n))
        mean[1 : 1 + len(sizes)] = (self._root @ (vectors * signs * sizes)).T * np.sqrt(self._n)
        covariance = np.empty((self._c, self._n, self._n))
        covariance[0] = inverse_from_cholesky(cholesky(crowd.precision))
        covariance[1:] = 0.1 * (self._root @ self._root.T)
        ones = np.ones(self._c)
        log_determinant = self._prior_log_determinants + np.r_[0.0, np.full(k, self._n * np.log(0.1))]
        return FactorPosterior(mean, covariance, log_determinant, self._scale.shape * ones, self._scale.rate * ones)

    def run(self, limit: int, tolerance: float, on_step: Callable[[float], None]) -> FactorPosterior:
        """Run coordinate ascent until the taste covariance changes by less than `tolerance` of its size."""
        before = self.items.taste()
        for _ in range(limit):
            on_step(self._refresh_sites() - self._divergence())
            self._update_scores()
            self._balance()
            self._update_items()
            taste = self.items.taste()
            moved = float(np.linalg.norm(taste - before)) / max(float(np.linalg.norm(before)), 1e-300)
            before = taste
            if moved < tolerance:
                break
        return self.items

    def margins(self) -> tuple[Floats, Floats]:
        """Return mean and variance (n_sites,) of every site's margin under q."""
        x, spread = self._contrasts(), self._contrast_variances()
        second = np.einsum("ucc->uc", self.scores.second)
        mean, variance = np.zeros(len(self._sites)), np.ones(len(self._sites))
        for block in self._blocks:
            pairs, rows = self._pair[block.site], block.site[block.real]
            own = x[pairs][:, :, 1:]
            scores, covariance = self.scores.mean[block.annotators], self.scores.covariance[block.annotators]
            m = x[pairs][:, :, 0] + np.matmul(own, scores[:, :, None])[:, :, 0]
            v = np.matmul(spread[pairs], second[block.annotators][:, :, None])[:, :, 0] + (
                (own @ covariance) * own
            ).sum(axis=2)
            mean[rows], variance[rows] = m[block.real], v[block.real]
        return mean, np.maximum(variance, 1e-12)

    def _contrasts(self) -> Floats:
        """Return the difference of every row of the means over each distinct pair, (n_pairs, c)."""
        return (self.items.mean[:, self._low] - self.items.mean[:, self._high]).T

    def _contrast_variances(self) -> Floats:
        own = np.einsum("cnn->cn", self.items.covariance)
        cross = self.items.covariance[:, self._low, self._high]
        return np.maximum(own[:, self._low] + own[:, self._high] - 2 * cross, 0.0).T

    def _refresh_sites(self) -> float:
        """Update sites at the current margins; return the expected log likelihood there.

        Weights are averaged with the previous ones, because variance and curvature of a margin oscillate otherwise.
        """
        mean, variance = self.margins()
        value, slope, bend = expected_factor(mean, variance, self._sites.wins, self._sites.losses)
        copies = self._sites.copies
        weights = copies * bend
        self._weights = (self._weights + weights) / 2 if self._weights.any() else weights
        self._push = self._weights * mean + copies * slope
        return float(copies @ value)

    def _update_scores(self) -> None:
        """Update every annotator exactly: precision I + sum w (x x' + diag Var x), all at once (crowd_gppl
        (41), (42)).
        """
        x, spread = self._contrasts(), self._contrast_variances()
        mean, covariance, k = self.scores.mean.copy(), self.scores.covariance.copy(), self._c - 1
        for block in self._blocks:
            pairs = self._pair[block.site]
            weight = np.where(block.real, self._weights[block.site], 0.0)
            push = np.where(block.real, self._push[block.site], 0.0) - weight * x[pairs][:, :, 0]
            own = x[pairs][:, :, 1:]
            precision = (own * weight[:, :, None]).transpose(0, 2, 1) @ own
            extra = np.matmul(weight[:, None, :], spread[pairs][:, :, 1:])[:, 0]
            precision[:, np.arange(k), np.arange(k)] += 1.0 + extra
            found = np.linalg.inv(precision)
            found = (found + found.transpose(0, 2, 1)) / 2
            covariance[block.annotators] = found
            mean[block.annotators] = np.matmul(found, np.matmul(push[:, None, :], own)[:, 0, :, None])[:, :, 0]
        self.scores = Scores(mean, covariance)

    def _balance(self) -> None:
        """Rescale each component so that its scores have unit second moment, which changes no utility."""
        judged = np.unique(self._sites.annotator)
        if not len(judged):
            return
        size = np.sqrt(np.einsum("ucc->c", self.scores.second[judged]) / len(judged))[1:]
        size = np.clip(size, 1e-3, 1e3)
        full, items = np.r_[1.0, size], self.items
        mean, covariance = self.scores.mean.copy(), self.scores.covariance.copy()
        mean[judged] /= size
        covariance[judged] /= size[:, None] * size
        self.scores = Scores(mean, covariance)
        self.items = FactorPosterior(
            items.mean * full[:, None],
            items.covariance * full[:, None, None] ** 2,
            items.log_determinant + 2 * self._n * np.log(full),
            items.shape,
            items.rate,
        )

    def _update_items(self) -> None:
        """Update consensus and components in turn, each given the others (crowd_gppl (36)-(40)), with its
        scale (17).
        """
        sites, shape = self._sites, (len(self._low), self._sites.n_annotators)
        cells = (self._pair, sites.annotator)
        weights = scipy.sparse.coo_array((self._weights, cells), shape=shape).tocsr()
        push = scipy.sparse.coo_array((self._push, cells), shape=shape).tocsr()
        second = self.scores.second
        aim = np.asarray(push @ np.column_stack([np.ones(shape[1]), self.scores.mean]))
        mean, covariance = self.items.mean.copy(), self.items.covariance.copy()
        log_determinant, rate = self.items.log_determinant.copy(), self.items.rate.copy()
        new_shape = np.full(self._c, self._scale.shape + self._n / 2)
        for row in range(self._c):
            moments = np.asarray(weights @ second[:, row, :])
            others = np.delete(np.arange(self._c), row)
            contrast = mean[others][:, self._low] - mean[others][:, self._high]
            pull = aim[:, row] - (moments[:, others] * contrast.T).sum(axis=1)
            graph = dense_laplacian(self._low, self._high, moments[:, row], self._n)
            expected = self.items.expected_scale[row]
            lower = cholesky(expected * self._precisions[row] + graph)
            covariance[row] = inverse_from_cholesky(lower)
            mean[row] = covariance[row] @ (
                sum_by_group(self._low, pull, self._n) - sum_by_group(self._high, pull, self._n)
            )
            log_determinant[row] = -2 * float(np.log(np.diagonal(lower)).sum())
            rate[row] = self._scale.rate + self._square(row, mean[row], covariance[row]) / 2
        self.items = FactorPosterior(mean, covariance, log_determinant, new_shape, rate)

    def _square(self, row: int, mean: Floats, covariance: Floats) -> float:
        """Return E[v' K^-1 v]."""
        return float((self._precisions[row] * covariance).sum() + mean @ self._precisions[row] @ mean)

    def _divergence(self) -> float:
        """Return KL(q | prior) of scores, item side and scales (crowd_gppl (35), corrected)."""
        covariance, total = self.scores.covariance, 0.0
        total += float(np.einsum("ucc->", covariance) + (self.scores.mean**2).sum()) / 2
        total -= (float(np.linalg.slogdet(covariance)[1].sum()) + self.scores.mean.size) / 2
        items, n = self.items, self._n
        for row in range(self._c):
            log_s = digamma(items.shape[row]) - np.log(items.rate[row])
            square = items.expected_scale[row] * self._square(row, items.mean[row], items.covariance[row])
            determinants = self._prior_log_determinants[row] - items.log_determinant[row]
            total += float(square - n + determinants - n * log_s) / 2
            total += self._scale.divergence(float(items.shape[row]), float(items.rate[row]))
        return total
