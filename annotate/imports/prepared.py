"""The rows of an import as checked: those to be written, a JSON line each, and those left out, with the reason."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.files.writers import cell

SHOWN_ERRORS, SHOWN_FIRST = 200, 20
LONGEST_CELL = 1000  # of a row that is left out
EVERY = 1000  # rows between two notes of progress
# One thing to be written: what it is and its values. A row may give several kinds; they are written in this order.
KINDS = ("media", "features", "item", "question", "comparison", "count", "annotator")
Line = tuple[str, Sequence[Any]]


class Read(NamedTuple):
    """A row of the file: the lines it gives, or else what is wrong with it."""

    place: int
    cells: Sequence[Any]
    lines: Sequence[Line] = ()
    problem: str = ""
    n_merged: int = 0  # of its lines, those left out because they were there already
    is_weighted: bool = False  # whether it gives a weight other than 1, which is left aside


@dataclass
class Outcome:
    """What checking found; `errors` and `first` hold the first of either kind."""

    n_rows: int = 0
    n_bad: int = 0
    n_lines: int = 0
    n_ahead: int = 0
    n_merged: int = 0
    n_weighted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[int, str]] = field(default_factory=list)
    first: list[list[Any]] = field(default_factory=list)


def prepare(
    columns: Sequence[str],
    rows: Iterable[Read],
    ahead: Callable[[], Iterable[Line]],
    *,
    good: Path,
    bad: Path,
    progress: Callable[[int], None],
    every: int = EVERY,
) -> Outcome:
    """Sorts the rows into two files, the lines by their kinds. ahead: lines that have to be written before them all,
    known once all rows are read."""
    found = Outcome()
    bodies: dict[str, TextIO] = {}
    with ExitStack() as stack, bad.open("w", encoding="utf-8", newline="") as left_out:
        writer = csv.writer(left_out)
        writer.writerow([_("row"), _("problem"), *map(cell, columns)])
        for read in rows:
            found.n_rows += 1
            if read.problem:
                note_bad(found, read)
                cells = map(cell, [read.problem, *map(shortened, read.cells)])
                writer.writerow([read.place or "", *cells])
            else:
                note_good(found, read)
                for line in read.lines:
                    if line[0] not in bodies:
                        body = good.with_suffix(f".{line[0]}").open("w", encoding="utf-8")
                        bodies[line[0]] = stack.enter_context(body)
                    bodies[line[0]].write(encoded(line))
            if found.n_rows % every == 0:
                progress(found.n_rows)
    with good.open("wb") as whole:
        for line in ahead():
            found.n_lines += 1
            found.n_ahead += 1
            whole.write(encoded(line).encode())
        for kind in sorted(bodies, key=KINDS.index):
            body_of_kind = good.with_suffix(f".{kind}")
            with body_of_kind.open("rb") as rest:
                shutil.copyfileobj(rest, whole, 2**20)
            body_of_kind.unlink()
    return found


def note_bad(found: Outcome, read: Read) -> None:
    found.n_bad += 1
    if len(found.errors) < SHOWN_ERRORS:
        found.errors.append((read.place, read.problem))


def note_good(found: Outcome, read: Read) -> None:
    found.n_lines += len(read.lines)
    found.n_merged += read.n_merged
    found.n_weighted += read.is_weighted
    found.kinds.update(line[0] for line in read.lines)
    if len(found.first) < SHOWN_FIRST:
        found.first.append([read.place, [shortened(value, 100) for value in read.cells]])


def shortened(value: Any, limit: int = LONGEST_CELL) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def encoded(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False, default=plain) + "\n"


def plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)


def chunks(file: Any, size: Callable[[Line], int]) -> Iterator[tuple[list[Line], int]]:
    """Yield the lines from where the file stands, as many of one kind at a time as `size` of its first says; with the
    bytes that they take."""
    lines: list[Line] = []
    n_bytes = 0
    for raw in file:
        line: Line = tuple(json.loads(raw))
        if lines and (line[0] != lines[0][0] or len(lines) >= size(lines[0])):
            yield lines, n_bytes
            lines, n_bytes = [], 0
        lines.append(line)
        n_bytes += len(raw)
    if lines:
        yield lines, n_bytes


class NothingToImport(UserError):
    status = 400

    def __init__(self) -> None:
        super().__init__(_("None of the rows can be imported. Correct them and upload the file again."))
