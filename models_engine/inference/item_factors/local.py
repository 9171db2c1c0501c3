"""The annotators of a shard solved given the consensus: scores along the components, and what is a person's alone."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.item_factors.nodes import FactorShard
from models_engine.inference.item_factors.places import by_owner
from models_engine.inference.probit_ep.site_updates import Answering, Sites, largest_change, site_updates, total_sites

__all__ = [
    "ConsensusMoments",
    "Information",
    "ScoreMoments",
    "ShardSolution",
    "TasteFactors",
    "add_information",
    "information_of",
    "refresh_shard",
    "score_moments",
    "site_margins",
    "solve_shard",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TasteFactors:
    """The prior of a taste: h_u = V w_u + e_u, w_u ~ N(0, I), e_u ~ N(0, diag(own)).

    loadings V (n_items, c), own (n_items,).   open (n_items,): what is not known of V, summed over components. It
    widens margins as what is not known of the consensus does; of somebody not seen yet it is more of e_u.
    """

    loadings: Floats
    own: Floats
    open: Floats


@dataclass(frozen=True, eq=False)
class ConsensusMoments:
    """The consensus N(mean, factor factor' + diag(rest)): mean, rest (n_items,), factor (n_items, r)."""

    mean: Floats
    factor: Floats
    rest: Floats

    @property
    def variances(self) -> Floats:
        return np.asarray((self.factor**2).sum(axis=1) + self.rest)


@dataclass(frozen=True, eq=False)
class ShardSolution:
    """A shard at given sites; the entries of matrices over nodes as in NodePlaces.

    W, b: precision and shift of the sites over nodes, D the prior covariance of nodes given the scores, H = (I + W
    D)^-1. Nodes of the same annotator and item are summed at the first of them.
    information: of J = H W; kept: of H' (its columns summed), (E,) each.   pull h = H b (N,).   reach J V (N, c).
    scores: the covariance (U, c, c) of the scores given the consensus, (I + sum V'J V)^-1.   pulled: the sum of V'h
    (U, c).   own (2, S): mean and variance of the margins, but for what the consensus and the scores add.
    """

    sites: Sites
    information: Floats
    kept: Floats
    pull: Floats
    reach: Floats
    scores: Floats
    pulled: Floats
    own: Floats
    log_determinants: Floats  # (U,): of all H, and of the scores' covariance
    update: Sites | None = None
    corrections: Floats | None = None
    margins: tuple[Floats, Floats] | None = None  # mean and variance (n_sites,), once the sites were refreshed

    @property
    def change(self) -> float:
        return 0.0 if self.update is None else largest_change(self.sites, self.update)

    def moved(self, damping: float) -> Sites:
        """Return the sites moved by this share of their update."""
        if self.update is None:
            return self.sites
        step = [old + damping * (new - old) for old, new in zip(_pair(self.sites), _pair(self.update), strict=True)]
        return Sites(*step)


def _pair(sites: Sites) -> tuple[Floats, Floats]:
    return sites.precision, sites.shift


def _inverse(stack: Floats) -> tuple[Floats, Floats]:
    """Return inverses and log determinants of matrices of positive determinant, (P, n, n) and (P,)."""
    if stack.shape[1] != 2:
        return np.asarray(np.linalg.inv(stack), dtype=np.float64), np.linalg.slogdet(stack)[1]
    determinant = stack[:, 0, 0] * stack[:, 1, 1] - stack[:, 0, 1] * stack[:, 1, 0]
    found = np.empty_like(stack)
    found[:, 0, 0], found[:, 1, 1] = stack[:, 1, 1], stack[:, 0, 0]
    found[:, 0, 1], found[:, 1, 0] = -stack[:, 0, 1], -stack[:, 1, 0]
    return found / determinant[:, None, None], np.log(determinant)


def _times(prior: Floats, stack: Floats) -> Floats:
    """Return prior times stack (P, n, m); prior (P, n) is diagonal."""
    return np.asarray(prior[:, :, None] * stack if prior.ndim == 2 else prior @ stack, dtype=np.float64)


def solve_shard(shard: FactorShard, sites: Sites, tastes: TasteFactors) -> ShardSolution:
    """Solve all annotators of a shard at these sites."""
    total, places, u, c = total_sites(shard.sites, sites), shard.places, shard.n_annotators, tastes.loadings.shape[1]
    weight, shift = places.precision(total.precision), places.shift(total.shift)
    variances, loadings = tastes.own[places.item], tastes.loadings[places.item]
    kept, pull, logs = np.empty_like(weight), np.empty_like(shift), np.zeros(u)
    own = np.empty((2, len(shard.sites)))
    for group in shard.groups:
        stack, prior = group.stack(weight), group.prior(variances)
        inflated = stack * prior[:, None, :] if prior.ndim == 2 else stack @ prior
        np.einsum("pnn->pn", inflated)[...] += 1.0
        retained, log_determinant = _inverse(inflated)
        logs += np.bincount(places.annotator[group.nodes][:: group.n_nodes], log_determinant, u)
        found = retained @ stack
        pulls = np.matmul(retained, shift[group.nodes].reshape(-1, group.n_nodes, 1))
        own[:, group.site] = group.margins(places, _times(prior, pulls), _times(prior, retained))
        if group.first is not None:
            to_first = group.first.transpose(0, 2, 1)
            retained, pulls, found = to_first @ retained, to_first @ pulls, to_first @ found @ group.first
        stack[...] = (found + found.transpose(0, 2, 1)) / 2
        group.stack(kept)[...] = retained.transpose(0, 2, 1)
        pull[group.nodes] = pulls.ravel()
    reach = np.asarray(places.matrix(weight) @ loadings)
    across = places.by_annotator(loadings, u).T
    precision = np.eye(c) + np.asarray(across @ reach).reshape(u, c, c)
    covariance, log_determinant = np.linalg.inv(precision), np.linalg.slogdet(precision)[1]
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    pulled = np.asarray(across @ pull).reshape(u, c)
    return ShardSolution(sites, weight, kept, pull, reach, covariance, pulled, own, -(logs + log_determinant))


@dataclass(frozen=True, eq=False)
class Information:
    """What annotators say about the consensus t: exp(gradient't - t'(direct - sum Z'Z)t/2).

    direct (n_items, n_items) sparse; gradient (n_items,); lost (n_items,): the diagonal of sum Z'Z.
    """

    direct: scipy.sparse.csr_array
    gradient: Floats
    lost: Floats


def add_information(one: Information, other: Information) -> Information:
    return Information(one.direct + other.direct, one.gradient + other.gradient, one.lost + other.lost)


def information_of(
    shard: FactorShard, solution: ShardSolution, tastes: TasteFactors
) -> tuple[Information, scipy.sparse.csr_array]:
    """Return the information of a shard about the consensus, and its Z (U c, n_items), which stays with the shard.

    Integrating the scores out leaves J - J V A V'J; Z = A^1/2 V'J.
    """
    places, n, (u, c) = shard.places, len(tastes.own), solution.pulled.shape
    half = np.linalg.cholesky(solution.scores)
    pulled = np.matmul(half.transpose(0, 2, 1), solution.pulled[:, :, None])
    along = np.asarray(places.by_annotator(solution.reach, u) @ half.reshape(u * c, c))
    by_score = places.by_annotator(along, u).T.tocsr()
    at = (by_score.data, places.item[by_score.indices].astype(np.int32), by_score.indptr)
    z = scipy.sparse.csr_array(at, shape=(u * c, n))
    gradient = np.bincount(places.item, solution.pull, n) - z.T @ pulled.ravel()
    # what an annotator says of an item is at one node alone, so that squares of Z are those at the nodes
    lost = np.asarray(np.bincount(places.item, (along**2).sum(axis=1), n), dtype=np.float64)
    return Information(places.item_matrix(solution.information), np.asarray(gradient, dtype=np.float64), lost), z


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Scores with the consensus integrated, (U, c): mean; second moments (U, c, c); across (U, c, r): sum V'J F.

    inner (U, c, c): sum V'J diag(rest + open) J V.   F, rest: of ConsensusMoments.
    """

    mean: Floats
    covariance: Floats
    across: Floats
    inner: Floats


def score_moments(
    shard: FactorShard, solution: ShardSolution, tastes: TasteFactors, consensus: ConsensusMoments
) -> ScoreMoments:
    item, (u, c), reach = shard.places.item, solution.pulled.shape, solution.reach
    rest = (consensus.rest + tastes.open)[item]
    values = np.column_stack([consensus.mean[item], rest[:, None] * reach, consensus.factor[item]])
    sums = np.asarray(shard.places.by_annotator(reach, u).T @ values).reshape(u, c, values.shape[1])
    pull, inner, across = solution.pulled - sums[:, :, 0], sums[:, :, 1 : c + 1], sums[:, :, c + 1 :]
    mean = np.matmul(solution.scores, pull[:, :, None])[:, :, 0]
    wide = inner + across @ across.transpose(0, 2, 1)
    return ScoreMoments(mean, solution.scores + solution.scores @ wide @ solution.scores, across, inner)


def site_margins(
    shard: FactorShard,
    solution: ShardSolution,
    scores: ScoreMoments,
    tastes: TasteFactors,
    consensus: ConsensusMoments,
) -> tuple[Floats, Floats]:
    """Return mean and variance (S,) of the margins, the consensus integrated out."""
    places, (u, c) = shard.places, solution.pulled.shape
    item, loadings, rest = places.item, tastes.loadings[places.item], (consensus.rest + tastes.open)[places.item]
    at = consensus.mean[item] + np.einsum("nc,nc->n", loadings, scores.mean[places.annotator])
    values = np.column_stack([at, loadings, rest[:, None] * solution.reach, consensus.factor[item]])
    apart = np.asarray(places.apart @ (places.matrix(solution.kept) @ values))
    reach, lost, moved = apart[:, 1 : c + 1], apart[:, c + 1 : 2 * c + 1], apart[:, 2 * c + 1 :]
    annotator = shard.sites.annotator
    told = np.asarray(by_owner(reach, annotator, u) @ solution.scores.reshape(u * c, c))
    both = np.concatenate([scores.inner, scores.across], axis=2)
    known = np.asarray(by_owner(told, annotator, u) @ both.reshape(u * c, both.shape[2]))
    variance = solution.own[1] + ((reach + known[:, :c] - 2 * lost) * told).sum(axis=1)
    variance += ((moved - known[:, c:]) ** 2).sum(axis=1)
    for group in shard.groups:
        variance[group.site] += group.kept_variances(places, solution.kept, rest)
    return solution.own[0] + apart[:, 0], variance


def refresh_shard(
    shard: FactorShard,
    solution: ShardSolution,
    answering: Answering,
    tastes: TasteFactors,
    consensus: ConsensusMoments,
) -> ShardSolution:
    """Compute the sites' update at the margins, the consensus integrated out."""
    scores = score_moments(shard, solution, tastes, consensus)
    margins = site_margins(shard, solution, scores, tastes, consensus)
    update, corrections = site_updates(shard.sites, answering, solution.sites, *margins)
    return replace(solution, update=update, corrections=corrections, margins=margins)
