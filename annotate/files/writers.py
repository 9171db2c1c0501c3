"""Rows as CSV, JSON lines, JSON or Parquet, in chunks of bytes: flat memory however many rows there are."""

import csv
import io
import json
import re
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
# Where semicolons divide cells, as in a German Excel, such a text begins a cell or a row of its own: our quotation
# marks stand within a cell there, so they hold nothing together. No formula begins as ;-) does.
SIGNS = "=+@\uff1d\uff0b\uff0d\uff20-"
INNER = re.compile(rf"""([;\t\r\n])(?=['"]*[{SIGNS}](?!\)))""")
GUARDED = re.compile(rf"""([;\t\r\n])'(?=['"]*[{SIGNS}](?!\)))""")
INNER_SIGN = re.compile(rf"""(;(?:\\?")*)([{SIGNS}])""")


def plain(value: Any) -> Any:
    """Moments as ISO 8601 in UTC; everything else as it is."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def is_dangerous(text: str) -> bool:
    """Return whether a spreadsheet would run the text, or the text after its apostrophes."""
    return text[:1] in LOOKED_AT and text.lstrip(APOSTROPHE)[:1] in DANGEROUS


def without_apostrophes(text: str) -> str:
    """Return the text that `guarded` was given."""
    if APOSTROPHE not in text:
        return text
    if text[0] == APOSTROPHE and is_dangerous(text):
        text = text[1:]
    return GUARDED.sub(r"\1", text)


def guarded(text: str) -> str:
    """Return the text with an apostrophe wherever a spreadsheet would begin a cell and run it: at its beginning, and
    after a semicolon, a tab or a line break. Where it has one by itself it gets one more, so that
    `without_apostrophes` gives it back."""
    text = INNER.sub(r"\1'", text)
    return f"'{text}" if is_dangerous(text) else text


def json_cell(value: list[Any] | dict[str, Any]) -> str:
    """Return JSON in which no formula follows a semicolon: JSON may write any character by its number."""
    text = json.dumps(value, ensure_ascii=False)
    return INNER_SIGN.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", text)


def cell(value: Any) -> Any:
    """Return what csv.writer is given: text that a spreadsheet would run `guarded`, numbers as they are."""
    if isinstance(value, list | dict):
        return json_cell(value)
    if isinstance(value, str):
        return guarded(value)
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
