"""Reads and writes tables of counts: annotator, item, count and exposure; errors name the line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models_engine.errors import InvalidData
from models_engine.estimators.count_posterior import CountPosterior
from models_engine.inference.counts.cells import MAX_COUNT, MAX_EXPOSURE, MIN_EXPOSURE, CountCells
from models_engine.io.label_tables import Features, names_used, read_table, renamed, row_cells

__all__ = ["ANNOTATORS", "COUNTS", "Counts", "annotator_rows", "count_rows", "read_counts"]

COUNTS = ("annotator", "item", "count", "exposure")
ANNOTATORS = ("annotator", "n_counts", "effect", "sd")
Row = tuple[str, str, int, float]


@dataclass(frozen=True)
class Counts:
    """Counts with the names of items and annotators, and the messages about rows that were left out."""

    data: CountCells
    items: list[str]
    annotators: list[str]
    refused: list[str] = field(default_factory=list)


def read_counts(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    items: Features | None = None,
    annotators: Features | None = None,
    skip_bad_rows: bool = False,
) -> Counts:
    """Read a CSV or TSV file with the columns annotator (or worker), item, count and, if wanted, exposure (else 1).

    Rows of the same annotator and item are added up. Arguments as of `label_tables.read_labels`. Raises InvalidData.
    """
    lines = read_table(path)
    header = renamed([name.strip().lower() for name in next(lines, (0, []))[1]], columns or {}, path)
    header = ["annotator" if name == "worker" and "annotator" not in header else name for name in header]
    if missing := [name for name in COUNTS[:3] if name not in header]:
        raise InvalidData(
            f"{path.name} has the columns {', '.join(header) or '(none)'} and lacks {', '.join(missing)}; a table of "
            "counts has annotator, item, count and, if wanted, exposure. Rename columns with --columns count=plays."
        )
    rows: list[Row] = []
    refused: list[str] = []
    for line, cells in lines:
        try:
            rows.append(_row(row_cells(header, cells)))
        except InvalidData as error:
            message = f"{path.name}, line {line}: {error}"
            if not skip_bad_rows:
                raise InvalidData(message, row=line, value=error.value) from error
            refused.append(message)
    if not rows and items is None:
        raise InvalidData(f"{path.name} has no counts; a header and at least one row are needed.")
    item_names = names_used((row[1] for row in rows), items, "item", path)
    annotator_names = names_used((row[0] for row in rows), annotators, "annotator", path)
    place = {name: number for number, name in enumerate(item_names)}
    who = {name: number for number, name in enumerate(annotator_names)}
    data = CountCells.from_rows(
        np.array([place[row[1]] for row in rows], dtype=np.int64),
        np.array([who[row[0]] for row in rows], dtype=np.int64),
        [row[2] for row in rows],
        [row[3] for row in rows],
        n_items=len(item_names),
        n_annotators=len(annotator_names),
    )
    return Counts(data, item_names, annotator_names, refused)


def _row(cells: Mapping[str, str]) -> Row:
    for name in ("annotator", "item"):
        if not cells[name]:
            raise InvalidData(f"the {name} is empty; name one.", value="")
    count, exposure = _number(cells["count"]), _number(cells.get("exposure") or "1")
    if not (0 <= count <= MAX_COUNT and count == int(count)):
        raise InvalidData(
            f"count {cells['count'][:50]!r} is not a whole number from 0 to {MAX_COUNT:,}.", value=cells["count"]
        )
    if not MIN_EXPOSURE <= exposure <= MAX_EXPOSURE:
        raise InvalidData(
            f"exposure {cells['exposure'][:50]!r} is not a number between {MIN_EXPOSURE:g} and {MAX_EXPOSURE:g}.",
            value=cells["exposure"],
        )
    return cells["annotator"], cells["item"], int(count), exposure


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def count_rows(data: CountCells, items: Sequence[str], annotators: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows of COUNTS, sorted by names, so that equal counts give equal files."""
    return sorted(
        (annotators[who], items[item], str(int(count)), repr(exposure))
        for who, item, count, exposure in zip(
            data.annotators.tolist(), data.items.tolist(), data.counts.tolist(), data.exposures.tolist(), strict=True
        )
    )


def annotator_rows(posterior: CountPosterior, counts: Counts) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of ANNOTATORS: how much more each counts than the average one, in natural logarithms."""
    n_counts = np.bincount(counts.data.annotators, minlength=counts.data.n_annotators)
    for number, name in enumerate(counts.annotators):
        effect, sd = posterior.annotator_effects[number], posterior.annotator_deviations[number]
        yield name, int(n_counts[number]), float(effect), float(sd)
