"""Writes a fit to ranking.csv (ranked within each connected part), annotators.csv and fit.json."""

import csv
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine import __version__
from models_engine.data import Comparisons
from models_engine.estimators.count_posterior import CountPosterior
from models_engine.inference.counts.cells import CountCells
from models_engine.io.count_tables import ANNOTATORS as COUNT_ANNOTATORS
from models_engine.io.count_tables import Counts, annotator_rows
from models_engine.io.label_tables import Labels
from models_engine.linalg import sum_by_group
from models_engine.posterior import BasePosterior

__all__ = [
    "consensus_agreement",
    "cut_point_rows",
    "fit_record",
    "ranking_rows",
    "write_csv",
    "write_fit",
    "write_json",
]

RANKING = ("item", "utility", "sd", "low", "high", "rank", "rank_low", "rank_high", "p_top_k", "n_comparisons")
ANNOTATORS = ("annotator", "n_labels", "agreement")
FIGURES = ("reliability", "reliability_sd", "taste_distance", "taste_distance_sd", "side_bias", "side_bias_sd")


def write_fit(
    folder: Path,
    labels: Labels | Counts,
    posterior: BasePosterior,
    record: Mapping[str, Any],
    *,
    level: float,
    k: int,
    seed: int,
) -> None:
    """Write ranking.csv, annotators.csv and fit.json into `folder`; each is written completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = labels.data.connected_parts()
    many = bool(parts.max(initial=0) > 0)
    header = (*RANKING, "part") if many else RANKING
    rows = ranking_rows(posterior, labels.data, labels.items, level=level, k=k, rng=np.random.default_rng(seed))
    write_csv(folder / "ranking.csv", header, (row if many else row[:-1] for row in rows))
    if isinstance(labels, Labels):
        write_csv(folder / "annotators.csv", (*ANNOTATORS, *FIGURES), _annotator_rows(posterior, labels))
    elif isinstance(posterior, CountPosterior):
        write_csv(folder / "annotators.csv", COUNT_ANNOTATORS, annotator_rows(posterior, labels))
    write_json(folder / "fit.json", record)


def ranking_rows(
    posterior: BasePosterior,
    data: Comparisons | CountCells,
    names: Sequence[str],
    *,
    level: float,
    k: int,
    rng: np.random.Generator,
    ranked: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of RANKING plus the number of the part, best first within each connected part, the largest part first.

    Utilities, intervals and ranks refer to the part: items of different parts are not comparable.
    ranked (n_items,): which items are ranked at all; None for all.
    """
    parts, compared = data.connected_parts(ranked), data.n_comparisons()
    reach = float(ndtri((1 + level) / 2))
    members = np.argsort(parts, kind="stable")
    for items in np.split(members, np.flatnonzero(np.diff(parts[members])) + 1):
        items = items if ranked is None else items[ranked[items]]
        if not len(items):
            continue
        own = posterior if len(items) == posterior.n_items else posterior.restrict(items)
        mean, sd = own.utilities(), own.standard_deviations()
        ranks = own.rank_summary(level, k, rng=rng)
        for at in np.argsort(ranks.rank):
            item = int(items[at])
            interval = (mean[at] - reach * sd[at], mean[at] + reach * sd[at])
            place = (int(ranks.rank[at]), int(ranks.low[at]), int(ranks.high[at]), ranks.p_top_k[at])
            yield (names[item], mean[at], sd[at], *interval, *place, int(compared[item]), int(parts[item]) + 1)


def consensus_agreement(posterior: BasePosterior, data: Comparisons) -> NDArray[np.float64]:
    """Return the share, by weight, of each annotator's untied pairs that agree with the consensus; nan for none."""
    pairs = data.pairs()
    mean = posterior.utilities()
    towards = (mean[pairs.left] - mean[pairs.right]) * (pairs.outcome - 0.5)
    weight = pairs.weight * (pairs.outcome != 0.5)
    agreed = sum_by_group(pairs.annotator, weight * (1 + np.sign(towards)) / 2, data.n_annotators)
    total = sum_by_group(pairs.annotator, weight, data.n_annotators)
    return np.divide(agreed, total, out=np.full(data.n_annotators, np.nan), where=total > 0)


def _annotator_rows(posterior: BasePosterior, labels: Labels) -> Iterator[tuple[Any, ...]]:
    counts = np.bincount(labels.data.annotators, minlength=labels.data.n_annotators)
    agreed = consensus_agreement(posterior, labels.data)
    figures = posterior.annotator_summary().to_arrays()
    for number, name in enumerate(labels.annotators):
        known = (figures[column][number] if column in figures else "" for column in FIGURES)
        yield (name, int(counts[number]), agreed[number], *known)


def fit_record(
    labels: Labels | Counts,
    posterior: BasePosterior,
    *,
    estimator: str,
    settings: Mapping[str, Any],
    seed: int,
    level: float,
    k: int,
) -> dict[str, Any]:
    """Return what is needed to repeat the fit and to assess it."""
    data = labels.data
    return {
        "estimator": estimator,
        "settings": dict(settings),
        "seed": seed,
        "level": level,
        "top_k": k,
        "version": __version__,
        "libraries": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "data_hash": data.data_hash(),
        "n_items": data.n_items,
        "n_annotators": data.n_annotators,
        "n_labels": data.n_labels,
        "n_parts": int(data.connected_parts().max(initial=0)) + 1,
        "refused_rows": labels.refused,
        "likelihood": asdict(posterior.likelihood),
        "cut_points": cut_point_rows(posterior, level),
        "diagnostics": asdict(posterior.diagnostics),
    }


def cut_point_rows(posterior: BasePosterior, level: float) -> list[dict[str, float]]:
    """Return the cut points of graded answers with their intervals; `below` is the grade (0: a tie) that ends there."""
    likelihood, reach = posterior.likelihood, float(ndtri((1 + level) / 2))
    pairs = zip(likelihood.cuts or (), likelihood.cut_sds or (), strict=True)
    return [
        {"below": grade, "cut": cut, "low": max(0.0, cut - reach * sd), "high": cut + reach * sd}
        for grade, (cut, sd) in enumerate(pairs)
        if cut > 0
    ]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file completely or not at all: numbers to 9 significant digits, nan as an empty cell."""
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)
    os.replace(part, path)


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write a JSON file completely or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(part, path)


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.9g}"
    return value
