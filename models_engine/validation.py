"""Checks of raw input: each returns a validated array or raises InvalidData naming row and value."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import (
    MAX_DEVIATION,
    MAX_NUMBER,
    MAX_SIZE,
    MIN_DEVIATION,
    raise_first,
    raising,
    read_count,
    read_deviations,
    read_floats,
    read_integers,
    read_number,
    read_numbers,
    read_values,
)
from models_engine.errors import InvalidBoundaries, InvalidData

__all__ = [
    "MAX_GRADES",
    "check_annotator",
    "check_best_and_worst",
    "check_boundaries",
    "check_count",
    "check_distinct",
    "check_features",
    "check_grades",
    "check_indices",
    "check_items",
    "check_labels",
    "check_mask",
    "check_new_features",
    "check_outcomes",
    "check_pair",
    "check_ranks",
    "check_rows",
    "check_selection",
    "check_tied",
    "check_weights",
    "common_features",
    "count_rows",
    "join_marks",
    "places_in_sets",
    "ranks_of_top",
    "read_positive",
    "read_spread",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MIN_WEIGHT, MAX_WEIGHT = 1e-12, 1e12  # of a label: beyond, sums over labels lose the prior or the label to rounding
MAX_GRADES = 50  # how much better: more cut points than any scale of answers has steps


def check_indices(values: ArrayLike, name: str, *, rows: Ints | None = None) -> Ints:
    """Check non-negative whole numbers, shape (m,). `rows[i]` is the label value i belongs to (default: i itself)."""
    return read_integers(values, name, rows=rows)


def check_count(indices: Ints, count: int | None, name: str, *, rows: Ints | None = None) -> int:
    """Return the given count, which must exceed every index, or the largest index + 1 if none is given."""
    if count is None:
        return int(indices.max()) + 1 if indices.size else 0
    number = read_count(count, f"n_{name}s")
    if indices.size:
        raise_first(indices >= number, indices, f"{name} numbers run from 0 to {number - 1} (n_{name}s={number})", rows)
    return number


def check_labels(labels: ArrayLike, n_labels: int) -> Ints:
    """Check a mask (n_labels,) or an array of label numbers; return the numbers."""
    array = read_numbers(labels, "labels")
    if array.dtype.kind == "b":
        return np.flatnonzero(check_mask(array, n_labels, "labels"))
    chosen = read_integers(array, "labels", most=max(MAX_NUMBER, n_labels))
    raise_first(chosen >= n_labels, chosen, f"labels run from 0 to {n_labels - 1}", None)
    return chosen


def check_rows(columns: Mapping[str, NDArray], what: str) -> None:
    """Check that columns of the caller's are equally long."""
    found = {name: len(column) for name, column in columns.items()}
    if len(set(found.values())) > 1:
        counts = ", ".join(f"{name} has {n} rows" for name, n in found.items())
        raise InvalidData(f"{counts}; give one of each per {what}.")


def check_mask(mask: ArrayLike, n: int, name: str) -> NDArray[np.bool_]:
    """Check one of True and False for each of n."""
    array = read_numbers(mask, name)
    if array.dtype.kind != "b" or array.shape != (n,):
        raise InvalidData(
            f"{name} has shape {array.shape} of {array.dtype}; give True or False for each, shape ({n},)."
        )
    return array


def check_items(items: ArrayLike, n_items: int) -> Ints:
    """Check numbers of existing items, of any shape."""
    array = read_numbers(items, "items")
    if array.dtype.kind == "b":
        raise InvalidData("items are True and False; give item numbers, such as numpy.flatnonzero of the mask.")
    if array.dtype.kind == "f" and (array.size and not (np.isfinite(array) & (array == np.floor(array))).all()):
        value = array[~(np.isfinite(array) & (array == np.floor(array)))].flat[0].item()
        raise InvalidData(f"item {value} does not exist; give whole numbers.", value=value)
    bad = (array < 0) | (array >= n_items)
    if bad.any():
        value = int(array[bad].flat[0])
        raise InvalidData(f"item {value} does not exist; items run from 0 to {n_items - 1}.", value=value)
    return array.astype(np.int64)


def check_pair(left: ArrayLike, right: ArrayLike, n_items: int) -> tuple[Ints, Ints]:
    """Check numbers of existing items, broadcast against each other."""
    lefts, rights = check_items(left, n_items), check_items(right, n_items)
    try:
        one, other = np.broadcast_arrays(lefts, rights)
    except ValueError as error:
        raise InvalidData(
            f"left has shape {lefts.shape} and right {rights.shape}; give one of each per pair."
        ) from error
    return one, other


def check_selection(items: ArrayLike, n_items: int) -> Ints:
    """Check numbers of existing items, one or more, each once, shape (n,)."""
    kept = check_items(items, n_items)
    if kept.ndim != 1 or not len(kept):
        raise InvalidData(f"items has shape {kept.shape}; give the numbers of one item or more, shape (n,).")
    for value in np.flatnonzero(np.bincount(kept) > 1)[:1].tolist():
        raise InvalidData(f"item {value} is named twice; name each item once.", value=value)
    return kept


def check_annotator(annotator: int | None) -> int | None:
    """Check an annotator's number, which may be beyond those fitted (a new annotator), or None (a new one too)."""
    return None if annotator is None else read_count(annotator, "annotator")


def check_boundaries(boundaries: ArrayLike) -> Floats:
    """Check boundaries and return them, (n_boundaries,). Raises InvalidBoundaries, naming the first invalid one."""
    with raising(InvalidBoundaries):
        cuts = np.atleast_1d(read_floats(boundaries, "boundaries"))
    if cuts.ndim != 1:
        raise InvalidBoundaries(f"boundaries have shape {cuts.shape}; give one number each, shape (n_boundaries,).")
    for row in np.flatnonzero(~(np.abs(cuts) <= MAX_SIZE))[:1]:
        wanted = "a finite number" if not np.isfinite(cuts[row]) else f"{MAX_SIZE:g} at most, in size"
        raise InvalidBoundaries(
            f"boundary {row + 1} is {cuts[row]}; give {wanted}.", row=int(row), value=float(cuts[row])
        )
    for row in np.flatnonzero(np.diff(cuts) <= 0)[:1] + 1:
        raise InvalidBoundaries(
            f"boundary {row + 1} is {cuts[row]:g} and the one below it {cuts[row - 1]:g}; give boundaries from the "
            "lowest to the highest, each above the one before.",
            row=int(row),
            value=float(cuts[row]),
        )
    return cuts


def check_weights(weights: ArrayLike | None, n_labels: int) -> Floats:
    """Check one weight per label, 0 or between 1e-12 and 1e12; None means all 1."""
    if weights is None:
        return np.ones(n_labels)
    array = read_floats(weights, "weights")
    if array.shape != (n_labels,):
        raise InvalidData(f"weights has shape {array.shape}; give one weight per label, shape ({n_labels},).")
    bad = ~(np.isfinite(array) & (array >= 0))
    raise_first(bad, array, "a weight must be a finite number of 0 or more (0 leaves the label out)", None)
    extreme = (array > 0) & ((array < MIN_WEIGHT) | (array > MAX_WEIGHT))
    raise_first(extreme, array, f"a weight above 0 must be between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}", None)
    return array


def check_outcomes(outcome: ArrayLike, n_labels: int) -> Floats:
    """Check one of 1 (left), 0.5 (tie), 0 (right) per pair."""
    array = read_floats(outcome, "outcome")
    if array.shape != (n_labels,):
        raise InvalidData(f"outcome has shape {array.shape}; give one outcome per pair, shape ({n_labels},).")
    allowed = "an outcome is 1 (left preferred), 0 (right preferred) or 0.5 (tie)"
    raise_first(~np.isin(array, (0.0, 0.5, 1.0)), array, allowed, None)
    return array


def check_grades(grades: ArrayLike | None, n_grades: int | None, ranks: Ints, sizes: Ints) -> tuple[Ints | None, int]:
    """Check one grade per label, 0 where none was given; return them and the number of grades, None and 0 without.

    A pair with a winner may have a grade, from 1 (least) to n_grades (default: the highest given).
    """
    number = None if n_grades is None else read_count(n_grades, "n_grades")
    if number is not None and number > MAX_GRADES:
        raise InvalidData(f"n_grades is {number}; give {MAX_GRADES} or fewer.", value=number)
    if grades is None:
        return (None, 0) if not number else (np.zeros(len(sizes), dtype=np.int64), number)
    array = read_integers(grades, "grades", most=MAX_GRADES)
    if array.shape != (len(sizes),):
        raise InvalidData(f"grades has shape {array.shape}; give one grade per label, shape ({len(sizes)},).")
    raise_first((array > 0) & (sizes != 2), array, "only a pair has a grade; give 0 to a larger set", None)
    first = np.cumsum(sizes) - sizes
    even = (sizes == 2) & (ranks[first] == ranks[np.minimum(first + 1, len(ranks) - 1)]) if len(sizes) else sizes > 0
    raise_first((array > 0) & even, array, "a tie has no grade; give it 0", None)
    highest = int(array.max(initial=0))
    if number is not None and highest > number:
        raise_first(array > number, array, f"grades run from 0 to {number} (n_grades={number})", None)
    number = highest if number is None else number
    return (array, number) if number else (None, 0)


def check_tied(tied: ArrayLike | None, sizes: Ints) -> NDArray[np.bool_] | None:
    """Check one of True and False per label, or one for all; return None where no larger set is True."""
    if tied is None:
        return None
    array = np.full(len(sizes), tied) if isinstance(tied, bool | np.bool_) else tied
    kept = check_mask(array, len(sizes), "tied") & (sizes > 2)
    return kept if kept.any() else None


def check_best_and_worst(bests: Ints, worsts: Ints, items: Ints, sizes: Ints, rows: Ints) -> None:
    """Check that best and worst item of each set differ and are among those shown."""
    for row in np.flatnonzero(bests == worsts)[:1]:
        raise InvalidData(f"row {row}: item {bests[row]} is both best and worst.", row=int(row), value=int(bests[row]))
    for name, picked in (("best", bests), ("worst", worsts)):
        found = np.bincount(rows, items == picked[rows], minlength=len(sizes))
        for row in np.flatnonzero(found == 0)[:1]:
            raise InvalidData(
                f"row {row}: {name} item {picked[row]} is not in its set.", row=int(row), value=int(picked[row])
            )


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
    raise_first(bad, ranks[order], "a label's ranks run from 0 without a gap", rows)


def count_rows(count: int | None, features: ArrayLike | None, name: str) -> int | None:
    """Return the count given, else the number of rows of the features given."""
    if count is not None or features is None:
        return count
    shape = read_numbers(features, name).shape
    return shape[0] if shape else None


def join_marks(found: list[tuple[int, NDArray | None]]) -> NDArray | None:
    """Concatenate marks of (n, marks or None), zeros for None; None where none has any."""
    given = [marks for _, marks in found if marks is not None]
    if not given:
        return None
    return np.concatenate([np.zeros(n, given[0].dtype) if marks is None else marks for n, marks in found])


def check_features(features: ArrayLike | None, n_rows: int, name: str) -> Floats | None:
    """Check a finite (n_rows, n_features) matrix of numbers up to 1e100, or None."""
    if features is None:
        return None
    array = read_floats(features, name)
    if array.ndim != 2 or len(array) != n_rows:
        raise InvalidData(
            f"{name} has shape {array.shape}; give one row of features each, shape ({n_rows}, n_features)."
        )
    return _check_feature_values(array, name)


def _check_feature_values(array: Floats, name: str) -> Floats:
    for row, column in np.argwhere(~(np.abs(array) <= MAX_SIZE))[:1].tolist():
        value = float(array[row, column])
        what = "is not a finite number; fill it in or drop the column"
        if np.isfinite(value):
            what = f"is beyond {MAX_SIZE:g}; use another unit"
        raise InvalidData(f"{name} row {row}, column {column}: {value} {what}.", row=row, value=value)
    return array


def common_features(found: list[Floats | None], name: str) -> Floats | None:
    """Return the features of the parts that have any, which must agree."""
    given = [array for array in found if array is not None]
    if any(not np.array_equal(given[0], other) for other in given[1:]):
        raise InvalidData(f"the parts have different {name}; give the same array to each, or to one of them.")
    return given[0] if given else None


def check_new_features(features: ArrayLike, width: int, name: str) -> Floats:
    """Check a finite (n_new, width) matrix of features like those of the fit."""
    array = read_floats(features, name)
    if array.ndim != 2 or array.shape[1] != width:
        raise InvalidData(f"{name} has shape {array.shape}; give (n_new, {width}) as in the fit.")
    return _check_feature_values(array, name)


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


def read_positive(value: float, name: str) -> float:
    """Read a number above 0 whose square and that of its inverse are numbers too. Raises InvalidData."""
    return read_number(value, name, least=MIN_DEVIATION, most=MAX_DEVIATION)


def read_spread(deviations: ArrayLike, n_comparisons: ArrayLike) -> tuple[Floats, Floats]:
    """Read (n_items,) standard deviations, those of 0 as the least above it, and numbers of comparisons."""
    sd = np.maximum(read_deviations(deviations, "deviations"), MIN_DEVIATION)
    n = read_values(n_comparisons, "n_comparisons", least=0.0)
    check_rows({"deviations": sd, "n_comparisons": n}, "item")
    return sd, n
