"""Two public data sets of crowds who answered about pairs, read from a folder; nothing of them is here."""

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidData

__all__ = ["read_readability", "read_ukp", "read_ukp_texts"]

Ints = NDArray[np.int64]
UKP_OUTCOMES = {"a1": 1.0, "a2": 0.0, "equal": 0.5}


def read_readability(folder: Path) -> tuple[Comparisons, Ints]:
    """(labels, grade (n_items,) of each document): which of two texts is harder to read (Chen et al., WSDM 2013).

    A larger utility is a harder text. The order shown is not recorded. The two rows that compare a document with itself
    are left out. `folder`, or its subfolder readability_crowd, holds
    comparisons.csv.gz (worker, harder, easier) and documents.csv (doc, grade_level). Raises InvalidData if missing.
    """
    table = _table(_found(folder, "readability_crowd", "comparisons.csv.gz"))
    documents = _table(_found(folder, "readability_crowd", "documents.csv"))
    grades = np.zeros(len(documents["doc"]), dtype=np.int64)
    grades[_numbers(documents["doc"])] = _numbers(documents["grade_level"])
    harder, easier, worker = (_numbers(table[name]) for name in ("harder", "easier", "worker"))
    kept = harder != easier
    answers = np.column_stack([harder, easier])[kept]
    n_annotators = int(worker.max()) + 1
    labels = Comparisons.from_rankings(answers, worker[kept], n_items=len(grades), n_annotators=n_annotators)
    return labels, grades


def read_ukp(folder: Path) -> tuple[Comparisons, Ints]:
    """(labels, topic (n_items,) of each argument): which argument convinces more (Habernal & Gurevych, ACL 2016).

    Left is item1, a tie is "equal"; only arguments of one topic are compared. `folder`, or its subfolder ukpconvarg1,
    holds labels.csv.gz (worker, item1, item2, label) and arguments.csv.gz (item, topic_id). Raises InvalidData.
    """
    table = _table(_found(folder, "ukpconvarg1", "labels.csv.gz"))
    arguments = _table(_found(folder, "ukpconvarg1", "arguments.csv.gz"))
    topics = np.zeros(len(arguments["item"]), dtype=np.int64)
    topics[_numbers(arguments["item"])] = _numbers(arguments["topic_id"])
    outcome = np.array([UKP_OUTCOMES[label] for label in table["label"]])
    labels = Comparisons.from_pairs(
        _numbers(table["item1"]), _numbers(table["item2"]), outcome, _numbers(table["worker"]), n_items=len(topics)
    )
    return labels, topics


def read_ukp_texts(folder: Path) -> list[str] | None:
    """The text of each argument, in the order of read_ukp; None where arguments.csv.gz has no column of them."""
    arguments = _table(_found(folder, "ukpconvarg1", "arguments.csv.gz"))
    if "text" not in arguments:
        return None
    return [arguments["text"][place] for place in np.argsort(_numbers(arguments["item"]))]


def _found(folder: Path, name: str, file: str) -> Path:
    for place in (folder, folder / name):
        if (place / file).is_file():
            return place / file
    raise InvalidData(f"{folder / file} does not exist; give --data the folder of the {name} data.")


def _table(path: Path) -> dict[str, list[str]]:
    """Columns of a CSV file with a header, plain or gzipped."""
    opened = gzip.open(path, "rt", encoding="utf-8", newline="") if path.suffix == ".gz" else path.open(newline="")
    with opened as lines:
        rows = csv.reader(lines)
        names = next(rows)
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _numbers(column: list[str]) -> Ints:
    return np.array(column, dtype=np.int64)
