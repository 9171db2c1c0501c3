"""Blocks of annotators with similar numbers of sites, padded so that all are solved at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.linalg import MAX_SMALL_WIDTH, SMALL_NUMBERS, sum_by_group

__all__ = ["Block", "Blocks", "build_blocks"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_BLOCK_NUMBERS = 2_500_000  # of wide blocks
MAX_NARROW_NUMBERS = 60_000  # of others: half a megabyte, of which several stay in the cache
MIN_PAIRS_PER_ITEM = 1.6  # from which item space is cheaper than pair space; a solve costs four times as much there
MIN_WIDE_BLOCK = 50  # local coordinates from which some rows of the items' matrix at a time are quicker
TILE_NUMBERS = 65_536  # of these rows: half a megabyte
MAX_FEW_ITEMS = 64  # items in all up to which products with each coordinate's weights of them are quicker still


@dataclass(frozen=True, eq=False)
class Block:
    """U annotators padded to d local coordinates and P sites.

    site (U, P): index into the sites; padding repeats one and has real False.   real (U, P).
    Item space (first (U, P) is set): coordinate c of an annotator is the utility of item items[u, c], and site p is
    coordinate first[u, p] minus second[u, p]. Pair space (first is None): coordinate p is the margin of site p, the
    utility of items[u, p] minus that of others[u, p]; noise (U, P, P) is the covariance of what rankings add to it.
    """

    annotators: Ints
    site: Ints
    real: NDArray[np.bool_]
    items: Ints
    others: Ints | None
    first: Ints | None
    second: Ints | None
    noise: Floats | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process: not what is computed again there as quickly."""
        return {name: value for name, value in vars(self).items() if name not in ("_by_item", "_cells")}

    @property
    def in_items(self) -> bool:
        return self.first is not None

    @property
    def cost(self) -> float:
        """Return annotators times the cube of the local width: a solve takes some multiple of this many operations."""
        n_annotators, d = self.items.shape
        return n_annotators * float(d) ** 3

    def gather(self, covariance: Floats) -> Floats:
        """Return the covariance of the local coordinates, (U, d, d), given that of the items (n_items, n_items)."""
        if self.is_wide and len(covariance) <= MAX_FEW_ITEMS:
            weights = self._item_weights(len(covariance))
            return weights @ covariance @ weights.transpose(0, 2, 1)
        if self.is_wide:
            return self._gather_wide(covariance)
        if self.is_small:
            return self._gather_small(covariance)
        n, flat = len(covariance), covariance.ravel()
        rows, columns = self.items[:, :, None] * n, self.items[:, None, :]
        cells = rows + columns
        local = flat.take(cells)
        if self.others is not None:
            other_rows, other_columns = self.others[:, :, None] * n, self.others[:, None, :]
            values = np.empty_like(local)
            for row, column, combine in (
                (rows, other_columns, np.subtract),
                (other_rows, columns, np.subtract),
                (other_rows, other_columns, np.add),
            ):
                np.add(row, column, out=cells)
                flat.take(cells, out=values, mode="clip")  # all are inside; to raise, take() would copy them first
                combine(local, values, out=local)
        return local

    @property
    def is_small(self) -> bool:
        """Return whether arrays are kept with the annotators last in memory, along which small matrices are quick."""
        return self.others is not None and self.items.shape[1] <= MAX_SMALL_WIDTH

    def _gather_small(self, covariance: Floats) -> Floats:
        """Do the same for the lower triangle, and mirror it."""
        rows, columns = np.tril_indices(self.items.shape[1])
        flat, (cells, *more) = covariance.ravel(), self._triangle_cells(len(covariance))
        found, values = np.empty((2, *cells.shape))
        flat.take(cells, out=found, mode="clip")  # all are inside; to raise, take() would copy them first
        for cells, combine in zip(more, (np.add, np.subtract, np.subtract), strict=True):
            flat.take(cells, out=values, mode="clip")
            combine(found, values, out=found)
        local = np.empty((self.items.shape[1], *self.items.T.shape))
        local[rows, columns] = found
        local[columns, rows] = found
        return local.transpose(2, 0, 1)

    def _triangle_cells(self, n_items: int) -> Ints:
        """Return where in a flat (n_items, n_items) matrix the covariances of both ends of the margins in the lower
        triangle are: items with items, others with others, items with others, others with items, (4, cells, U).
        """
        if self.others is None:
            raise ValueError("only margins have two ends; call this in pair space.")
        known = vars(self).get("_cells")
        if known is not None and known[0] == n_items:
            return known[1]
        rows, columns = np.tril_indices(self.items.shape[1])
        low, high = self.items.T, self.others.T
        pairs = ((low, low), (high, high), (low, high), (high, low))
        cells = np.stack([one[rows] * n_items + other[columns] for one, other in pairs])
        vars(self)["_cells"] = n_items, cells
        return cells

    def _gather_wide(self, covariance: Floats) -> Floats:
        """Do the same some rows of the covariance at a time, for whoever judged these items: they stay in the cache."""
        n_annotators, d = self.items.shape
        local = np.empty((n_annotators * d, d))
        for end, order in enumerate(self._by_item):
            for rows, cells, first in self._tiles(order, len(covariance)):
                tile = covariance[first : first + _tile_height(len(covariance))].ravel()
                values = tile.take(cells[0])
                if len(cells) > 1:
                    values -= tile.take(cells[1])
                if end == 0:
                    local[rows] = values
                else:
                    local[rows] -= values
        return local.reshape(n_annotators, d, d)

    def _item_weights(self, n_items: int) -> Floats:
        """Return each local coordinate as a weighted sum of items: its weights, (U, d, n_items)."""
        one = np.eye(n_items)
        return one[self.items] - (0.0 if self.others is None else one[self.others])

    @cached_property
    def _by_item(self) -> list[tuple[Ints, Ints]]:
        """Return, of `items` and of `others`, the items (U d,) in order, and each one's local coordinate, u d + c."""
        ends = [self.items] if self.others is None else [self.items, self.others]
        orders = [np.argsort(end, axis=None, kind="stable") for end in ends]
        return [(end.ravel()[order], order) for end, order in zip(ends, orders, strict=True)]

    def _tiles(self, by_item: tuple[Ints, Ints], n_items: int) -> Iterator[tuple[Ints, list[Ints], int]]:
        """Yield, for some rows of an (n_items, n_items) matrix at a time, the local coordinates (k,) of these items;
        where their annotators' `items` and `others` are in the flattened rows, (k, d) each; and the first of the rows.
        """
        (item, local), height = by_item, _tile_height(n_items)
        bounds = np.searchsorted(item, np.arange(0, n_items + height, height))
        for first, (start, end) in zip(range(0, n_items, height), pairwise(bounds), strict=True):
            if start == end:
                continue
            rows, row_starts = local[start:end], ((item[start:end] - first) * n_items)[:, None]
            who = rows // self.items.shape[1]
            both = (self.items,) if self.others is None else (self.items, self.others)
            cells = [columns.take(who, axis=0) for columns in both]
            for some in cells:
                some += row_starts
            yield rows, cells, first

    def project(self, utilities: Floats) -> Floats:
        """Return local coordinates (U, d) of utilities (n_items,) or (n_annotators, n_items)."""
        if utilities.ndim == 2:
            chosen = self.annotators[:, None]
            return utilities[chosen, self.items] - (0.0 if self.others is None else utilities[chosen, self.others])
        return utilities[self.items] - (0.0 if self.others is None else utilities[self.others])

    def precision(self, at_sites: Floats) -> Floats:
        """Sum site precisions (n_sites,) in local coordinates, (U, d, d): diagonal, or a graph Laplacian."""
        values = np.where(self.real, at_sites[self.site], 0.0)
        n_annotators, d = self.items.shape
        result = np.zeros((n_annotators, d, d))
        if self.first is None or self.second is None:
            result[:, np.arange(d), np.arange(d)] = values
            return result
        base = np.arange(n_annotators)[:, None] * d * d
        cells = [base + row * d + column for row in (self.first, self.second) for column in (self.first, self.second)]
        signed = np.concatenate([values, -values, -values, values], axis=1).ravel()
        return sum_by_group(np.concatenate(cells, axis=1).ravel(), signed, result.size).reshape(result.shape)

    def weighted(self, at_sites: Floats, stack: Floats) -> Floats:
        """Multiply `precision(at_sites)` by a stack of matrices, (U, d, d)."""
        if self.in_items:
            return self.precision(at_sites) @ stack
        return np.where(self.real, at_sites[self.site], 0.0)[:, :, None] * stack

    def shift(self, at_sites: Floats) -> Floats:
        """Sum site shifts (n_sites,) in local coordinates, (U, d)."""
        values = np.where(self.real, at_sites[self.site], 0.0)
        if self.first is None or self.second is None:
            return values
        n_annotators, d = self.items.shape
        base = np.arange(n_annotators)[:, None] * d
        cells = np.concatenate([base + self.first, base + self.second], axis=1).ravel()
        both = np.concatenate([values, -values], axis=1).ravel()
        return sum_by_group(cells, both, n_annotators * d).reshape(n_annotators, d)

    def margins(self, local: Floats) -> Floats:
        """Return margins of the sites (U, P) from local coordinates (U, d)."""
        if self.first is None or self.second is None:
            return local
        return np.take_along_axis(local, self.first, axis=1) - np.take_along_axis(local, self.second, axis=1)

    def margin_variances(self, local: Floats) -> Floats:
        """Return variances of the margins (U, P) from a covariance of the local coordinates (U, d, d)."""
        if self.first is None or self.second is None:
            return np.einsum("udd->ud", local)
        d = local.shape[1]
        flat = local.reshape(len(local), d * d)
        cells = (self.first * (d + 1), self.second * (d + 1), self.first * d + self.second)
        one, two, cross = (np.take_along_axis(flat, cell, axis=1) for cell in cells)
        return one + two - 2 * cross

    def scatter_vector(self, local: Floats, n_items: int) -> Floats:
        """Sum local vectors (U, d) over annotators in item coordinates, (n_items,)."""
        result = sum_by_group(self.items.ravel(), local.ravel(), n_items)
        if self.others is not None:
            result -= sum_by_group(self.others.ravel(), local.ravel(), n_items)
        return result

    @property
    def is_wide(self) -> bool:
        return self.items.shape[1] >= MIN_WIDE_BLOCK

    def scatter_cells(self, n_items: int) -> tuple[list[Ints], list[Ints]]:
        """Return where symmetric local matrices (U, d, d) are added in a flat (n_items, n_items) matrix, and where they
        are taken off, there and at the transpose.
        """
        own = self.items[:, :, None] * n_items
        if self.others is None:
            return [(own + self.items[:, None, :]).ravel()], []
        below = (self.others[:, :, None] * n_items + self.others[:, None, :]).ravel()
        return [(own + self.items[:, None, :]).ravel(), below], [(own + self.others[:, None, :]).ravel()]

    def scatter_small(self, local: Floats, n_items: int) -> Floats:
        """Sum symmetric local matrices (U, d, d) over annotators in item coordinates, by their lower triangles."""
        rows, columns = np.tril_indices(self.items.shape[1])
        values = local.transpose(1, 2, 0)[rows, columns]
        values[rows == columns] /= 2
        cells = self._triangle_cells(n_items)
        one, two, three, four = (sum_by_group(some.ravel(), values.ravel(), n_items**2) for some in cells)
        found = (one + two - three - four).reshape(n_items, n_items)
        return np.asarray(found + found.T)

    def scatter_wide(self, local: Floats, total: Floats) -> None:
        """Add local matrices (U, d, d) to `total` (n_items, n_items); of many items some of its rows at a time."""
        n_items = len(total)
        if n_items <= MAX_FEW_ITEMS:
            weights = self._item_weights(n_items)
            total += (weights.transpose(0, 2, 1) @ local @ weights).sum(axis=0)
            return
        by_row = local.reshape(-1, local.shape[2])
        for sign, order in zip((1.0, -1.0), self._by_item, strict=False):
            for rows, cells, first in self._tiles(order, n_items):
                values, part = sign * by_row[rows].ravel(), total[first : first + _tile_height(n_items)]
                part += sum_by_group(cells[0].ravel(), values, part.size).reshape(part.shape)
                if len(cells) > 1:
                    part -= sum_by_group(cells[1].ravel(), values, part.size).reshape(part.shape)


def _tile_height(n_items: int) -> int:
    """Return how many rows of an (n_items, n_items) matrix stay in the cache."""
    return max(1, TILE_NUMBERS // n_items)


class Blocks(list[Block]):
    """All blocks of some sites. kept: their shards where an executor keeps them between runs of EP."""

    kept: Any = None


def build_blocks(sites: PairSites) -> Blocks:
    """Group all annotators with sites into blocks of at most MAX_BLOCK_NUMBERS numbers per stack of local matrices,
    MAX_NARROW_NUMBERS where these are narrow.

    Each annotator is solved in the cheaper space: its distinct items, or its distinct margins.
    """
    judged, start, n_sites = np.unique(sites.annotator, return_index=True, return_counts=True)
    owner = np.repeat(np.arange(len(judged)), n_sites)
    slots = np.sort(np.concatenate([owner * sites.n_items + sites.low, owner * sites.n_items + sites.high]))
    slots = slots[np.diff(slots, prepend=-1) > 0]  # quicker than np.unique, which hashes them
    n_slots = np.bincount(slots // max(1, sites.n_items), minlength=len(judged))
    by_items = (MIN_PAIRS_PER_ITEM * n_slots <= n_sites) & (n_sites > MAX_SMALL_WIDTH)
    by_items &= sum_by_group(owner, sites.ranked, len(judged)) == 0
    width = np.where(by_items, n_slots, n_sites)
    order = np.lexsort((n_sites, width, by_items))
    result, begin = Blocks(), 0
    while begin < len(order):
        end = _block_end(order, begin, width, by_items)
        chosen = order[begin:end]
        build = _item_block if by_items[chosen[0]] else _pair_block
        result.append(build(sites, judged[chosen], start[chosen], n_sites[chosen]))
        begin = end
    return result


def _block_end(order: Ints, begin: int, width: Ints, by_items: NDArray[np.bool_]) -> int:
    """Return the end of a block starting at `begin`: one space, widths within 15%, memory bounded."""
    first = order[begin]
    small = not by_items[first] and width[first] <= MAX_SMALL_WIDTH
    widest = max(int(width[first]) + 2, int(width[first] * 1.15))
    if small:
        widest, most = min(widest, MAX_SMALL_WIDTH), SMALL_NUMBERS
    else:
        most = MAX_NARROW_NUMBERS if width[first] < MIN_WIDE_BLOCK else MAX_BLOCK_NUMBERS
    alike = order[begin : begin + most]
    widths = width[alike]
    fits = (by_items[alike] == by_items[first]) & (widths <= widest)
    fits &= np.arange(1, len(alike) + 1) * widths**2 <= min(most, MAX_BLOCK_NUMBERS)
    fits[0] = True
    return begin + (len(fits) if fits.all() else int(np.argmin(fits)))


def _padded(start: Ints, n_sites: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    columns = np.arange(int(n_sites.max()))
    real = columns < n_sites[:, None]
    return start[:, None] + np.where(real, columns, 0), real


def _pair_block(sites: PairSites, annotators: Ints, start: Ints, n_sites: Ints) -> Block:
    site, real = _padded(start, n_sites)
    if site.shape[1] <= MAX_SMALL_WIDTH:
        site, real = np.asfortranarray(site), np.asfortranarray(real)  # what is computed of them is so, too
    items = np.where(real, sites.low[site], 0)
    others = np.where(real, sites.high[site], 0)  # a padded margin compares item 0 with itself and has no variance
    noise = None if sites.ranking is None else _noise(items, others, np.where(real, sites.ranking[site], -1))
    return Block(annotators, site, real, items, others, None, None, noise)


def _noise(items: Ints, others: Ints, ranking: Ints) -> Floats | None:
    """Return half of d'd for sites d, d' of one ranking, (U, P, P): an item's noise enters all its margins."""
    if not (ranking >= 0).any():
        return None
    shared = sum(
        sign * (one[:, :, None] == other[:, None, :])
        for one, other, sign in (
            (items, items, 0.5),
            (others, others, 0.5),
            (items, others, -0.5),
            (others, items, -0.5),
        )
    )
    return np.where((ranking[:, :, None] == ranking[:, None, :]) & (ranking >= 0)[:, :, None], shared, 0.0)


def _item_block(sites: PairSites, annotators: Ints, start: Ints, n_sites: Ints) -> Block:
    site, real = _padded(start, n_sites)
    n = sites.n_items
    row = np.arange(len(annotators))[:, None]
    low, high = row * n + sites.low[site], row * n + sites.high[site]
    slots, where = np.unique(np.concatenate([low, high], axis=1).ravel(), return_inverse=True)
    counts = np.bincount(slots // n, minlength=len(annotators))
    offset = np.cumsum(counts) - counts
    local = where.reshape(len(annotators), -1) - offset[:, None]
    columns = np.arange(int(counts.max()))
    used = columns < counts[:, None]
    items = slots[offset[:, None] + np.where(used, columns, 0)] % n
    return Block(annotators, site, real, items, None, local[:, : site.shape[1]], local[:, site.shape[1] :])
