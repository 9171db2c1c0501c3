"""Rows as CSV, JSON lines, JSON or Parquet, in chunks of bytes: flat memory however many rows there are."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from annotate.files.columns import Column, Row
from annotate.files.parquet_writer import parquet_chunks

CHUNK = 500  # rows encoded at a time
# A spreadsheet takes a cell that begins so for a formula, and runs it; one set to Japanese the full-width signs too.
DANGEROUS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
APOSTROPHE = "'"
LOOKED_AT = DANGEROUS | {APOSTROPHE}


def plain(value: Any) -> Any:
    """Moments as ISO 8601 in UTC; everything else as it is."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def is_dangerous(text: str) -> bool:
    """Return whether a spreadsheet would run the text, or the text after its apostrophes."""
    return text[:1] in LOOKED_AT and text.lstrip(APOSTROPHE)[:1] in DANGEROUS


def without_apostrophe(text: str) -> str:
    """Return the text that `cell` was given."""
    return text[1:] if text[:1] == APOSTROPHE and is_dangerous(text) else text


def cell(value: Any) -> Any:
    """Return what csv.writer is given: text that a spreadsheet would run with an apostrophe before it, numbers as they
    are. Text that begins so by itself gets one more, so that `without_apostrophe` gives it back."""
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return f"'{value}" if is_dangerous(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value)


def csv_chunks(names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the header at once, then the rows, both as `cell` has them; UTF-8 without a byte-order mark, lines ended as
    RFC 4180 has it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(cell, names))
    yield buffer.getvalue().encode()
    source = iter(rows)
    while chunk := list(islice(source, CHUNK)):
        buffer.seek(0)
        buffer.truncate()
        writer.writerows(map(cell, row) for row in chunk)
        yield buffer.getvalue().encode()


def jsonl_chunks(names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield one object per line, with its own types and its text untouched."""
    source = iter(rows)
    while chunk := list(islice(source, CHUNK)):
        lines = (
            json.dumps(dict(zip(names, map(plain, row), strict=True)), ensure_ascii=False, allow_nan=False)
            for row in chunk
        )
        yield "".join(f"{line}\n" for line in lines).encode()


def json_chunks(names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield one list of the same objects, a line each; its bracket at once."""
    yield b"[\n"
    between = b""
    for chunk in jsonl_chunks(names, rows):
        yield between + chunk.removesuffix(b"\n").replace(b"\n", b",\n")
        between = b",\n"
    yield b"\n]\n" if between else b"]\n"


Encoder = Callable[[Sequence[Column], Iterable[Row]], Iterator[bytes]]


def by_name(encode: Callable[[Sequence[str], Iterable[Row]], Iterator[bytes]]) -> Encoder:
    """Wrap a writer for formats that know nothing of a column but its name."""
    return lambda columns, rows: encode([column.name for column in columns], rows)


FORMATS: dict[str, tuple[str, Encoder]] = {
    "csv": ("text/csv; charset=utf-8", by_name(csv_chunks)),
    "jsonl": ("application/jsonl; charset=utf-8", by_name(jsonl_chunks)),
    "json": ("application/json", by_name(json_chunks)),
    "parquet": ("application/vnd.apache.parquet", parquet_chunks),
}
