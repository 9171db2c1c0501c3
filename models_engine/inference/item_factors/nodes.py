"""Annotators in shards, the items each has judged as nodes, and nodes in connected parts, solved by equal size."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.inference.item_factors.places import NodePlaces
from models_engine.inference.probit_ep.pair_sites import PairSites

__all__ = ["NODE_NOISE", "FactorShard", "NodeGroup", "build_factor_shards"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SHARD_SITES = 50_000
NODE_NOISE = 0.5  # variance with which an item of a ranking is perceived, see build_sites_with_rankings


@dataclass(frozen=True, eq=False)
class NodeGroup:
    """Parts of `n_nodes` nodes each. A node is an item that an annotator judged in pairs, or within one ranking.

    A part holds the nodes of one annotator that sites connect, or that are the same item: given the annotator's scores
    along the components, what is the annotator's alone is independent between parts.

    nodes, entries: where the nodes of the parts stand among those of the shard, and the entries of their matrices.
    noise (P, n) or None: variance of a node beyond the item's.   same (P, n, n) or None: 1 where two nodes are the same
    item, None where all differ.   first (P, n, n), None as `same`: 1 in the column of the first node of the same item.
    site (S,): rows of the sites in the shard.
    """

    n_nodes: int
    nodes: slice
    entries: slice
    noise: Floats | None
    same: Floats | None
    first: Floats | None
    site: Ints

    def stack(self, values: Floats) -> Floats:
        """Return the entries of the parts' matrices, (P, n, n), of those of all."""
        return values[self.entries].reshape(-1, self.n_nodes, self.n_nodes)

    def prior(self, variances: Floats) -> Floats:
        """Return the covariance of nodes whose items have independent values of variances (n_nodes,), those of the
        shard's nodes, and with the nodes' own noise: (P, n, n), or (P, n) where it is diagonal as all items differ."""
        own, n = variances[self.nodes].reshape(-1, self.n_nodes), self.n_nodes
        if self.same is None:
            return own if self.noise is None else own + self.noise
        found = self.same * own[:, :, None]
        if self.noise is not None:
            found[:, np.arange(n), np.arange(n)] += self.noise
        return np.asarray(found, dtype=np.float64)

    def margins(self, places: NodePlaces, mean: Floats, covariance: Floats) -> Floats:
        """Return mean and variance (2, S) of the sites' margins from those of the nodes, (P, n) and (P, n, n)."""
        a, b = places.low[self.site] - self.nodes.start, places.high[self.site] - self.nodes.start
        means, (low, high, between, _) = mean.ravel(), places.between[:, self.site] - self.entries.start
        flat = covariance.ravel()
        return np.stack([means[a] - means[b], flat[low] + flat[high] - 2 * flat[between]])

    def kept_variances(self, places: NodePlaces, kept: Floats, variances: Floats) -> Floats:
        """Return what independent values of variances (n_nodes,) at the nodes add to the margins' variances, (S,).

        kept: of H' (E,), see ShardSolution.
        """
        if len(self.site) > self.nodes.stop - self.nodes.start:  # the product of all nodes is cheaper
            stack = self.stack(kept)
            weighted = stack * variances[self.nodes].reshape(-1, 1, self.n_nodes)
            flat = (weighted @ stack.transpose(0, 2, 1)).ravel()
            low, high, between, _ = places.between[:, self.site] - self.entries.start
            return np.asarray(flat[low] + flat[high] - 2 * flat[between])
        rows, own = kept[self.entries].reshape(-1, self.n_nodes), variances[self.nodes].reshape(-1, self.n_nodes)
        a, b = places.low[self.site] - self.nodes.start, places.high[self.site] - self.nodes.start
        moved = rows[a] - rows[b]
        return np.asarray(np.einsum("sn,sn,sn->s", moved, moved, own[a // self.n_nodes]))


@dataclass(frozen=True, eq=False)
class FactorShard:
    """Some annotators, numbered from 0, with their sites and nodes.

    rows: where the sites stand in the whole.   annotators (n_annotators,): which these are there.
    """

    sites: PairSites
    groups: list[NodeGroup]
    places: NodePlaces
    rows: slice
    annotators: Ints

    @property
    def n_annotators(self) -> int:
        return len(self.annotators)


def build_factor_shards(sites: PairSites, n_sites: int = SHARD_SITES) -> list[FactorShard]:
    """Divide annotators into shards of about n_sites sites. Depends on the sites alone, sorted by annotator."""
    return [_build_shard(sites, rows) for rows in _shard_rows(sites, n_sites)]


def _shard_rows(sites: PairSites, n_sites: int) -> Iterator[slice]:
    begins = np.flatnonzero(np.diff(sites.annotator, prepend=-1))
    start = 0
    while start < len(sites):
        later = begins[begins >= start + n_sites]
        end = int(later[0]) if len(later) else len(sites)
        yield slice(start, end)
        start = end


def _build_shard(sites: PairSites, rows: slice) -> FactorShard:
    annotators, numbers = np.unique(sites.annotator[rows], return_inverse=True)
    own = replace(sites.select(np.arange(rows.start, rows.stop)), annotator=numbers, n_annotators=len(annotators))
    return FactorShard(own, *_build_groups(own), rows, annotators)


def _build_groups(sites: PairSites) -> tuple[list[NodeGroup], NodePlaces]:
    """Give nodes numbers by (annotator, ranking, item), find their parts, and order nodes by the size of these."""
    m, width = len(sites), max(1, sites.n_items)
    ranking = np.zeros(m, np.int64) if sites.ranking is None else sites.ranking + 1
    _, ranking = np.unique(ranking, return_inverse=True)  # 0: pairs, if there are any
    paired = np.zeros(int(ranking.max(initial=0)) + 1, dtype=bool)
    paired[ranking[~sites.ranked]] = True
    owner = sites.annotator * (len(paired) + 1) + ranking
    keys, place = np.unique(
        np.concatenate([owner * width + sites.low, owner * width + sites.high]), return_inverse=True
    )
    low, high = np.split(place.ravel(), 2)
    item, owner = keys % width, keys // width
    annotator, noisy = owner // (len(paired) + 1), ~paired[owner % (len(paired) + 1)]
    order = np.lexsort((item, annotator))
    again = (np.diff(item[order]) == 0) & (np.diff(annotator[order]) == 0)
    links = (np.concatenate([low, order[:-1][again]]), np.concatenate([high, order[1:][again]]))
    graph = scipy.sparse.coo_array((np.ones(len(links[0])), links), shape=(len(keys), len(keys)))
    n_parts, part = connected_components(graph, directed=False)
    size = np.bincount(part, minlength=n_parts)
    by_size = np.lexsort((part, size[part]))
    at = np.empty(len(keys), dtype=np.int64)
    at[by_size] = np.arange(len(keys))
    low, high, item, annotator = at[low], at[high], item[by_size], annotator[by_size]
    noise = np.where(noisy[by_size], NODE_NOISE, 0.0)
    size = size[part][by_size]
    groups = _by_size(size, item, noise, low)
    repeated = [(group.nodes, group.first) for group in groups if group.first is not None]
    return groups, NodePlaces.of(size, item, annotator, low, high, sites.n_items, repeated)


def _by_size(size: Ints, item: Ints, noise: Floats, low: Ints) -> list[NodeGroup]:
    """Return the groups of parts of equal size; of nodes, in their order: size of the part, item, noise."""
    found, entry = [], 0
    bounds = np.append(np.flatnonzero(np.diff(size, prepend=-1)), len(size))
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        n = int(size[start])
        items, own = item[start:end].reshape(-1, n), noise[start:end].reshape(-1, n)
        same = (items[:, :, None] == items[:, None, :]).astype(np.float64)
        repeated = same.sum() > items.size
        rows = np.flatnonzero((low >= start) & (low < end))
        found.append(
            NodeGroup(
                n,
                slice(start, end),
                slice(entry, entry + (end - start) * n),
                own if own.any() else None,
                same if repeated else None,
                np.eye(n)[same.argmax(axis=2)] if repeated else None,
                rows,
            )
        )
        entry += (end - start) * n
    return found
