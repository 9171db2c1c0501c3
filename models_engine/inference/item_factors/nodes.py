"""Annotators in shards, the items each has judged as nodes, and nodes in connected parts, solved by equal size."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.inference.probit_ep.pair_sites import PairSites

__all__ = ["NODE_NOISE", "FactorShard", "NodeGroup", "build_factor_shards"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SHARD_SITES = 50_000
NODE_NOISE = 0.5  # variance with which an item of a ranking is perceived, see build_sites_with_rankings


@dataclass(frozen=True, eq=False)
class NodeGroup:
    """Parts of `n` nodes each. A node is an item that an annotator judged in pairs, or within one ranking.

    A part holds the nodes of one annotator that sites connect, or that are the same item: given the annotator's scores
    along the components, what is the annotator's alone is independent between parts.

    items (P, n), annotators (P,): numbers of the shard.   noise (P, n) or None: variance of a node beyond the item's.
    same (P, n, n) or None: 1 where two nodes are the same item, None where all differ.   site (S,): rows of the sites
    in the shard; part, low, high (S,): which part and which of its nodes they compare.
    """

    items: Ints
    annotators: Ints
    noise: Floats | None
    same: Floats | None
    site: Ints
    part: Ints
    low: Ints
    high: Ints

    @property
    def n_parts(self) -> int:
        return len(self.items)

    @property
    def n_nodes(self) -> int:
        return self.items.shape[1]

    def spread(self, variances: Floats) -> Floats:
        """Return the covariance (P, n, n) of nodes whose items have independent values of variances (n_items,)."""
        own, n = variances[self.items], self.n_nodes
        if self.same is not None:
            return self.same * own[:, :, None]
        found = np.zeros((*own.shape, n))
        np.einsum("pnn->pn", found)[...] = own
        return found

    def prior(self, variances: Floats) -> Floats:
        """Return `spread` with the nodes' own noise."""
        found = self.spread(variances)
        if self.noise is not None:
            np.einsum("pnn->pn", found)[...] += self.noise
        return found

    def precision(self, values: Floats) -> Floats:
        """Return the sites' precision matrix (P, n, n) over nodes; values (n_sites,) of the shard."""
        n, at = self.n_nodes, values[self.site]
        base = self.part * n * n
        size = self.n_parts * n * n
        found = np.bincount(base + self.low * (n + 1), at, size) + np.bincount(base + self.high * (n + 1), at, size)
        across = np.bincount(base + self.low * n + self.high, at, size)
        stack = found.reshape(-1, n, n)
        across = across.reshape(-1, n, n)
        return np.asarray(stack - across - across.transpose(0, 2, 1))

    def shift(self, values: Floats) -> Floats:
        """Return the sites' shift (P, n) over nodes."""
        n, at = self.n_nodes, values[self.site]
        base, size = self.part * n, self.n_parts * n
        found = np.bincount(base + self.low, at, size) - np.bincount(base + self.high, at, size)
        return np.asarray(found.reshape(-1, n), dtype=np.float64)

    def margins(self, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance (S,) of the sites' margins from those of the nodes."""
        p, a, b = self.part, self.low, self.high
        return mean[p, a] - mean[p, b], covariance[p, a, a] + covariance[p, b, b] - 2 * covariance[p, a, b]


@dataclass(frozen=True, eq=False)
class FactorShard:
    """Some annotators, numbered from 0, with their sites and nodes.

    rows: where the sites stand in the whole.   annotators (n_annotators,): which these are there.
    """

    sites: PairSites
    groups: list[NodeGroup]
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
    return FactorShard(own, _build_groups(own), rows, annotators)


def _build_groups(sites: PairSites) -> list[NodeGroup]:
    """Give nodes numbers by (annotator, ranking, item), find their parts, and group these by size."""
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
    by_part = np.argsort(part, kind="stable")
    local = np.empty(len(keys), dtype=np.int64)
    local[by_part] = np.arange(len(keys)) - np.repeat(np.cumsum(size) - size, size)
    number = np.empty(n_parts, dtype=np.int64)  # of a part within its group
    found = []
    for n in np.unique(size):
        parts = np.flatnonzero(size == n)
        number[parts] = np.arange(len(parts))
        nodes = by_part[size[part[by_part]] == n].reshape(len(parts), n)
        rows = np.flatnonzero(size[part[low]] == n)
        items, noise = item[nodes], np.where(noisy[nodes], NODE_NOISE, 0.0)
        same = (items[:, :, None] == items[:, None, :]).astype(np.float64)
        found.append(
            NodeGroup(
                items,
                annotator[nodes[:, 0]],
                noise if noise.any() else None,
                same if same.sum() > items.size else None,
                rows,
                number[part[low[rows]]],
                local[low[rows]],
                local[high[rows]],
            )
        )
    return found
