"""Reading a .npy matrix of features, a row an item, in blocks; never a pickle."""

from collections.abc import Iterator, Mapping, Sequence
from typing import IO

import numpy as np
from django.utils.translation import gettext as _
from numpy.lib import format as npy
from numpy.typing import NDArray

from annotate.files.cells import shortened, unknown_item
from annotate.files.limits import MAX_MATRIX_BYTES, MAX_ROWS, BadFile
from annotate.imports.prepared import EVERY, Line, Read
from annotate.items.features import MOST_FEATURES

BLOCK = 2**20  # bytes read at a time
KINDS = "fiub"
FEATURES_PREFIX = r"^[\w .-]{1,40}\Z"  # f makes f1, f2, f3


def looks_like_matrix(name: str, head: bytes) -> bool:
    """Return whether a file is meant as a matrix, by its first bytes or its name; else it is a table."""
    return head.startswith(b"\x93NUM") or name.lower().endswith(".npy")


class Matrix:
    """The rows of a matrix as features of the items with these keys, in this order. Raises BadFile."""

    every = EVERY

    def __init__(self, file: IO[bytes], size: int, keys: Sequence[str], known: Mapping[str, int], prefix: str) -> None:
        self.file, self.keys, self.known = file, keys, known
        self.shape, self.dtype, self.by_columns = header_of(file, size)
        if self.shape[0] != len(keys):
            raise BadFile(
                _("The matrix has %(rows)d rows for %(keys)d items. It needs one row for each item.")
                % {"rows": self.shape[0], "keys": len(keys)}
            )
        self.features = [f"{prefix}{n}" for n in range(1, self.shape[1] + 1)]
        self.columns = ["item", *self.features]

    def ahead(self) -> Sequence[Line]:
        return ()

    def rows(self) -> Iterator[Read]:
        seen: dict[str, int] = {}
        for place, (key, values) in enumerate(zip(self.keys, self.values(), strict=True), 1):
            problem = self.problem_in(key, values, place, seen)
            cells = [key, *map(float, values[:5])]
            yield Read(place, cells, [] if problem else [("features", (key, values.tolist()))], problem)

    def problem_in(self, key: str, values: NDArray[np.float64], place: int, seen: dict[str, int]) -> str:
        if key not in self.known:
            return unknown_item(key)
        if seen.setdefault(key, place) != place:
            return _("The key “%(key)s” is already used in row %(row)d.") % {"key": shortened(key), "row": seen[key]}
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            return _("Column %(column)d holds %(value)s. Every feature has to be a finite number.") % {
                "column": int(wrong[0]) + 1,
                "value": float(values[wrong[0]]),
            }
        return ""

    def values(self) -> Iterator[NDArray[np.float64]]:
        n, width = self.shape
        if self.by_columns:
            whole = np.frombuffer(self.file.read(), dtype=self.dtype).reshape(width, n).T
            yield from whole.astype(np.float64)
            return
        step = max(1, BLOCK // max(1, width * self.dtype.itemsize))
        for start in range(0, n, step):
            count = min(step, n - start)
            data = self.file.read(count * width * self.dtype.itemsize)
            yield from np.frombuffer(data, dtype=self.dtype).reshape(count, width).astype(np.float64)


def header_of(file: IO[bytes], size: int) -> tuple[tuple[int, int], np.dtype, bool]:
    """Return (shape, type, stored column by column), believed only where they add up to the file's size."""
    if size > MAX_MATRIX_BYTES:
        raise BadFile(
            _("The file has %(size).0f MB; the limit is %(limit)d MB. Store it as float32, or with fewer columns.")
            % {"size": size / 2**20, "limit": MAX_MATRIX_BYTES // 2**20}
        )
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = read(file)
    except (ValueError, EOFError) as error:
        raise BadFile(
            _("This is not an .npy file: %(problem)s. Save the matrix with numpy.save.")
            % {"problem": shortened(str(error))}
        ) from error
    if dtype.hasobject or dtype.kind not in KINDS:
        raise BadFile(
            _("The matrix contains values of the type “%(type)s”. Save it as numbers: matrix.astype(float).")
            % {"type": dtype}
        )
    if len(shape) != 2 or not 1 <= shape[1] <= MOST_FEATURES or shape[0] > MAX_ROWS:
        raise BadFile(
            _("The matrix has the shape %(shape)s; it needs a row for each item and 1 to %(limit)d columns.")
            % {"shape": shape, "limit": MOST_FEATURES}
        )
    if shape[0] * shape[1] * dtype.itemsize != size - file.tell():
        raise BadFile(_("The file is damaged: it is shorter or longer than its matrix. Save it again."))
    return (shape[0], shape[1]), dtype, bool(by_columns)
