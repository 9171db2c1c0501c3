"""Checks of raw input: each returns a validated array or raises InvalidData naming row and value."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.errors import InvalidData

__all__ = [
    "check_count",
    "check_distinct",
    "check_features",
    "check_indices",
    "check_outcomes",
    "check_ranks",
    "check_weights",
    "flatten",
    "places_in_sets",
    "ranks_of_top",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def check_indices(values: ArrayLike, name: str, *, rows: Ints | None = None) -> Ints:
    """Check non-negative whole numbers, shape (m,). `rows[i]` is the label value i belongs to (default: i itself)."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidData(f"{name} has shape {array.shape}; give one whole number per row, shape (n,).")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise InvalidData(f"{name} holds {array.dtype} values such as {array[0]!r}; give item and annotator numbers.")
    whole = np.isfinite(array) & (array == np.floor(array)) & (array >= 0) if array.dtype.kind == "f" else array >= 0
    if not whole.all():
        _raise_first(~whole, array, f"{name} must be a whole number of 0 or more", rows)
    return array.astype(np.int64)


def check_count(indices: Ints, count: int | None, name: str, *, rows: Ints | None = None) -> int:
    """Return the given count, which must exceed every index, or the largest index + 1 if none is given."""
    if count is None:
        return int(indices.max()) + 1 if indices.size else 0
    if count < 0 or int(count) != count:
        raise InvalidData(f"n_{name}s is {count}; give a whole number of 0 or more.", value=count)
    if indices.size and int(indices.max()) >= count:
        _raise_first(indices >= count, indices, f"{name} numbers run from 0 to {count - 1} (n_{name}s={count})", rows)
    return int(count)


def check_weights(weights: ArrayLike | None, n_labels: int) -> Floats:
    """Check one finite weight of 0 or more per label; None means all 1."""
    if weights is None:
        return np.ones(n_labels)
    array = _as_floats(weights, "weights")
    if array.shape != (n_labels,):
        raise InvalidData(f"weights has shape {array.shape}; give one weight per label, shape ({n_labels},).")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        _raise_first(bad, array, "a weight must be a finite number of 0 or more (0 leaves the label out)", None)
    return array


def check_outcomes(outcome: ArrayLike, n_labels: int) -> Floats:
    """Check one of 1 (left), 0.5 (tie), 0 (right) per pair."""
    array = _as_floats(outcome, "outcome")
    if array.shape != (n_labels,):
        raise InvalidData(f"outcome has shape {array.shape}; give one outcome per pair, shape ({n_labels},).")
    bad = ~np.isin(array, (0.0, 0.5, 1.0))
    if bad.any():
        _raise_first(bad, array, "an outcome is 1 (left preferred), 0 (right preferred) or 0.5 (tie)", None)
    return array


def check_ranks(ranks: Ints, rank_sizes: Ints, sizes: Ints) -> None:
    """Check one rank for each shown item, each label's ranks running from 0 without a gap."""
    if not np.array_equal(rank_sizes, sizes):
        differing = np.flatnonzero(rank_sizes[: len(sizes)] != sizes[: len(rank_sizes)])
        row = int(differing[0]) if len(differing) else min(len(sizes), len(rank_sizes))
        raise InvalidData(f"row {row}: give one rank for each item of the set.", row=row)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((ranks, rows))
    first = places_in_sets(sizes) == 0
    step = np.diff(ranks[order], prepend=0)
    bad = np.where(first, ranks[order] != 0, step > 1)
    if bad.any():
        _raise_first(bad, ranks[order], "a label's ranks run from 0 without a gap", rows)


def check_features(features: ArrayLike | None, n_rows: int, name: str) -> Floats | None:
    """Check a finite (n_rows, n_features) matrix, or None."""
    if features is None:
        return None
    array = _as_floats(features, name)
    if array.ndim != 2 or len(array) != n_rows:
        raise InvalidData(
            f"{name} has shape {array.shape}; give one row of features each, shape ({n_rows}, n_features)."
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        value = array[row, column]
        raise InvalidData(
            f"{name} row {row}, column {column}: {value} is not a finite number; fill it in or drop the column.",
            row=row,
            value=value,
        )
    return array


def check_distinct(items: Ints, sizes: Ints, rows: Ints) -> None:
    """Check that each label shows at least two items, each once."""
    short = np.flatnonzero(sizes < 2)
    if len(short):
        row = int(short[0])
        what = "is empty" if sizes[row] == 0 else "shows one item"
        raise InvalidData(f"row {row}: the set {what}; a comparison needs two items or more.", row=row)
    if (sizes == 2).all() and (items[::2] != items[1::2]).all():
        return
    order = np.lexsort((items, rows))
    again = np.flatnonzero((np.diff(items[order]) == 0) & (np.diff(rows[order]) == 0))
    if len(again):
        row, value = int(rows[order][again[0]]), int(items[order][again[0]])
        message = "is compared with itself" if sizes[row] == 2 else "appears twice in one set"
        raise InvalidData(f"row {row}: item {value} {message}; show each item once.", row=row, value=value)


def flatten(sets: Sequence[ArrayLike] | NDArray, name: str) -> tuple[Ints, Ints, Ints]:
    """Flatten ragged or rectangular sets to (items, sizes, rows): items in order, set sizes, the row of each item."""
    if isinstance(sets, np.ndarray) and sets.ndim == 2:
        sizes = np.full(len(sets), sets.shape[1], dtype=np.int64)
        flat: ArrayLike = sets.ravel()
    else:
        parts = [np.atleast_1d(np.asarray(part)) for part in sets]
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        kept = [part for part in parts if len(part)]
        flat = np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    return check_indices(flat, name, rows=rows), sizes, rows


def places_in_sets(sizes: Ints) -> Ints:
    """Return 0, 1, ... within each set."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def ranks_of_top(tops: Ints, top_sizes: Ints, top_rows: Ints, items: Ints, rows: Ints) -> Ints:
    """Return ranks of the shown items, given each label's best items in order; items not named share the next rank."""
    for row in np.flatnonzero(top_sizes == 0)[:1]:
        raise InvalidData(f"row {row}: no item was chosen; leave the label out.", row=int(row))
    width = int(max(tops.max(initial=0), items.max(initial=0))) + 1
    keys, order = rows * width + items, np.argsort(rows * width + items)
    wanted = top_rows * width + tops
    place = np.minimum(np.searchsorted(keys[order], wanted), max(0, len(keys) - 1))
    for index in np.flatnonzero(keys[order][place] != wanted)[:1] if len(keys) else range(min(1, len(wanted))):
        row, value = int(top_rows[index]), int(tops[index])
        raise InvalidData(f"row {row}: chosen item {value} is not among the items shown.", row=row, value=value)
    cells = order[place]
    for cell in np.flatnonzero(np.bincount(cells, minlength=len(items)) > 1)[:1]:
        row, value = int(rows[cell]), int(items[cell])
        raise InvalidData(f"row {row}: item {value} is ranked twice; name each item once.", row=row, value=value)
    ranks = top_sizes[rows]
    ranks[cells] = places_in_sets(top_sizes)
    return ranks


def _as_floats(values: ArrayLike, name: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"{name} must be numbers: {error}.") from error


def _raise_first(bad: NDArray[np.bool_], values: NDArray, rule: str, rows: Ints | None) -> None:
    index = int(np.flatnonzero(bad)[0])
    row, value = int(rows[index]) if rows is not None else index, values[index].item()
    raise InvalidData(f"row {row}: {value} is not allowed; {rule}.", row=row, value=value)
