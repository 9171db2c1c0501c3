"""A folder of real comparisons: what its manifest says, its items and its rows.

`crowdrank.json` in the folder is one object. Keys, those with a star are needed:

  name*, question*          of the project; more_means, instructions, estimator, overlap, top_k as in its settings
  task_type, k, m           what annotators do (pair, graded, best, best_worst, ranking or top), with how many items at
                            a time, and how many of those are ranked in a ranking of the best few
  items                     {"file", "key", "text", "tags": [columns], "kind"}; without it, or without "file", the items
                            are those that the labels name
  items.text_format         what an item without a text column shows, with {} for its key: "document {}"
  labels*                   {"file"*, "annotator"*} and either
                            {"winner"*, "loser"*}: columns of item keys; the side each was shown on is not known
                            {"left"*, "right"*, "outcome"*, "outcomes"*: {value in the file: outcome}}, an outcome being
                            left, right, tie, both_good, both_bad, cant_judge or skip
                            {"shown"*, "outcome"*, "ranking"*}: for tasks of three or more items, as the export of
                            labels has them: columns of the keys in the order shown, of the outcome, and of the keys
                            from best to worst, each list in JSON or divided by semicolons
  labels.annotator_format   the annotator's name, with {} for the column's value: "worker {}"
  labels.at, response_ms    columns of when it was given (ISO 8601, UTC unless it says otherwise) and how long it took
  labels.grade, comment     columns of how much better the chosen one is (slightly, clearly or nothing), and of words

Files are CSV with a header, in UTF-8, gzipped where the name ends in .gz, and lie in the folder.
"""

import csv
import gzip
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from annotate.files.limits import MAX_FILE_BYTES
from annotate.files.writers import without_apostrophes
from annotate.imports.comparisons.actions import SIDES, Comparison
from annotate.imports.comparisons.sets import order_in, shared_in, shown_in
from annotate.labelling.actions import MAX_RESPONSE_MS
from annotate.labelling.outcomes import EXTRA_OUTCOMES, INFORMATIVE

MANIFEST = "crowdrank.json"
PROJECT_KEYS = {"name", "question", "more_means", "instructions", "estimator", "overlap", "top_k"}
PROJECT_KEYS |= {"task_type", "k", "m", "shared_places"}
ITEM_KEYS = {"file", "key", "text", "tags", "kind", "text_format"}
LABEL_KEYS = {
    *("file", "annotator", "annotator_format", "winner", "loser", "left", "right", "outcome", "outcomes"),
    *("at", "response_ms", "grade", "comment", "shown", "ranking"),
}
OUTCOMES = dict.fromkeys([*SIDES, *(outcome.value for outcome in (*EXTRA_OUTCOMES, *INFORMATIVE))])
# One limit for the whole process, as csv has it: the one that importing sets too.
csv.field_size_limit(MAX_FILE_BYTES)


class BadFolder(Exception):
    """What is wrong with the folder, for the person who named it."""


@dataclass(frozen=True)
class ItemRow:
    key: str
    text: str
    kind: str = "text"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Folder:
    """A folder with its manifest, checked as far as that goes without reading the data."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def project(self) -> dict[str, Any]:
        """Return values for a Project."""
        return {name: self.manifest[name] for name in PROJECT_KEYS & self.manifest.keys()}

    @property
    def outcomes(self) -> list[str]:
        """Return the outcomes besides a choice that the labels can have."""
        values = self.manifest["labels"].get("outcomes", {}).values()
        return sorted(set(values) & set(EXTRA_OUTCOMES))

    def comparisons(self) -> list[Comparison]:
        return list(read_comparisons(self.path, self.manifest["labels"]))

    def items(self, comparisons: list[Comparison]) -> list[ItemRow]:
        """Return the items of the items file, else those that the comparisons name, in the order of their keys."""
        items = self.manifest.get("items", {})
        shown = items.get("text_format", "{}")
        if "file" in items:
            return list(read_items(self.path, items, shown))
        keys = {key for row in comparisons for key in row.shown}
        return [ItemRow(key, shown.replace("{}", key)) for key in sorted(keys, key=natural_sort_key)]


def natural_sort_key(key: str) -> tuple[int, int, str]:
    """Return numbers before words, 9 before 10."""
    return (0, int(key), key) if key.isascii() and key.isdigit() else (1, 0, key)


def open_folder(path: Path, known: Mapping[str, Mapping[str, Any]]) -> Folder:
    """Return the folder by its own manifest, else by the known one whose files it has. Raises BadFolder."""
    if not path.is_dir():
        raise BadFolder(f"{path} is not a folder. Give one that holds {MANIFEST}, or {' or '.join(known)}.")
    own = path / MANIFEST
    if own.exists():
        try:
            manifest = json.loads(own.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise BadFolder(f"{own} is not JSON: {error}.") from error
        check_manifest(manifest, own)
        return Folder(path, manifest)
    for manifest in known.values():
        if looks_like(path, manifest):
            return Folder(path, manifest)
    raise BadFolder(
        f"{path} has no {MANIFEST} and is neither {' nor '.join(known)}. "
        "Write one: annotate/demo/manifest.py lists its keys."
    )


def looks_like(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Return whether the folder has the manifest's files, the labels with its columns."""
    labels = manifest["labels"]
    files = [labels["file"], *([manifest["items"]["file"]] if "file" in manifest["items"] else [])]
    if not all((path / name).exists() for name in files):
        return False
    with open_text(path / labels["file"]) as lines:
        return set(label_columns(labels).values()) <= set(next(csv.reader(lines), []))


def label_columns(labels: Mapping[str, Any]) -> dict[str, str]:
    """Return what each column of the labels file that the manifest names is for."""
    return {
        name: labels[name]
        for name in ("annotator", *answer_columns(labels), "at", "response_ms", "grade", "comment")
        if name in labels
    }


def answer_columns(labels: Mapping[str, Any]) -> tuple[str, ...]:
    if "shown" in labels:
        return ("shown", "outcome", "ranking")
    return ("winner", "loser") if "winner" in labels else ("left", "right", "outcome")


def check_manifest(manifest: Any, where: Path) -> None:
    """Raise BadFolder naming the first key that is missing, unknown or of no use."""
    if not isinstance(manifest, dict):
        raise BadFolder(f"{where} has to be one JSON object.")
    items, labels = manifest.get("items", {}), manifest.get("labels")
    if not isinstance(items, dict) or not isinstance(labels, dict):
        raise BadFolder(f"{where}: “labels” (and “items”, where it is given) has to be an object.")
    check_keys(manifest, {"name", "question"}, PROJECT_KEYS | {"items", "labels"}, where, "")
    check_keys(
        items, {"key", "text"} if "file" in items and "text_format" not in items else set(), ITEM_KEYS, where, "items."
    )
    needed = {"file", "annotator", *answer_columns(labels)} | ({"outcomes"} if "left" in labels else set())
    check_keys(labels, needed, LABEL_KEYS, where, "labels.")
    for value, outcome in labels.get("outcomes", {}).items():
        if outcome not in OUTCOMES:
            raise BadFolder(
                f"{where}: labels.outcomes takes “{value}” for “{outcome}”; it has to be one of {', '.join(OUTCOMES)}."
            )


def check_keys(found: Mapping[str, Any], needed: set[str], known: set[str], where: Path, prefix: str) -> None:
    for key in sorted(needed - found.keys()):
        raise BadFolder(f"{where}: “{prefix}{key}” is missing.")
    for key in sorted(found.keys() - known):
        raise BadFolder(f"{where}: “{prefix}{key}” is unknown. Known are {', '.join(sorted(known))}.")


def read_items(path: Path, items: Mapping[str, Any], shown: str) -> Iterator[ItemRow]:
    columns = [items["key"], *([items["text"]] if "text" in items else []), *items.get("tags", [])]
    for row in rows_of(path / items["file"], columns):
        key = row[items["key"]]
        text = row[items["text"]] if "text" in items else shown.replace("{}", key)
        tags = tuple(dict.fromkeys(row[tag].strip()[:100] for tag in items.get("tags", []) if row[tag].strip()))
        yield ItemRow(key, text, items.get("kind", "text"), tags)


def read_comparisons(path: Path, labels: Mapping[str, Any]) -> Iterator[Comparison]:
    columns = label_columns(labels)
    name_format = labels.get("annotator_format", "{}")
    # Where only winner and loser are known, sides are drawn by lot: a fixed one would pass for a bias towards it.
    rng = random.Random(labels["file"])  # noqa: S311
    for number, row in enumerate(rows_of(path / labels["file"], list(columns.values())), start=1):
        value = {name: without_apostrophes(row[column]) for name, column in columns.items()}
        outcome = labels.get("outcomes", {}).get(value.get("outcome"), value.get("outcome", ""))
        order: tuple[str, ...] = ()
        shared: tuple[int, ...] = ()
        if "shown" in value:
            shown = shown_in(value["shown"])
            order, shared = order_in(value["ranking"], outcome), shared_in(value["ranking"], outcome)
        elif "winner" in value:
            swap = rng.random() < 0.5
            shown = (value["loser"], value["winner"]) if swap else (value["winner"], value["loser"])
            outcome = "right" if swap else "left"
        else:
            shown = (value["left"], value["right"])
        yield Comparison(
            number,
            name_format.replace("{}", value["annotator"]),
            shown,
            outcome,
            time_of(value.get("at"), number),
            milliseconds_of(value.get("response_ms"), number),
            order,
            value.get("grade", ""),
            value.get("comment", ""),
            shared,
        )


def time_of(text: str | None, number: int) -> datetime | None:
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadFolder(f"Row {number}: “{text}” is not a time such as 2026-11-20T12:00:00Z.") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def milliseconds_of(text: str | None, number: int) -> int | None:
    if not text:
        return None
    try:
        value = round(float(text))
    except (ValueError, OverflowError) as error:
        raise BadFolder(f"Row {number}: “{text}” is no number of milliseconds.") from error
    return value if 0 <= value <= MAX_RESPONSE_MS else None


def rows_of(file: Path, columns: list[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file, every column asked for present in each. Raises BadFolder."""
    if not file.exists():
        raise BadFolder(f"{file} does not exist, but {MANIFEST} names it.")
    with open_text(file) as lines:
        reader = csv.DictReader(lines)
        names = reader.fieldnames or []
        for column in columns:
            if column not in names:
                raise BadFolder(f"{file} has no column “{column}”; it has {', '.join(names)}.")
        for number, row in enumerate(reader, start=1):
            if any(row[column] is None for column in columns):
                raise BadFolder(f"{file}, row {number}: it has fewer cells than the header has columns.")
            yield row


def open_text(file: Path) -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")
