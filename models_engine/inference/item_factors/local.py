"""The annotators of a shard solved given the consensus: scores along the components, and what is a person's alone."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.item_factors.nodes import FactorShard, NodeGroup
from models_engine.inference.probit_ep.site_updates import Answering, Sites, largest_change, site_updates, total_sites

__all__ = [
    "ConsensusMoments",
    "GroupSolution",
    "Information",
    "ScoreMoments",
    "ShardSolution",
    "TasteFactors",
    "add_information",
    "gather_rows",
    "information_of",
    "node_moments",
    "refresh_shard",
    "score_moments",
    "solve_shard",
    "sum_rows",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
class GroupSolution:
    """Of the parts of a group: retained H = (I + W D)^-1 (P, n, n), information J = H W, pull h = H b (P, n).

    W, b: precision and shift of the sites over nodes, D the prior covariance of nodes given the scores.
    """

    retained: Floats
    information: Floats
    pull: Floats


@dataclass(frozen=True, eq=False)
class ShardSolution:
    """A shard at given sites: the groups, and the covariance (U, c, c) of the scores given the consensus, (I + sum V'J
    V)^-1, and the sum of V'h (U, c)."""

    sites: Sites
    groups: list[GroupSolution]
    scores: Floats
    pulled: Floats
    log_determinants: Floats  # (U,): of all H, and of the scores' covariance
    update: Sites | None = None
    corrections: Floats | None = None
    margins: tuple[Floats, Floats] | None = None  # mean and variance (n_sites,), where grades count

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


def sum_rows(owner: Ints, values: Floats, n: int) -> Floats:
    """Sum values (P, ...) by owner (P,), (n, ...)."""
    shape = (n, len(owner))
    adding = scipy.sparse.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=shape)
    width = int(np.prod(values.shape[1:]))
    return np.asarray(adding @ values.reshape(len(owner), width)).reshape(n, *values.shape[1:])


def gather_rows(group: NodeGroup, stack: Floats) -> Floats:
    """Return what belongs to the annotator of each part."""
    return stack[group.annotators]


def _inverse(stack: Floats) -> tuple[Floats, Floats]:
    """Return inverses and log determinants of matrices of positive determinant, (P, n, n) and (P,)."""
    if stack.shape[1] != 2:
        return np.asarray(np.linalg.inv(stack), dtype=np.float64), np.linalg.slogdet(stack)[1]
    determinant = stack[:, 0, 0] * stack[:, 1, 1] - stack[:, 0, 1] * stack[:, 1, 0]
    found = np.empty_like(stack)
    found[:, 0, 0], found[:, 1, 1] = stack[:, 1, 1], stack[:, 0, 0]
    found[:, 0, 1], found[:, 1, 0] = -stack[:, 0, 1], -stack[:, 1, 0]
    return found / determinant[:, None, None], np.log(determinant)


def solve_shard(shard: FactorShard, sites: Sites, tastes: TasteFactors) -> ShardSolution:
    """Solve all annotators of a shard at these sites."""
    total, n, c = total_sites(shard.sites, sites), shard.n_annotators, tastes.loadings.shape[1]
    groups, precision, pulled, logs = [], np.tile(np.eye(c), (n, 1, 1)), np.zeros((n, c)), np.zeros(n)
    for group in shard.groups:
        weight, shift = group.precision(total.precision), group.shift(total.shift)
        inflated = weight @ group.prior(tastes.own)
        np.einsum("pnn->pn", inflated)[...] += 1.0
        retained, log_determinant = _inverse(inflated)
        information = retained @ weight
        information = (information + information.transpose(0, 2, 1)) / 2
        pull = np.matmul(retained, shift[:, :, None])[:, :, 0]
        loadings = tastes.loadings[group.items]
        across = loadings.transpose(0, 2, 1)
        precision += sum_rows(group.annotators, across @ (information @ loadings), n)
        pulled += sum_rows(group.annotators, np.matmul(across, pull[:, :, None])[:, :, 0], n)
        logs += np.bincount(group.annotators, log_determinant, n)
        groups.append(GroupSolution(retained, information, pull))
    covariance, log_determinant = np.linalg.inv(precision), np.linalg.slogdet(precision)[1]
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    return ShardSolution(sites, groups, covariance, pulled, -(logs + log_determinant))


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
    n_items, c, u = len(tastes.own), tastes.loadings.shape[1], shard.n_annotators
    root = np.asarray(np.linalg.cholesky(solution.scores), dtype=np.float64).transpose(0, 2, 1)
    half = np.matmul(root, solution.pulled[:, :, None])[:, :, 0]
    gradient = np.zeros(n_items)
    rows, columns, values, z_rows, z_columns, z_values = [], [], [], [], [], []
    for group, one in zip(shard.groups, solution.groups, strict=True):
        n = group.n_nodes
        rows.append(np.repeat(group.items, n, axis=1).ravel())
        columns.append(np.tile(group.items, (1, n)).ravel())
        values.append(one.information.ravel())
        gradient += np.bincount(group.items.ravel(), one.pull.ravel(), n_items)
        along = gather_rows(group, root) @ (tastes.loadings[group.items].transpose(0, 2, 1) @ one.information)
        z_rows.append((group.annotators[:, None, None] * c + np.arange(c)[:, None] + np.zeros(n, np.int64)).ravel())
        z_columns.append(np.broadcast_to(group.items[:, None, :], along.shape).ravel())
        z_values.append(along.ravel())
    direct = _sparse(rows, columns, values, (n_items, n_items))
    z = _sparse(z_rows, z_columns, z_values, (u * c, n_items))
    gradient -= z.T @ half.ravel()
    return Information(direct, gradient, np.asarray(z.multiply(z).sum(axis=0)).ravel()), z


def _sparse(
    rows: list[Ints], columns: list[Ints], values: list[Floats], shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    if not rows:
        return scipy.sparse.csr_array(shape)
    at = (np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32))
    return scipy.sparse.coo_array((np.concatenate(values), at), shape=shape).tocsr()


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
    n, (c, r) = shard.n_annotators, (tastes.loadings.shape[1], consensus.factor.shape[1])
    pull, across, inner = solution.pulled.copy(), np.zeros((n, c, r)), np.zeros((n, c, c))
    for group, one in zip(shard.groups, solution.groups, strict=True):
        known = tastes.loadings[group.items].transpose(0, 2, 1) @ one.information
        pull -= sum_rows(group.annotators, np.matmul(known, consensus.mean[group.items][:, :, None])[:, :, 0], n)
        across += sum_rows(group.annotators, known @ consensus.factor[group.items], n)
        rest = group.spread(consensus.rest + tastes.open)
        inner += sum_rows(group.annotators, known @ rest @ known.transpose(0, 2, 1), n)
    mean = np.matmul(solution.scores, pull[:, :, None])[:, :, 0]
    wide = inner + across @ across.transpose(0, 2, 1)
    return ScoreMoments(mean, solution.scores + solution.scores @ wide @ solution.scores, across, inner)


def node_moments(
    group: NodeGroup,
    one: GroupSolution,
    solution: ShardSolution,
    scores: ScoreMoments,
    tastes: TasteFactors,
    consensus: ConsensusMoments,
) -> tuple[Floats, Floats]:
    """Return mean (P, n) and covariance (P, n, n) of the utilities at the nodes, the consensus integrated out."""
    loadings, keep = tastes.loadings[group.items], one.retained.transpose(0, 2, 1)
    prior, rest = group.prior(tastes.own), group.spread(consensus.rest + tastes.open)
    at = consensus.mean[group.items] + np.matmul(loadings, gather_rows(group, scores.mean)[:, :, None])[:, :, 0]
    mean = np.matmul(keep, at[:, :, None]) + np.matmul(prior, one.pull[:, :, None])
    reach, own = keep @ loadings, gather_rows(group, solution.scores)
    wide = own + own @ gather_rows(group, scores.inner) @ own
    covariance = prior @ one.retained + keep @ rest @ one.retained + reach @ wide @ reach.transpose(0, 2, 1)
    cross = keep @ rest @ one.information @ loadings @ own @ reach.transpose(0, 2, 1)
    covariance -= cross + cross.transpose(0, 2, 1)
    if consensus.factor.shape[1]:
        moved = keep @ consensus.factor[group.items] - reach @ (own @ gather_rows(group, scores.across))
        covariance += moved @ moved.transpose(0, 2, 1)
    return mean[:, :, 0], covariance


def refresh_shard(
    shard: FactorShard,
    solution: ShardSolution,
    answering: Answering,
    tastes: TasteFactors,
    consensus: ConsensusMoments,
) -> ShardSolution:
    """Compute the sites' update at the margins, the consensus integrated out."""
    scores = score_moments(shard, solution, tastes, consensus)
    margin, variance = np.zeros(len(shard.sites)), np.ones(len(shard.sites))
    for group, one in zip(shard.groups, solution.groups, strict=True):
        means, spreads = group.margins(*node_moments(group, one, solution, scores, tastes, consensus))
        margin[group.site], variance[group.site] = means, spreads
    update, corrections = site_updates(shard.sites, answering, solution.sites, margin, variance)
    margins = None if shard.sites.grade is None else (margin, variance)
    return replace(solution, update=update, corrections=corrections, margins=margins)
