"""Which argument is more convincing (UKPConvArg1): held-out log loss of win, tie and loss, and cost of a fit."""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.crowd_data import read_ukp
from models_engine.benchmarks.fits import Cost, format_differences, map_in_processes, measure_fit, parse_estimator_names
from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior

__all__ = ["BASE_RATE", "PredictorRow", "assign_folds", "base_rate_loss", "cluster_mean", "main", "run", "subset"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
HoldOut = Literal["labels", "pairs"]
BASE_RATE = "base rate"
REFERENCE = "BradleyTerry"
N_FOLDS = 5


@dataclass(frozen=True)
class PredictorRow:
    """One predictor. loss: mean of -log P(answer) over the labels, each held out once, in nats.
    over: by baseline, its loss minus this one and the standard error over topics.   cost: of a fit to all labels."""

    predictor: str
    loss: float
    over: dict[str, tuple[float, float]]
    cost: Cost | None


def assign_folds(data: Comparisons, hold_out: HoldOut, seed: int) -> Ints:
    """Assign each label to a fold, (n_labels,): labels at random, or all labels of a pair together."""
    rng = np.random.default_rng(seed)
    if hold_out == "labels":
        return np.asarray(rng.permutation(data.n_labels) % N_FOLDS)
    pairs = data.pairs()
    key = np.minimum(pairs.left, pairs.right) * data.n_items + np.maximum(pairs.left, pairs.right)
    _, which = np.unique(key, return_inverse=True)
    return np.asarray((rng.permutation(which.max() + 1) % N_FOLDS)[which.ravel()])


def subset(data: Comparisons, kept: NDArray[np.bool_]) -> Comparisons:
    """Select labels over the same items and annotators; every label is a pair."""
    pairs = data.pairs()
    columns = (pairs.left[kept], pairs.right[kept], pairs.outcome[kept], pairs.annotator[kept])
    return Comparisons.from_pairs(*columns, n_items=data.n_items, n_annotators=data.n_annotators)


def base_rate_loss(train: Comparisons, test: Comparisons) -> Floats:
    """Return -log of the answer's share (left, tie, right) among the training labels, (n_test,)."""
    share = np.bincount((2 * train.pairs().outcome).astype(int), minlength=3) / train.n_labels
    return np.asarray(-np.log(share[(2 * test.pairs().outcome).astype(int)]))


def cluster_mean(differences: Floats, cluster: Ints) -> tuple[float, float]:
    """Return (mean, standard error) of differences (n,) that may be dependent within clusters (n,), not between."""
    mean = differences.mean()
    totals = np.bincount(cluster, differences - mean)
    n = len(np.unique(cluster))
    return float(mean), float(np.sqrt((totals**2).sum() * n / (n - 1)) / len(differences))


def _cost(task: tuple[str, str]) -> Cost:
    folder, name = task
    return measure_fit(ESTIMATORS[name].estimator(), read_ukp(Path(folder))[0])[1]


def run(folder: Path, names: Sequence[str], hold_out: HoldOut, seed: int, n_folds: int = N_FOLDS) -> list[PredictorRow]:
    """Evaluate the base rate, then the named estimators with default settings, on the first n_folds folds."""
    data, topics = read_ukp(folder)
    fold = assign_folds(data, hold_out, seed)
    costs = dict(zip(names, map_in_processes(_cost, [(str(folder), name) for name in names]), strict=True))
    losses = {name: np.empty(data.n_labels) for name in (BASE_RATE, *names)}
    for one in range(n_folds):
        train, test = subset(data, fold != one), subset(data, fold == one)
        losses[BASE_RATE][fold == one] = base_rate_loss(train, test)
        for name in names:
            losses[name][fold == one] = -_quietly_fitted(name, train).log_predictive(test)
            print(f"{name}: fold {one + 1} of {n_folds}", file=sys.stderr, flush=True)
    scored = fold < n_folds
    topic = topics[data.pairs().left][scored]
    rows = []
    for name, every in losses.items():
        loss = every[scored]
        baselines = [other for other in (BASE_RATE, REFERENCE) if other in losses and other != name != BASE_RATE]
        over = {other: cluster_mean(losses[other][scored] - loss, topic) for other in baselines}
        rows.append(PredictorRow(name, float(loss.mean()), over, costs.get(name)))
    return rows


def _quietly_fitted(name: str, data: Comparisons) -> BasePosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # reported in the table for the fit to all labels
        return ESTIMATORS[name].estimator().fit(data)


def format_table(rows: Sequence[PredictorRow]) -> str:
    """Format one line per predictor."""
    lines = [
        f"{'':<16}{'log loss':>10}{'under base rate':>20}{'under ' + REFERENCE:>20}"
        f"{'wall s':>9}{'CPU s':>8}{'peak MiB':>10}"
    ]
    for row in rows:
        line = f"{row.predictor:<16}{row.loss:>10.4f}"
        line += format_differences(row.over, (BASE_RATE, REFERENCE)) + (row.cost.columns() if row.cost else "")
        lines.append(line.rstrip())
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks ukp-pairs", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of ukpconvarg1")
    parser.add_argument("--estimators", default="BradleyTerry,CrowdBT", help="names, separated by commas")
    parser.add_argument(
        "--hold-out", choices=["labels", "pairs"], default="labels", help="single labels, or all of a pair"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    parser.add_argument(
        "--folds", type=int, choices=range(1, N_FOLDS + 1), default=N_FOLDS, help="number of folds to hold out"
    )
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    names = parse_estimator_names(options.estimators)
    data, topics = read_ukp(options.data)
    rows = run(options.data, names, options.hold_out, options.seed, options.folds)
    known: dict[str, Any] = {"labels": data.n_labels, "arguments": data.n_items, "annotators": data.n_annotators}
    known |= {
        "topics": int(topics.max()) + 1,
        "ties": round(data.pairs().tie_rate(), 4),
        "folds": f"{options.folds} of {N_FOLDS}",
    }
    known |= {"hold-out": options.hold_out, "seed": options.seed, "measured": describe_machine()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print("seconds and memory are of one fit to all labels; ± is the standard error of the mean over topics")
    print(format_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "rows": [asdict(row) for row in rows]}, indent=1))
    return 0
