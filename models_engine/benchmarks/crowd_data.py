"""Readers of two public data sets of pairs answered by crowds; the data are not part of the project."""

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidData

__all__ = ["found_file", "read_columns", "read_numbers", "read_readability", "read_ukp", "read_ukp_texts"]

Ints = NDArray[np.int64]
UKP_OUTCOMES = {"a1": 1.0, "a2": 0.0, "equal": 0.5}


def read_readability(folder: Path) -> tuple[Comparisons, Ints]:
    """Read (labels, grade (n_items,) of each document): which of two texts is harder (Chen et al., WSDM 2013).

    A larger utility is a harder text. The order shown is not recorded. The two rows that compare a document with itself
    are left out. `folder`, or its subfolder readability_crowd, holds
    comparisons.csv.gz (worker, harder, easier) and documents.csv (doc, grade_level). Raises InvalidData if missing.
    """
    table = read_columns(found_file(folder, "readability_crowd", "comparisons.csv.gz"))
    documents = read_columns(found_file(folder, "readability_crowd", "documents.csv"))
    grades = np.zeros(len(documents["doc"]), dtype=np.int64)
    grades[read_numbers(documents["doc"])] = read_numbers(documents["grade_level"])
    harder, easier, worker = (read_numbers(table[name]) for name in ("harder", "easier", "worker"))
    kept = harder != easier
    answers = np.column_stack([harder, easier])[kept]
    n_annotators = int(worker.max()) + 1
    labels = Comparisons.from_rankings(answers, worker[kept], n_items=len(grades), n_annotators=n_annotators)
    return labels, grades


def read_ukp(folder: Path, *, sample: bool = False) -> tuple[Comparisons, Ints]:
    """Read (labels, topic (n_items,) of each argument): which argument convinces more (Habernal & Gurevych, ACL 2016).

    sample: only the one label of each pair that is in UKPConvArgCrowdSample (Simpson & Gurevych 2018, 2020), and its
    annotators, numbered anew.

    Left is item1, a tie is "equal"; only arguments of one topic are compared. `folder`, or its subfolder ukpconvarg1,
    holds labels.csv.gz (worker, item1, item2, label, and in_crowdsample for the sample) and arguments.csv.gz (item,
    topic_id). Raises InvalidData.
    """
    table = read_columns(found_file(folder, "ukpconvarg1", "labels.csv.gz"))
    arguments = read_columns(found_file(folder, "ukpconvarg1", "arguments.csv.gz"))
    topics = np.zeros(len(arguments["item"]), dtype=np.int64)
    topics[read_numbers(arguments["item"])] = read_numbers(arguments["topic_id"])
    kept = np.ones(len(table["label"]), dtype=bool)
    if sample:
        if "in_crowdsample" not in table:
            raise InvalidData("labels.csv.gz has no column in_crowdsample; leave --sample out.")
        kept = read_numbers(table["in_crowdsample"]) == 1
    outcome = np.array([UKP_OUTCOMES[label] for label in table["label"]])
    worker = read_numbers(table["worker"])[kept]
    labels = Comparisons.from_pairs(
        read_numbers(table["item1"])[kept],
        read_numbers(table["item2"])[kept],
        outcome[kept],
        np.unique(worker, return_inverse=True)[1] if sample else worker,
        n_items=len(topics),
    )
    return labels, topics


def read_ukp_texts(folder: Path) -> list[str] | None:
    """Read the text of each argument, in the order of read_ukp; None if arguments.csv.gz has no such column."""
    arguments = read_columns(found_file(folder, "ukpconvarg1", "arguments.csv.gz"))
    if "text" not in arguments:
        return None
    return [arguments["text"][place] for place in np.argsort(read_numbers(arguments["item"]))]


def found_file(folder: Path, name: str, file: str) -> Path:
    """Return the file in `folder`, or in its subfolder `name`. Raises InvalidData where it is in neither."""
    for place in (folder, folder / name):
        if (place / file).is_file():
            return place / file
    raise InvalidData(f"{folder / file} does not exist; give --data the folder of the {name} data.")


def read_columns(path: Path) -> dict[str, list[str]]:
    """Read the columns of a CSV file with a header, plain or gzipped."""
    opened = gzip.open(path, "rt", encoding="utf-8", newline="") if path.suffix == ".gz" else path.open(newline="")
    with opened as lines:
        rows = csv.reader(lines)
        names = next(rows)
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def read_numbers(column: list[str]) -> Ints:
    """Return (n_rows,) a column of whole numbers."""
    return np.array(column, dtype=np.int64)
