"""Reads the sheets of an XLSX workbook as CSV, row by row, no further than the limits."""

import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time
from importlib import import_module
from typing import IO, Any, NamedTuple

from django.core.files.base import File
from django.utils.translation import gettext as _

from annotate.files.cells import shortened
from annotate.files.decoding import decode_upload, too_large
from annotate.files.limits import MAX_FILE_BYTES, MAX_ROWS, MAX_SHEET_CELLS, MAX_WORKBOOK_UNFOLDED, MOST_FOLDED, BadFile
from annotate.files.packages import MAX_PARTS, blocks_of, check_size_of, declares_entities
from annotate.files.parquet_reader import is_parquet, read_parquet

SUFFIX = ".xlsx"
MAX_SHEETS = 20
EMPTY_ROWS = 1_000  # without a cell, after which a sheet has ended
FORMULA = b"<f"
# What openpyxl raises on workbooks that no spreadsheet writes, and besides in places AttributeError or IndexError.
UNREADABLE = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, SyntaxError, OSError)


class SheetText(NamedTuple):
    """One sheet as CSV with commas."""

    name: str
    text: str


def is_workbook(name: str, head: bytes) -> bool:
    return name.lower().endswith(SUFFIX) and head.startswith(b"PK")


def read_workbook(file: IO[bytes], name: str) -> list[SheetText]:
    """Return the visible sheets that hold something, as they are shown: the results of formulas. Raises BadFile."""
    file.seek(0)
    has_formulas = check_package(file, name)
    values = load(file, name, results=True)
    formulas = load(file, name, results=False) if has_formulas else None
    found, left = [], MAX_SHEET_CELLS
    for sheet in values.worksheets[:MAX_SHEETS]:
        if sheet.sheet_state != "visible":
            continue
        written = formulas[sheet.title].iter_rows(values_only=True) if formulas else None
        text, n_cells = csv_of(sheet, written, left)
        left -= n_cells
        if text:
            found.append(SheetText(sheet.title, text))
    if not found:
        raise BadFile(_("“%(name)s” is empty. Put one item in each row and upload it again.") % {"name": name})
    return found


def load(file: IO[bytes], name: str, *, results: bool) -> Any:
    openpyxl = import_module("openpyxl")  # where it is used: a process without it starts in less time
    try:
        return openpyxl.load_workbook(file, read_only=True, data_only=results, keep_links=False)
    except (*UNREADABLE, AttributeError) as error:
        raise damaged(name, error) from error


def damaged(name: str, error: Exception) -> BadFile:
    return BadFile(
        _("“%(name)s” can't be read as a workbook (%(problem)s). Save it again as .xlsx, or as “CSV UTF-8”.")
        % {"name": name, "problem": type(error).__name__}
    )


def csv_of(sheet: Any, written: Iterator[tuple[Any, ...]] | None, left: int) -> tuple[str, int]:
    """Return the sheet's rows as CSV, and how many cells they have.

    written: the same rows with formulas in place of results, where the workbook has any; left: cells that may be read.
    """
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    out, n_cells, n_rows, waiting = io.StringIO(), 0, 0, 0
    writer = csv.writer(out)
    try:
        for row in sheet.iter_rows(values_only=True):
            formulas = next(written, ()) if written else ()
            waiting = 0 if any(value is not None for value in (*row, *formulas)) else waiting + 1
            if waiting > EMPTY_ROWS:
                break
            if waiting:
                continue
            n_rows, n_cells = n_rows + 1, n_cells + len(row)
            check_size(sheet.title, n_rows, n_cells, left)
            check_results(sheet.title, n_rows, row, formulas)
            cells = [cell_text(value) for value in row]
            if (size := out.tell() + sum(map(len, cells))) > MAX_FILE_BYTES:  # cells may share one long text
                raise too_large(sheet.title, size)
            writer.writerow(cells)
    except (*UNREADABLE, IndexError) as error:
        raise damaged(sheet.title, error) from error
    return out.getvalue(), n_cells


def check_size(sheet: str, n_rows: int, n_cells: int, left: int) -> None:
    if n_rows > MAX_ROWS + 1:  # the first may name the columns
        raise BadFile(
            _("The sheet “%(sheet)s” has more than %(limit)d rows. Split it and import the parts one by one.")
            % {"sheet": sheet, "limit": MAX_ROWS}
        )
    if n_cells > left:
        raise BadFile(
            _("Up to the sheet “%(sheet)s” the workbook has more than %(limit)d cells. Save the sheet alone as CSV.")
            % {"sheet": sheet, "limit": MAX_SHEET_CELLS}
        )


def check_results(sheet: str, n_row: int, values: tuple[Any, ...], formulas: tuple[Any, ...]) -> None:
    for place, (value, formula) in enumerate(zip(values, formulas, strict=False)):
        if value is None and isinstance(formula, str) and formula.startswith("="):
            raise BadFile(
                _(
                    "The sheet “%(sheet)s” has a formula without its result in row %(row)d, column %(column)d. "
                    "Open it in a spreadsheet program and save it again, or save it as “CSV UTF-8”."
                )
                % {"sheet": sheet, "row": n_row, "column": place + 1}
            )


def cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def check_package(file: IO[bytes], name: str) -> bool:
    """Check the workbook's parts before one is read; return whether any holds a formula. Raises BadFile."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size > MAX_FILE_BYTES:
        raise BadFile(
            _("“%(name)s” has %(size).1f MB; the limit is %(limit)d MB. Split it and import the parts one by one.")
            % {"name": name, "size": size / 2**20, "limit": MAX_FILE_BYTES // 2**20}
        )
    try:
        with zipfile.ZipFile(file) as package:
            infos = package.infolist()
            check_unfolded(infos, name)
            for info in infos:
                check_size_of(package, info)
            found = [check_for_formulas(package, info, name) for info in infos]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise damaged(name, error) from error
    file.seek(0)
    return any(found)


def check_unfolded(infos: list[zipfile.ZipInfo], name: str) -> None:
    if len(infos) > MAX_PARTS:
        raise BadFile(
            _("“%(name)s” has %(n)d parts; the limit is %(limit)d. Save its table as “CSV UTF-8” and upload that.")
            % {"name": name, "n": len(infos), "limit": MAX_PARTS}
        )
    unfolded = sum(info.file_size for info in infos)
    folded = any(info.file_size > 2**20 and info.file_size > MOST_FOLDED * info.compress_size for info in infos)
    if unfolded > MAX_WORKBOOK_UNFOLDED or folded:
        raise BadFile(
            _(
                "“%(name)s” unpacks to %(size)d MB; the limits are %(limit)d MB and %(times)d times its size. Save its "
                "table as “CSV UTF-8” and upload that."
            )
            % {"name": name, "size": unfolded // 2**20, "limit": MAX_WORKBOOK_UNFOLDED // 2**20, "times": MOST_FOLDED}
        )


def check_for_formulas(package: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> bool:
    """Return whether a part holds a formula. Raises BadFile where it declares XML entities."""
    if declares_entities(package, info):
        raise BadFile(
            _("“%(name)s” declares XML entities, which no spreadsheet does. Save its table as “CSV UTF-8”.")
            % {"name": name}
        )
    blocks = blocks_of(package, info, len(FORMULA)) if "worksheets/" in info.filename else ()
    return any(FORMULA + b">" in block or FORMULA + b" " in block for block in blocks)


def read_head(file: File) -> bytes:
    head = file.read(4)
    file.seek(0)
    return head


def decode_table(file: File, sheet: str = "") -> str:
    """Return an uploaded table as text, Parquet as JSON lines; of a workbook the sheet of this name, or the first.

    Raises BadFile.
    """
    name = file.name or _("a file")
    if is_parquet(name, head := read_head(file)):
        return read_parquet(file, name)
    if not is_workbook(name, head):
        return decode_upload(file).text
    return sheet_called(read_workbook(file, name), sheet).text


def sheet_called(sheets: list[SheetText], name: str) -> SheetText:
    """Raise BadFile."""
    for sheet in sheets:
        if name in ("", sheet.name):
            return sheet
    names = ", ".join(sheet.name for sheet in sheets)
    raise BadFile(
        _("The workbook has no sheet “%(name)s” that holds something. It has: %(names)s.")
        % {"name": shortened(name), "names": names[:500]}
    )
