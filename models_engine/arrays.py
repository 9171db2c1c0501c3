"""Reads what a caller gave as numbers: one place where shapes, types and sizes are checked, naming row and value."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.errors import InvalidData

__all__ = ["MAX_NUMBER", "raise_first", "read_count", "read_floats", "read_integers", "read_numbers", "read_ragged"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_NUMBER = 10_000_000  # largest number of items or annotators: every estimator holds arrays of that length
NUMERIC = "biuf"  # numpy's kinds of real numbers


def read_numbers(values: Any, name: str, *, row: int | None = None) -> NDArray:
    """Read an array of real numbers of any shape, not copied where it is one. Raises InvalidData.

    row: the label the values belong to, where they are those of one label.
    """
    if isinstance(values, str | bytes | dict | set | frozenset) or not _is_array_like(values):
        raise InvalidData(f"{name} is {_brief(values)}; give a list or an array of numbers.", value=values)
    try:
        array = np.ma.asanyarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        _raise_first_of_another_shape(values, name, row)
        raise InvalidData(f"{name} is {_brief(values)}; give numbers, each row of the same shape.") from error
    if isinstance(array, np.ma.MaskedArray):
        _check_none_masked(array, name, row)
        array = np.asarray(array.data)
    if array.dtype.kind == "O":
        array = _read_objects(array, name, row)
    if array.dtype.kind not in NUMERIC:
        _read_objects(np.array(values, dtype=object), name, row)
        _raise_not_numbers(name, row, 0, array.flat[0] if array.size else array.dtype)
    return array


def read_integers(
    values: ArrayLike, name: str, *, rows: Ints | None = None, least: int = 0, most: int = MAX_NUMBER - 1
) -> Ints:
    """Read whole numbers from `least` to `most`, shape (n,), as a copy. `rows[i]` is the label value i belongs to."""
    array = read_numbers(values, name)
    if array.ndim != 1:
        raise InvalidData(f"{name} has shape {array.shape}; give one whole number per row, shape (n,).")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind == "b":
        raise InvalidData(f"{name} holds {array.dtype} values such as {array[0]!r}; give item and annotator numbers.")
    whole = np.ones(len(array), dtype=bool)
    if array.dtype.kind == "f":
        array = array.astype(np.promote_types(array.dtype, np.float64))  # the limit is beyond float16
        whole = np.isfinite(array) & (array == np.floor(array))
    raise_first(~whole | (array < least), array, f"{name} must be a whole number of {least} or more", rows)
    raise_first(array > most, array, f"{name} must be {most:,} or less; number them 0, 1, 2 and so on", rows)
    return array.astype(np.int64)


def read_floats(values: ArrayLike, name: str) -> Floats:
    """Read real numbers, of any shape, as a copy of float64; minus zero is zero. Raises InvalidData."""
    array = read_numbers(values, name)
    with np.errstate(over="ignore"):  # a number beyond float64 is infinite, which the caller refuses
        return np.asarray(array.astype(np.float64) + 0.0)


def read_count(count: Any, name: str) -> int:
    """Read one whole number of 0 or more. Raises InvalidData."""
    number = count.item() if isinstance(count, np.ndarray) and count.ndim == 0 else count
    usable = isinstance(number, (int, float, np.number)) and not isinstance(number, bool) and number >= 0  # NaN is not
    if not usable or number > MAX_NUMBER or int(number) != number:
        raise InvalidData(
            f"{name} is {_brief(count)}; give a whole number of 0 or more, at most {MAX_NUMBER:,}.", value=count
        )
    return int(number)


def read_ragged(sets: Sequence[ArrayLike] | NDArray, name: str) -> tuple[Ints, Ints, Ints]:
    """Read ragged or rectangular sets of whole numbers as (items, sizes, rows): the row of each item, set sizes."""
    if isinstance(sets, np.ndarray) and sets.ndim == 2:
        sizes = np.full(len(sets), sets.shape[1], dtype=np.int64)
        flat: ArrayLike = read_numbers(sets, name).ravel()
    else:
        if isinstance(sets, str | bytes | dict | set | frozenset) or not isinstance(sets, Iterable | np.ndarray):
            raise InvalidData(f"{name} is {_brief(sets)}; give one list of numbers per label.", value=sets)
        if isinstance(sets, np.ndarray) and sets.ndim != 1:
            raise InvalidData(f"{name} has shape {sets.shape}; give one list of numbers per label.")
        parts = [_read_set(part, name, row) for row, part in enumerate(sets)]
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        kept = [part for part in parts if len(part)]
        flat = np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    return read_integers(flat, name, rows=rows), sizes, rows


def raise_first(bad: NDArray[np.bool_], values: NDArray, rule: str, rows: Ints | None) -> None:
    """Raise InvalidData with row and value of the first bad value, if there is one."""
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        row, value = int(rows[index]) if rows is not None else index, values[index].item()
        raise InvalidData(f"row {row}: {value} is not allowed; {rule}.", row=row, value=value)


def _is_array_like(values: Any) -> bool:
    """Return whether numpy reads the values as more than one object it knows nothing of."""
    return isinstance(values, Sequence | Real | Decimal) or hasattr(values, "__array__") or hasattr(values, "dtype")


def _read_set(part: ArrayLike, name: str, row: int) -> NDArray:
    """Read one label's numbers, (k,); a single number is a set of one."""
    array = np.atleast_1d(read_numbers(part, name, row=row))
    if array.ndim != 1:
        raise InvalidData(f"row {row}: {name} has shape {array.shape} there; give one list of numbers.", row=row)
    if array.dtype.kind == "b":
        _raise_not_numbers(name, row, 0, array[0])
    return array


def _read_objects(array: NDArray, name: str, row: int | None) -> NDArray:
    """Convert an array of Python objects, all of which must be real numbers."""
    for index, value in enumerate(array.flat):
        if not _is_number(value):
            _raise_not_numbers(name, row, _row_of(index, array), value)
    try:
        whole = all(isinstance(value, Integral) for value in array.flat) and array.size > 0
        return array.astype(np.int64) if whole else array.astype(np.float64)
    except OverflowError:
        return np.array([_as_float(value) for value in array.flat]).reshape(array.shape)


def _as_float(value: Any) -> float:
    """Convert a number, infinite where it is too large for float64."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _row_of(index: int, array: NDArray) -> int:
    """Return the first axis's place of the flat index."""
    return int(np.unravel_index(index, array.shape)[0]) if array.ndim else 0


def _check_none_masked(array: np.ma.MaskedArray, name: str, row: int | None) -> None:
    for index in np.flatnonzero(np.ma.getmaskarray(array))[:1]:
        at = _row_of(int(index), np.asarray(array.data)) if row is None else row
        raise InvalidData(f"row {at}: {name} is masked there; leave the row out or fill it in.", row=at)


def _raise_first_of_another_shape(values: Any, name: str, row: int | None) -> None:
    """Raise InvalidData for the first entry of a list that is not a number, or not of the first one's length."""
    entries = list(values) if isinstance(values, Sequence | np.ndarray) else []
    for index, entry in enumerate(entries):
        if _length(entry) is None and not _is_number(entry):
            _raise_not_numbers(name, row, index, entry)
        if _length(entry) != _length(entries[0]):
            at, first = index if row is None else row, _brief(entries[0])
            raise InvalidData(
                f"row {at}: {name} is {_brief(entry)} there and {first} in row 0; give every row the same shape.",
                row=at,
                value=entry,
            )


def _length(entry: Any) -> int | None:
    """Return the length of a list or array, None of anything else."""
    if isinstance(entry, np.ndarray):
        return len(entry) if entry.ndim else None
    return len(entry) if isinstance(entry, Sequence) and not isinstance(entry, str | bytes) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, np.timedelta64)


def _raise_not_numbers(name: str, row: int | None, index: int, value: Any) -> None:
    at = index if row is None else row
    message = f"row {at}: {name} is {_brief(value)}, which is not a real number; give numbers."
    raise InvalidData(message, row=at, value=value)


def _brief(value: Any) -> str:
    """Return the value as text of at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
