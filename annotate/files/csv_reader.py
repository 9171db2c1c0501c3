"""Reading CSV and its relatives: the delimiter guessed, quotes over several lines, rows of the wrong width told."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import TextIO

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.files.cells import is_number
from annotate.files.column_guessing import KNOWN
from annotate.files.limits import MAX_FILE_BYTES, BadFile
from annotate.files.sheets import Sheet, SheetRow
from annotate.files.writers import without_apostrophes

DELIMITERS = {
    ",": gettext_lazy("comma"),
    ";": gettext_lazy("semicolon"),
    "\t": gettext_lazy("tab"),
    "|": gettext_lazy("vertical bar"),
}
SAMPLE = 64 * 1024
HEADER_LENGTH = 40
# Columns by which the export of items is known. There an apostrophe keeps a text from being run as a formula; in
# others' tables it is part of the text.
OF_OUR_ITEMS = frozenset(("item", "title", "kind", "text", "context", "competitor", "retired_at", "created_at"))

# One cell may be as long as a file: a text that is too long gets a message of its own, with its row.
csv.field_size_limit(MAX_FILE_BYTES)


def read(text: str | TextIO, delimiter: str, header: bool) -> Sheet:
    """Return the sheet of a delimited text, or of a file that is read as its rows are (newline="").

    Raises BadFile, possibly while the rows are read, if the quotes don't add up.
    """
    rows = filled_rows(text, delimiter)
    first = next(rows, None)
    if first is None:
        raise BadFile(_("There are no rows. Put one item in each row."))
    width = len(first[1])
    if header:
        columns = [cell.strip() or _("column %(n)d") % {"n": n} for n, cell in enumerate(first[1], 1)]
        if OF_OUR_ITEMS.issubset(columns):
            rows = ((line, list(map(without_apostrophes, cells))) for line, cells in rows)
        return Sheet(columns, checked_widths(rows, width), is_csv=True)
    columns = [_("column %(n)d") % {"n": n} for n in range(1, width + 1)]
    return Sheet(columns, checked_widths(chain([first], rows), width), is_csv=True)


def filled_rows(text: str | TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the line it starts in."""
    lines = io.StringIO(text, newline="") if isinstance(text, str) else text
    offset = 2 if lines.read(4) == "sep=" else 1
    if offset == 1:
        lines.seek(0)
    else:
        lines.readline()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = offset
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + offset
    except csv.Error as error:
        raise BadFile(quoting_message(str(error), line)) from error


def without_separator_line(text: str) -> str:
    """Remove Excel's own first line `sep=;`."""
    return text.partition("\n")[2] if text.startswith("sep=") else text


def quoting_message(error: str, line: int) -> str:
    if "unexpected end" in error:
        return _(
            "A quotation mark opened in line %(line)d is never closed, so the rows after it can't be told apart. "
            'Close it, or double it ("") if it belongs to the text.'
        ) % {"line": line}
    return _(
        "In line %(line)d text follows a closing quotation mark. Put quotation marks around the whole cell and double "
        'those that belong to the text ("").'
    ) % {"line": line}


def checked_widths(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[SheetRow]:
    for line, cells in rows:
        if len(cells) > width and not any(cells[width:]):
            cells = cells[:width]
        problem = ""
        if len(cells) != width:
            problem = ngettext(
                "The row has %(n)d column, the first row has %(width)d.",
                "The row has %(n)d columns, the first row has %(width)d.",
                len(cells),
            ) % {"n": len(cells), "width": width}
            problem += " " + _("Put quotation marks around a cell that holds the delimiter.")
        yield SheetRow(line, [*cells], problem)


def sniff_delimiter(text: str) -> str:
    """Return the delimiter that cuts the first rows into the same number of columns, more than one; a comma if none
    does."""
    sample = without_separator_line(text)[:SAMPLE]
    if text.startswith("sep=") and text[4:5] in DELIMITERS:
        return text[4]
    if len(sample) == SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = [len(row) for row in islice(rows, 50) if row]
        if not widths or widths[0] < 2:
            continue
        width, n = Counter(widths).most_common(1)[0]
        score = (n / len(widths), width)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def first_row(text: str, delimiter: str) -> list[str]:
    """Return the first row's cells as far as they can be read, to guess whether they are names."""
    sample = without_separator_line(text)[:SAMPLE]
    rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    return next((row for row in rows if any(cell.strip() for cell in row)), [])


def looks_like_header(cells: list[str]) -> bool:
    """Return a row that holds a known column name; or several cells, each short, different from the others and no
    number."""
    names = [cell.strip().casefold() for cell in cells]
    if KNOWN.intersection(names):
        return True
    short = all(name and len(name) <= HEADER_LENGTH and not is_number(name) for name in names)
    return len(names) > 1 and short and len(set(names)) == len(names)
