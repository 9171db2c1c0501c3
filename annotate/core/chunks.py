"""Cuts long lists of values for queries."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Value = TypeVar("Value")
CHUNK = 500  # databases limit the parameters of one query


def chunks(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
