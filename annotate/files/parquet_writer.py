"""Rows as a Parquet file, row group by row group in chunks of bytes: flat memory, columns with their types."""

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

from annotate.files.columns import Column, Kind, Row

BATCH = 1000  # rows turned into arrays at a time
BATCHES = 20  # of one row group


class Taken:
    """A file that is only written, and whose bytes are taken away as they come."""

    closed = False

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def write(self, data: Any) -> int:
        self.waiting.append(bytes(data))
        return len(self.waiting[-1])

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def close(self) -> None:
        """Do nothing: what waits is still to be taken."""

    def take(self) -> bytes:
        waiting, self.waiting = self.waiting, []
        return b"".join(waiting)


def parquet_chunks(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the mark of the format at once, then a row group at a time, at last the footer."""
    # Loaded where it is used: it takes 40 MiB, and most processes never write Parquet.
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    types = types_of(arrow)
    schema = arrow.schema(
        [arrow.field(one.name, types[one.kind], metadata={"meaning": str(one.meaning)}) for one in columns]
    )
    file, source = Taken(), iter(rows)
    with parquet.ParquetWriter(file, schema) as writer:
        yield file.take()
        batches = []
        while chunk := list(islice(source, BATCH)):
            values = zip(*chunk, strict=True)
            arrays = [
                arrow.array(
                    [as_json(value) for value in cells] if one.kind == Kind.OBJECT else cells, type=types[one.kind]
                )
                for one, cells in zip(columns, values, strict=True)
            ]
            batches.append(arrow.record_batch(arrays, schema=schema))
            if len(batches) == BATCHES:
                write_group(writer, arrow.Table.from_batches(batches))
                batches = []
                yield file.take()
        if batches:
            write_group(writer, arrow.Table.from_batches(batches))
    yield file.take()


def write_group(writer: Any, table: Any) -> None:
    writer.write_table(table, row_group_size=table.num_rows)


def types_of(arrow: Any) -> dict[Kind, Any]:
    texts = arrow.list_(arrow.string())
    return {
        Kind.TEXT: arrow.string(),
        Kind.INTEGER: arrow.int64(),
        Kind.NUMBER: arrow.float64(),
        Kind.TRUTH: arrow.bool_(),
        Kind.MOMENT: arrow.timestamp("us", tz="UTC"),
        Kind.TEXTS: texts,
        Kind.GROUPS: arrow.list_(texts),
        Kind.OBJECT: arrow.string(),
        Kind.MESSAGES: arrow.list_(arrow.struct([("role", arrow.string()), ("content", arrow.string())])),
    }


def as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
