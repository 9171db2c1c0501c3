"""How a text is cut into rows: guessed from its name and its beginning, changeable by the owner."""

import json
from dataclasses import dataclass
from itertools import islice
from typing import TextIO

from django.utils.translation import gettext_lazy

from annotate.files import csv_reader, json_reader, lines_reader
from annotate.files.cells import is_number
from annotate.files.column_guessing import KNOWN, Columns, guess
from annotate.files.parquet_reader import SUFFIXES as PARQUET
from annotate.files.sheets import Cell, Sheet

FORMATS = {
    "table": gettext_lazy("A table (CSV, TSV, copied from a spreadsheet)"),
    "lines": gettext_lazy("One item per line"),
    "jsonlines": gettext_lazy("JSON lines"),
    "json": gettext_lazy("JSON list"),
}
FIRST_ROWS = 200


@dataclass(frozen=True)
class Layout:
    """`delimiter` and `header` matter to tables only."""

    format: str
    delimiter: str = ","
    header: bool = True


def guess_layout(text: str, name: str) -> Layout:
    """Guess the layout; name: the uploaded file's, empty for a pasted text."""
    name = name.lower().removesuffix(".gz")
    if name.endswith(".txt"):
        return Layout("lines")
    if name.endswith((".jsonl", ".ndjson", *PARQUET)):
        return Layout("jsonlines")
    if name.endswith(".json") or text.lstrip()[:1] in ("[", "{"):
        line, _newline, rest = text.strip().partition("\n")
        return Layout("jsonlines" if rest and is_object(line) else "json")
    delimiter = csv_reader.sniff_delimiter(text)
    return Layout("table", delimiter, csv_reader.looks_like_header(csv_reader.first_row(text, delimiter)))


def named_columns(text: str) -> Layout | None:
    """Return the layout of a table whose first row names several columns, one of them known; None of other texts."""
    layout = guess_layout(text, "")
    if layout.format != "table":
        return None
    names = [cell.strip().casefold() for cell in csv_reader.first_row(text, layout.delimiter)]
    return layout if len(names) > 1 and KNOWN.intersection(names) else None


def is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def read_sheet(text: str | TextIO, layout: Layout) -> Sheet:
    """Read tables and JSON lines of a file as their rows are used. Raises BadFile, possibly while the rows are read."""
    if layout.format in ("lines", "json"):
        whole = text if isinstance(text, str) else text.read()
        return lines_reader.read(whole) if layout.format == "lines" else json_reader.read_list(whole)
    if layout.format == "jsonlines":
        return json_reader.read_lines(text)
    return csv_reader.read(text, layout.delimiter, layout.header)


def numeric_columns(text: str, layout: Layout) -> tuple[int, ...]:
    """Return the places of the columns whose first cells are all numbers; raises BadFile."""
    sheet = read_sheet(text, layout)
    rows = [row.cells for row in islice(sheet.rows, FIRST_ROWS) if not row.problem]
    return tuple(place for place in range(len(sheet.columns)) if rows and all(is_figure(row[place]) for row in rows))


def is_figure(cell: Cell) -> bool:
    return isinstance(cell, str) and is_number(cell)


def guess_columns(text: str, layout: Layout) -> tuple[list[str], Columns]:
    """Return the columns' names and what they seem to hold; raises BadFile."""
    sheet = read_sheet(text, layout)
    return sheet.columns, guess(sheet.columns, list(islice(sheet.rows, FIRST_ROWS)))
