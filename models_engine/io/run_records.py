"""Run records: folders with everything needed to repeat a fit, and the ranking that it gave.

labels.csv    annotator, set (items in the order shown), ranks, weight; where there are any, grade of a pair, and
              whether equal ranks of a larger set are ties; sorted, so that equal labels give equal files
items.csv     item, then its features; includes items never compared
annotators.csv  annotator, then features
counts.csv    of a ranking by counts, in place of labels.csv: annotator, item, count, exposure; sorted
record.json   data hash, estimator, settings, seed, versions, what is not ranked
ranking.csv   of a cold fit to exactly these files, with all digits, so that it can be compared bit for bit
predicted.csv   where there are any: places of items never compared that the same fit predicts from their features

Names are percent-encoded where they would break the files or be formulas in a spreadsheet; urllib.parse.unquote
decodes them.
"""

import csv
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidData, NotConverged
from models_engine.estimators.settings import build_estimator
from models_engine.estimators.table import COUNT_ESTIMATORS, ESTIMATORS, estimator_class
from models_engine.inference.counts.cells import CountCells
from models_engine.io.count_tables import COUNTS, Counts, count_rows, read_counts
from models_engine.io.environment import describe_environment
from models_engine.io.label_tables import Labels, read_features, read_labels
from models_engine.io.names import encode_name, feature_columns
from models_engine.io.predicted_places import predicted_rows
from models_engine.io.reports import RANKING, ranking_rows, write_json
from models_engine.progress import Progress
from models_engine.summaries import Diagnostics

__all__ = [
    "COLUMNS",
    "ColdFit",
    "FitSpec",
    "fit_cold",
    "read_predicted",
    "read_record",
    "write_counts",
    "write_labels",
    "write_record",
]

FORMAT = 1
COLUMNS = (*RANKING, "part")

CsvRow = tuple[Any, ...]


@dataclass(frozen=True)
class FitSpec:
    """Specification of a fit. level: of the intervals; k: for p_top_k; unranked: names of items not ranked.

    predicted: names of items whose places are predicted, each with one of the items among which it has its place.
    """

    estimator: str
    settings: Mapping[str, Any]
    seed: int = 0
    level: float = 0.9
    k: int = 10
    unranked: Sequence[str] = ()
    predicted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColdFit:
    """rows of ranking.csv, and of predicted.csv; hyperparameters: what was fitted or set besides utilities."""

    rows: list[CsvRow]
    predicted: list[CsvRow]
    diagnostics: Diagnostics
    hyperparameters: dict[str, float]


def write_labels(folder: Path, data: Comparisons, items: Sequence[str], annotators: Sequence[str]) -> Labels:
    """Write labels.csv, items.csv and annotators.csv, sorted, and read them back as `reproduce` does.

    items, annotators: names by number. Raises InvalidData if two names are the same.
    """
    if (data.positions < 0).any():
        raise InvalidData("the order shown is not known for some labels; a run record needs it for every label.")
    item_names, annotator_names = [encode_name(name) for name in items], [encode_name(name) for name in annotators]
    folder.mkdir(parents=True, exist_ok=True)
    marks = [name for name in ("grade", "tied") if _marks(data, name) is not None]
    header = ("annotator", "set", "ranks", "weight", *marks)
    _write(folder / "labels.csv", header, _rows(data, item_names, annotator_names))
    _write_features(folder / "items.csv", "item", item_names, data.item_features)
    _write_features(folder / "annotators.csv", "annotator", annotator_names, data.annotator_features)
    return _read_labels(folder)


def write_counts(folder: Path, data: CountCells, items: Sequence[str], annotators: Sequence[str]) -> Counts:
    """Write counts.csv, items.csv and annotators.csv, sorted, and read them back as `reproduce` does.

    items, annotators: names by number. Raises InvalidData if two names are the same.
    """
    item_names, annotator_names = [encode_name(name) for name in items], [encode_name(name) for name in annotators]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "counts.csv", COUNTS, count_rows(data, item_names, annotator_names))
    _write_features(folder / "items.csv", "item", item_names, None)
    _write_features(folder / "annotators.csv", "annotator", annotator_names, None)
    return _read_counts(folder)


def write_record(
    folder: Path,
    data: Comparisons | CountCells,
    items: Sequence[str],
    annotators: Sequence[str],
    spec: FitSpec,
    *,
    about: Mapping[str, Any],
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a run record into `folder`, with one fit; return the content of record.json. about: further entries of it.

    record.json is written last: a folder without it is not a record. Raises what the estimator raises.
    """
    labels: Labels | Counts
    if isinstance(data, CountCells):
        labels = write_counts(folder, data, items, annotators)
    else:
        labels = write_labels(folder, data, items, annotators)
    predicted = {encode_name(one): encode_name(other) for one, other in sorted(spec.predicted.items())}
    spec = replace(spec, unranked=sorted(encode_name(name) for name in spec.unranked), predicted=predicted)
    fit = fit_cold(labels, spec, progress)
    _write(folder / "ranking.csv", COLUMNS, ([_exact(value) for value in row] for row in fit.rows))
    if fit.predicted:
        _write(folder / "predicted.csv", COLUMNS, ([_exact(value) for value in row] for row in fit.predicted))
    record = {
        "format": FORMAT,
        "about": dict(about),
        **asdict(spec),
        "data_hash": labels.data.data_hash(),
        "n_labels": labels.data.n_labels,
        "n_items": labels.data.n_items,
        "n_annotators": labels.data.n_annotators,
        "environment": describe_environment(),
        "converged": fit.diagnostics.converged,
        "n_iterations": fit.diagnostics.n_iterations,
        "seconds": fit.diagnostics.seconds,
        "hyperparameters": {name: value for name, value in fit.hyperparameters.items() if np.isfinite(value)},
    }
    write_json(folder / "record.json", record)
    return record


def read_record(folder: Path) -> tuple[dict[str, Any], FitSpec, Labels | Counts, list[dict[str, str]]]:
    """Read (record.json, spec, labels, rows of ranking.csv). Raises InvalidData if incomplete or changed."""
    try:
        record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        with (folder / "ranking.csv").open(encoding="utf-8", newline="") as file:
            ranking = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidData(f"{folder} is not a run record: {error}. Unpack the .zip and give its folder.") from error
    if record.get("format") != FORMAT:
        raise InvalidData(f"{folder} has format {record.get('format')!r}; this version reads format {FORMAT}.")
    names = ("estimator", "settings", "seed", "level", "k", "unranked")
    missing = [name for name in (*names, "data_hash", "environment") if name not in record]
    if missing or record["estimator"] not in ESTIMATORS | COUNT_ESTIMATORS:
        what = f"lacks {', '.join(missing)}" if missing else f"has an unknown estimator: {record['estimator']!r}"
        raise InvalidData(f"{folder / 'record.json'} {what}; it has been changed, or a newer version wrote it.")
    of_counts = record["estimator"] in COUNT_ESTIMATORS
    labels: Labels | Counts = _read_counts(folder) if of_counts else _read_labels(folder)
    if labels.data.data_hash() != record["data_hash"]:
        raise InvalidData(
            f"the labels in {folder} are not those of record.json: their hash is {labels.data.data_hash()}, "
            f"not {record['data_hash']}. A file has been changed."
        )
    spec = FitSpec(**{name: record[name] for name in names}, predicted=record.get("predicted", {}))
    return record, spec, labels, ranking


def read_predicted(folder: Path) -> list[dict[str, str]]:
    """Read the rows of predicted.csv; none where a record has no such file. Raises InvalidData."""
    path = folder / "predicted.csv"
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidData(f"{path} cannot be read: {error}.") from error


def fit_cold(labels: Labels | Counts, spec: FitSpec, progress: Progress | None = None) -> ColdFit:
    """Fit from a cold start. Raises what the estimator raises, and InvalidData for what cannot be predicted."""
    estimator: Any = build_estimator(estimator_class(spec.estimator), spec.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # reported in record.json
        posterior = estimator.fit(labels.data, rng=np.random.default_rng(spec.seed), progress=progress)
    ranked = ~np.isin(np.array(labels.items), np.array(list(spec.unranked), dtype=str))
    rng = np.random.default_rng(spec.seed)
    rows = ranking_rows(posterior, labels.data, labels.items, level=spec.level, k=spec.k, rng=rng, ranked=ranked)
    predicted: list[CsvRow] = []
    if isinstance(labels, Labels):
        options = (spec.level, spec.k, spec.seed)
        predicted = predicted_rows(posterior, labels, spec.predicted, ranked, *options)
    return ColdFit(list(rows), predicted, posterior.diagnostics, posterior.hyperparameters())


def _read_labels(folder: Path) -> Labels:
    items, annotators = read_features(folder / "items.csv"), read_features(folder / "annotators.csv")
    return read_labels(folder / "labels.csv", items=items, annotators=annotators)


def _read_counts(folder: Path) -> Counts:
    items, annotators = read_features(folder / "items.csv"), read_features(folder / "annotators.csv")
    return read_counts(folder / "counts.csv", items=items, annotators=annotators)


def _rows(data: Comparisons, items: Sequence[str], annotators: Sequence[str]) -> list[tuple[str, ...]]:
    names = np.array(items, dtype=object)[data.items]
    order = np.lexsort((data.positions, data.rows))
    names, ranks, starts = names[order], data.ranks[order], data.starts.tolist()
    found = [_marks(data, name) for name in ("grade", "tied")]
    marks = [kept.tolist() for kept in found if kept is not None]
    more = zip(*marks, strict=True) if marks else [()] * data.n_labels
    return sorted(
        (
            annotators[who],
            ";".join(names[start:end]),
            ";".join(map(str, ranks[start:end].tolist())),
            repr(weight),
            *(str(int(mark)) for mark in marked),
        )
        for who, start, end, weight, marked in zip(
            data.annotators.tolist(), starts[:-1], starts[1:], data.weights.tolist(), more, strict=True
        )
    )


def _marks(data: Comparisons, column: str) -> NDArray | None:
    """Return a column of labels.csv that only some data have; None where these have none."""
    return data.grades if column == "grade" else data.tied


def _write_features(path: Path, what: str, names: Sequence[str], features: NDArray | None) -> None:
    if len(set(names)) < len(names):
        raise InvalidData(f"two {what}s have the same name; a run record needs a different name for each.")
    width = 0 if features is None else features.shape[1]
    values = np.zeros((len(names), 0)) if features is None else features
    rows = sorted((name, *map(repr, row)) for name, row in zip(names, values.tolist(), strict=True))
    _write(path, (what, *feature_columns(width)), rows)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    os.replace(part, path)


def _exact(value: Any) -> Any:
    """Format a number as the shortest text that reads back as the same number."""
    return repr(float(value)) if isinstance(value, float) else value
