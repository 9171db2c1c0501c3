"""Reads a CSV file of labels into Comparisons, whatever its encoding or delimiter; errors name the line."""

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from models_engine.data import Comparisons, Options
from models_engine.errors import InvalidData
from models_engine.validation import MAX_GRADES

__all__ = [
    "Features",
    "Labels",
    "names_used",
    "read_features",
    "read_labels",
    "read_table",
    "renamed",
    "row_cells",
]

MAX_CELL_LENGTH = 100_000
OUTCOMES = {"left": 1.0, "right": 0.0, "tie": 0.5}
LAYOUTS = (
    "annotator,left,right,outcome (1 left, 0 right, 0.5 tie); worker,left,right,label (label names the winner); "
    "annotator,winner,loser; annotator,ranking (a;b;c, best first); annotator,chosen,set (a;b;c); annotator,top,set; "
    "annotator,best,worst,set; annotator,set,ranks (0;1;1, 0 best); each with a weight column if wanted, pairs with a "
    "grade column (how much better the winner is, 1 least; empty or 0 where not said), larger sets with a tied column "
    "(1: equal ranks are ties)"
)


@dataclass(frozen=True)
class Features:
    """Numeric features by name; values[i] belongs to names[i]. Rows without feature columns have width 0."""

    names: list[str]
    values: np.ndarray


@dataclass(frozen=True)
class Labels:
    """Comparisons with the names of items and annotators, and the messages about rows that were left out."""

    data: Comparisons
    items: list[str]
    annotators: list[str]
    refused: list[str] = field(default_factory=list)


class LabelRow(NamedTuple):
    """One label by names; `answer` lists the items named in the answer, `outcome` is a pair's."""

    annotator: str
    shown: list[str]
    answer: list[str]
    outcome: float
    weight: float
    grade: int = 0
    tied: bool = False


def read_labels(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    items: Features | None = None,
    annotators: Features | None = None,
    skip_bad_rows: bool = False,
) -> Labels:
    """Read labels of a file in one of the LAYOUTS. Items and annotators are numbered by sorted name.

    columns: {"winner": "harder"} reads the file's column "harder" as "winner".
    items, annotators: if given, all names in the labels must be in them, and the rest count as never compared.
    skip_bad_rows: leave out rows that cannot be used and list them in `refused`. Raises InvalidData.
    """
    lines = read_table(path)
    header = renamed([name.strip().lower() for name in next(lines, (0, []))[1]], columns or {}, path)
    kind, parse = _layout(header, path)
    rows: list[LabelRow] = []
    refused: list[str] = []
    for line, cells in lines:
        try:
            named = row_cells(header, cells)
            rows.append(_marked(parse(named), named))
        except InvalidData as error:
            message = f"{path.name}, line {line}: {error}"
            if not skip_bad_rows:
                raise InvalidData(message, row=line, value=error.value) from error
            refused.append(message)
    if not rows and items is None:
        raise InvalidData(f"{path.name} has no labels; a header and at least one row are needed.")
    item_names = names_used((item for row in rows for item in row.shown), items, "item", path)
    annotator_names = names_used((row.annotator for row in rows), annotators, "annotator", path)
    data = _comparisons(kind, rows, item_names, annotator_names, items, annotators)
    return Labels(data, item_names, annotator_names, refused)


def read_features(path: Path) -> Features:
    """Read a file whose first column names an item or annotator and whose others are numbers. Raises InvalidData."""
    lines = read_table(path)
    header = next(lines, (0, []))[1]
    names: dict[str, int] = {}
    values = []
    for line, cells in lines:
        if len(cells) != len(header):
            raise InvalidData(
                f"{path.name}, line {line}: {len(cells)} columns, the header has {len(header)}.", row=line
            )
        name = cells[0].strip()
        if not name or name in names:
            raise InvalidData(f"{path.name}, line {line}: {name!r} is empty or appears twice.", row=line, value=name)
        names[name] = line
        values.append([_number(cell, column, path, line) for cell, column in zip(cells[1:], header[1:], strict=True)])
    return Features(list(names), np.array(values, dtype=np.float64).reshape(len(names), max(0, len(header) - 1)))


def _number(cell: str, column: str, path: Path, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        message = f"{path.name}, line {line}, column {column}: {cell[:50]!r} is not a finite number; fill it in."
        raise InvalidData(message, row=line, value=cell)
    return value


def read_table(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Return (line number, cells) of each row of a CSV or TSV file that is not blank, the header first."""
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError) as error:
        raise InvalidData(f"{path} cannot be read: {error}.") from error
    text = _decoded(raw)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            longest = max(map(len, cells), default=0)
            if longest > MAX_CELL_LENGTH:  # csv's own limit is shared by the whole process
                raise InvalidData(
                    f"{path.name}, line {reader.line_num}: a cell has {longest:,} characters; "
                    f"the limit is {MAX_CELL_LENGTH:,}.",
                    row=reader.line_num,
                )
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InvalidData(
            f"{path.name}, line {reader.line_num}: {error}; check the quotes.", row=reader.line_num
        ) from error


def _decoded(raw: bytes) -> str:
    """Decode as UTF-8 or UTF-16 by their byte-order marks, else UTF-8, else Windows-1252."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def renamed(header: list[str], columns: Mapping[str, str], path: Path) -> list[str]:
    """Return the header with the names that `columns` gives to its columns. Raises InvalidData."""
    for column in columns.values():
        if column.strip().lower() not in header:
            raise InvalidData(f"{path.name} has no column {column!r}; it has {', '.join(header)}.", value=column)
    known_as = {column.strip().lower(): name.strip().lower() for name, column in columns.items()}
    return [known_as.get(name, name) for name in header]


def _layout(header: list[str], path: Path) -> tuple[str, Callable[[dict[str, str]], LabelRow]]:
    columns = set(header)
    layouts: list[tuple[str, set[str], Callable[[dict[str, str]], LabelRow]]] = [
        ("pairs", {"left", "right", "outcome"}, _pair),
        ("pairs", {"left", "right", "label"}, lambda cells: _named_winner(cells, "label")),
        ("pairs", {"left", "right", "winner"}, lambda cells: _named_winner(cells, "winner")),
        ("rankings", {"winner", "loser"}, _winner_and_loser),
        ("best_worst", {"best", "worst", "set"}, lambda cells: _answer(cells, "set", ["best", "worst"])),
        ("ranks", {"set", "ranks"}, _ranks),
        ("top", {"chosen", "set"}, lambda cells: _answer(cells, "set", ["chosen"])),
        ("top", {"top", "set"}, lambda cells: _answer(cells, "set", ["top"])),
        ("rankings", {"ranking"}, lambda cells: _answer(cells, "ranking", ["ranking"])),
    ]
    if columns & {"annotator", "worker"}:
        for kind, needed, parse in layouts:
            if needed <= columns:
                return kind, parse
    raise InvalidData(
        f"{path.name} has the columns {', '.join(header) or '(none)'}; known layouts are: {LAYOUTS}. "
        "Rename columns with --columns winner=harder,loser=easier."
    )


def row_cells(header: list[str], cells: list[str]) -> dict[str, str]:
    """Return the cells of a row by column, stripped. Raises InvalidData for a row of another length."""
    if len(cells) != len(header):
        raise InvalidData(f"{len(cells)} columns, the header has {len(header)}.", value=len(cells))
    return dict(zip(header, (cell.strip() for cell in cells), strict=True))


def _who(cells: dict[str, str]) -> tuple[str, float]:
    name = cells.get("annotator") or cells.get("worker", "")
    if not name:
        raise InvalidData("the annotator is empty; name one.", value=name)
    text = cells.get("weight") or "1"
    try:
        weight = float(text)
    except ValueError:
        weight = np.nan
    if not (np.isfinite(weight) and weight >= 0):
        raise InvalidData(f"weight {text[:50]!r} is not a finite number of 0 or more.", value=text)
    return name, weight


def _marked(row: LabelRow, cells: dict[str, str]) -> LabelRow:
    """Return the row with its grade and whether equal ranks are ties, where the file has these columns."""
    grade, tied = cells.get("grade") or "0", cells.get("tied") or "0"
    if not grade.isdecimal() or int(grade) > MAX_GRADES:
        raise InvalidData(f"grade {grade[:50]!r} is not a whole number from 0 to {MAX_GRADES}.", value=grade)
    if int(grade) and (len(row.shown) > 2 or row.outcome == 0.5):
        raise InvalidData("only a pair with a winner has a grade; leave it empty.", value=grade)
    if tied not in ("0", "1"):
        raise InvalidData(f"tied {tied[:50]!r} is neither 1 (equal ranks are ties) nor 0.", value=tied)
    return row._replace(grade=int(grade), tied=tied == "1")


def _shown(names: list[str]) -> list[str]:
    if len(names) < 2:
        raise InvalidData(f"{';'.join(names)[:100]!r} shows fewer than two items.", value=names)
    seen: set[str] = set()
    for name in names:
        if not name or name in seen:
            what = "an item name is empty" if not name else f"item {name[:50]!r} is shown twice (compared with itself)"
            raise InvalidData(f"{what}.", value=name)
        seen.add(name)
    return names


def _pair(cells: dict[str, str]) -> LabelRow:
    text = cells["outcome"].lower()
    try:
        outcome = OUTCOMES[text] if text in OUTCOMES else float(text)
    except ValueError:
        outcome = np.nan
    if outcome not in (0.0, 0.5, 1.0):
        raise InvalidData(f"outcome {text[:50]!r} is none of 1 (left), 0 (right), 0.5 (tie).", value=text)
    who, weight = _who(cells)
    return LabelRow(who, _shown([cells["left"], cells["right"]]), [], outcome, weight)


def _named_winner(cells: dict[str, str], column: str) -> LabelRow:
    left, right, winner = cells["left"], cells["right"], cells[column]
    shown = _shown([left, right])
    outcome = {left: 1.0, right: 0.0}.get(winner, OUTCOMES.get(winner.lower()))
    if outcome is None:
        message = f"{column} {winner[:50]!r} is none of {left[:50]!r}, {right[:50]!r}, left, right, tie."
        raise InvalidData(message, value=winner)
    who, weight = _who(cells)
    return LabelRow(who, shown, [], outcome, weight)


def _winner_and_loser(cells: dict[str, str]) -> LabelRow:
    who, weight = _who(cells)
    pair = _shown([cells["winner"], cells["loser"]])
    return LabelRow(who, pair, pair, 0.0, weight)


def _answer(cells: dict[str, str], shown_in: str, answered_in: Sequence[str]) -> LabelRow:
    who, weight = _who(cells)
    shown = _shown([name.strip() for name in cells[shown_in].split(";")])
    answer = [name.strip() for column in answered_in for name in cells[column].split(";")]
    for name in answer:
        if name not in shown:
            raise InvalidData(f"{name[:50]!r} is not in the set {';'.join(shown)[:100]!r}.", value=name)
    if len(set(answer)) < len(answer):
        raise InvalidData(f"{';'.join(answer)[:100]!r} names an item twice.", value=answer)
    return LabelRow(who, shown, answer, 0.0, weight)


def _ranks(cells: dict[str, str]) -> LabelRow:
    who, weight = _who(cells)
    shown = _shown([name.strip() for name in cells["set"].split(";")])
    ranks = [text.strip() for text in cells["ranks"].split(";")]
    if sorted(set(ranks)) != [str(rank) for rank in range(len(set(ranks)))] or len(ranks) != len(shown):
        message = f"ranks {cells['ranks'][:50]!r} is not one rank for each of {len(shown)} items, 0;1;1 for three."
        raise InvalidData(message, value=cells["ranks"])
    return LabelRow(who, shown, ranks, 0.0, weight)


def names_used(used: Iterator[str], given: Features | None, what: str, path: Path) -> list[str]:
    """Return the names by number: those of the file given, else those used, sorted. Raises InvalidData for others."""
    found = set(used)
    if given is None:
        return sorted(found)
    unknown = sorted(found - set(given.names))
    if unknown:
        raise InvalidData(
            f"{path.name}: {what} {unknown[0][:50]!r} is not in the {what}s file; add it there.", value=unknown[0]
        )
    return given.names


def _comparisons(
    kind: str,
    rows: list[LabelRow],
    items: list[str],
    annotators: list[str],
    item_file: Features | None,
    annotator_file: Features | None,
) -> Comparisons:
    number = {name: place for place, name in enumerate(items)}
    annotator_number = {name: place for place, name in enumerate(annotators)}
    who = [annotator_number[row.annotator] for row in rows]
    shown = [[number[name] for name in row.shown] for row in rows]
    options: Options = {
        "n_items": len(items),
        "n_annotators": len(annotators),
        "weights": [row.weight for row in rows],
        "item_features": _given(item_file),
        "annotator_features": _given(annotator_file),
        "grades": [row.grade for row in rows],
        "tied": np.array([row.tied for row in rows], dtype=bool),
    }
    if kind == "pairs":
        pairs = np.array(shown, dtype=np.int64).reshape(-1, 2)
        return Comparisons.from_pairs(pairs[:, 0], pairs[:, 1], [row.outcome for row in rows], who, **options)
    if kind == "ranks":
        return Comparisons.from_ranks([[int(rank) for rank in row.answer] for row in rows], shown, who, **options)
    answers = [[number[name] for name in row.answer] for row in rows]
    if kind == "rankings":
        return Comparisons.from_rankings(answers, who, **options)
    if kind == "best_worst":
        ends = np.array(answers, dtype=np.int64).reshape(-1, 2)
        return Comparisons.from_best_worst(ends[:, 0], ends[:, 1], shown, who, **options)
    return Comparisons.from_top(answers, shown, who, **options)


def _given(file: Features | None) -> np.ndarray | None:
    return file.values if file is not None and file.values.size else None
