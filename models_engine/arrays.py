"""Reads what a caller gave as numbers: one place where shapes, types and sizes are checked, naming row and value."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.errors import InvalidData, InvalidSetting

__all__ = [
    "MAX_DEVIATION",
    "MAX_NUMBER",
    "MAX_SIZE",
    "MIN_DEVIATION",
    "raise_first",
    "raising",
    "read_count",
    "read_covariance",
    "read_deviations",
    "read_floats",
    "read_integers",
    "read_number",
    "read_numbers",
    "read_ragged",
    "read_values",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_NUMBER = 10_000_000  # largest number of items or annotators: every estimator holds arrays of that length
NUMERIC = "biuf"  # numpy's kinds of real numbers
MAX_SIZE = 1e100  # of a value: beyond, squares overflow
MIN_DEVIATION, MAX_DEVIATION = 1e-50, 1e50  # of a standard deviation: beyond, values over it or its fourth power do
MAX_BEYOND = 0.01  # share by which stored covariances may exceed what their variances allow, by rounding


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


def read_values(values: ArrayLike, name: str, *, least: float = -MAX_SIZE, most: float = MAX_SIZE) -> Floats:
    """Read finite numbers from `least` to `most`, shape (n,), as a copy. Raises InvalidData naming row and value."""
    array = read_floats(values, name)
    if array.ndim != 1:
        raise InvalidData(f"{name} has shape {array.shape}; give one number per row, shape (n,).")
    raise_first(~((array >= least) & (array <= most)), array, f"{name} must be {_range(least, most)}", None)
    return array


def read_deviations(values: ArrayLike, name: str, *, above_zero: bool = False) -> Floats:
    """Read standard deviations up to 1e50, shape (n,). Raises InvalidData naming row and value.

    Those below 1e-50 count as 0, or are refused too where they are to be `above_zero`.
    """
    array = read_floats(values, name)
    if array.ndim != 1:
        raise InvalidData(f"{name} has shape {array.shape}; give one standard deviation per row, shape (n,).")
    for row in np.flatnonzero(~((array > 0) | ((array == 0) & (not above_zero))) | np.isinf(array))[:1].tolist():
        wanted = "a finite number above 0" if above_zero else "0 or more"
        message = f"row {row}: the standard deviation is {array[row]}; give {wanted}."
        raise InvalidData(message, row=row, value=float(array[row]))
    tiny = array < MIN_DEVIATION
    extreme = (array > MAX_DEVIATION) | (tiny & above_zero)
    raise_first(extreme, array, f"{name} must be between {MIN_DEVIATION:g} and {MAX_DEVIATION:g}", None)
    array[tiny] = 0.0
    return array


def read_covariance(values: ArrayLike, name: str, n: int | None = None) -> Floats:
    """Read a covariance, shape (n, n), symmetric, its diagonal the squares of deviations. Raises InvalidData.

    It need not be positive definite: no entry is further from 0 than its two variances allow, up to rounding.
    """
    array = read_floats(values, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or (n is not None and len(array) != n):
        size = "n" if n is None else n
        raise InvalidData(f"{name} has shape {array.shape}; give finite numbers, shape ({size}, {size}).")
    for row, column in np.argwhere(~(np.abs(array) <= MAX_SIZE))[:1].tolist():
        value = float(array[row, column])
        raise InvalidData(f"{name} row {row}, column {column}: {value} is not allowed.", row=row, value=value)
    diagonal = np.diagonal(array)
    raise_first(diagonal < 0, diagonal, f"a variance in {name} must be 0 or more", None)
    with np.errstate(under="ignore"):
        deviation = read_deviations(np.sqrt(diagonal), name)
        limit = (1 + MAX_BEYOND) * deviation[:, None] * deviation + 1e-6 * diagonal.max(initial=0.0)
        wrong = (np.abs(array) > limit) | (np.abs(array - array.T) > MAX_BEYOND * limit)
    for row, column in np.argwhere(wrong)[:1].tolist():
        value = float(array[row, column])
        raise InvalidData(
            f"{name} row {row}, column {column}: {value} is not allowed; a covariance is symmetric, and no further "
            "from 0 than the product of the two standard deviations.",
            row=row,
            value=value,
        )
    return array


def read_number(
    value: Any,
    name: str,
    *,
    least: float = -MAX_SIZE,
    most: float = MAX_SIZE,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Read one finite number from `least` to `most`, above `above` and below `below`. Raises InvalidData."""
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    usable = _is_number(number) and not isinstance(number, bool | np.bool_)
    figure = _as_float(number) + 0.0 if usable else float("nan")
    inside = least <= figure <= most and (above is None or figure > above) and (below is None or figure < below)
    if not inside:
        ends = [f"above {above:g}"] if above is not None else []
        ends += [f"below {below:g}"] if below is not None else []
        wanted = " and ".join(ends) or _range(least, most)
        raise InvalidData(f"{name} is {_brief(value)}; give a number, {wanted}.", value=value)
    return figure


@contextmanager
def raising(kind: type[InvalidData] | type[InvalidSetting]) -> Iterator[None]:
    """Raise what is read within as this kind of error, with the same message, row and value."""
    try:
        yield
    except InvalidData as error:
        raise kind(str(error), row=error.row, value=error.value) from error


def _range(least: float, most: float) -> str:
    """Return what is allowed as words."""
    if (least, most) == (-MAX_SIZE, MAX_SIZE):
        return f"finite and at most {MAX_SIZE:g} in size"
    return f"{least:g} or more, at most {most:g}" if most == MAX_SIZE else f"from {least:g} to {most:g}"


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
    except (OverflowError, ValueError):  # too large, or a signalling NaN
        return np.array([_as_float(value) for value in array.flat]).reshape(array.shape)


def _as_float(value: Any) -> float:
    """Convert a number, infinite where it is too large for float64 and NaN where it is a signalling one."""
    try:
        return float(value)
    except ValueError:
        return float("nan")
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
