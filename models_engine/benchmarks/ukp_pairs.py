"""Which argument convinces more (UKPConvArg1): held-out log loss of win, tie and loss, and seconds of a fit."""

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
from models_engine.benchmarks.facts import facts
from models_engine.benchmarks.fits import Cost, differences, estimator_names, fit_at_cost, in_own_processes
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior

__all__ = ["BASE_RATE", "Row", "base_rate_loss", "clustered", "folds_of", "main", "run", "subset"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
HoldOut = Literal["labels", "pairs"]
BASE_RATE = "base rate"
REFERENCE = "BradleyTerry"
N_FOLDS = 5


@dataclass(frozen=True)
class Row:
    """One way to predict. loss: mean of -log P(answer) over the labels held out, each once, in nats.
    over: per baseline, its loss minus this one and the standard error over topics.   cost: of a fit to all labels."""

    predictor: str
    loss: float
    over: dict[str, tuple[float, float]]
    cost: Cost | None


def folds_of(data: Comparisons, hold_out: HoldOut, seed: int) -> Ints:
    """(n_labels,) the fold each label is held out in: labels at random, or all labels of a pair together."""
    rng = np.random.default_rng(seed)
    if hold_out == "labels":
        return np.asarray(rng.permutation(data.n_labels) % N_FOLDS)
    pairs = data.pairs()
    key = np.minimum(pairs.left, pairs.right) * data.n_items + np.maximum(pairs.left, pairs.right)
    _, which = np.unique(key, return_inverse=True)
    return np.asarray((rng.permutation(which.max() + 1) % N_FOLDS)[which.ravel()])


def subset(data: Comparisons, kept: NDArray[np.bool_]) -> Comparisons:
    """The kept labels, over the same items and annotators; every label is a pair."""
    pairs = data.pairs()
    columns = (pairs.left[kept], pairs.right[kept], pairs.outcome[kept], pairs.annotator[kept])
    return Comparisons.from_pairs(*columns, n_items=data.n_items, n_annotators=data.n_annotators)


def base_rate_loss(train: Comparisons, test: Comparisons) -> Floats:
    """(n_test,) -log of the share that the answer (left, tie, right) has among the training labels."""
    share = np.bincount((2 * train.pairs().outcome).astype(int), minlength=3) / train.n_labels
    return np.asarray(-np.log(share[(2 * test.pairs().outcome).astype(int)]))


def clustered(differences: Floats, cluster: Ints) -> tuple[float, float]:
    """(mean, standard error) of differences (n,) that may depend on each other within clusters (n,), not across."""
    mean = differences.mean()
    totals = np.bincount(cluster, differences - mean)
    n = len(np.unique(cluster))
    return float(mean), float(np.sqrt((totals**2).sum() * n / (n - 1)) / len(differences))


def _cost(task: tuple[str, str]) -> Cost:
    folder, name = task
    return fit_at_cost(ESTIMATORS[name].estimator(), read_ukp(Path(folder))[0])[1]


def run(folder: Path, names: Sequence[str], hold_out: HoldOut, seed: int, n_folds: int = N_FOLDS) -> list[Row]:
    """The constant base rate first, then the named estimators with their default settings; the first n_folds folds."""
    data, topics = read_ukp(folder)
    fold = folds_of(data, hold_out, seed)
    costs = dict(zip(names, in_own_processes(_cost, [(str(folder), name) for name in names]), strict=True))
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
        over = {other: clustered(losses[other][scored] - loss, topic) for other in baselines}
        rows.append(Row(name, float(loss.mean()), over, costs.get(name)))
    return rows


def _quietly_fitted(name: str, data: Comparisons) -> BasePosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the table says it of the fit to all labels
        return ESTIMATORS[name].estimator().fit(data)


def table(rows: Sequence[Row]) -> str:
    """One line per predictor."""
    lines = [
        f"{'':<16}{'log loss':>10}{'under base rate':>20}{'under ' + REFERENCE:>20}"
        f"{'wall s':>9}{'CPU s':>8}{'peak MiB':>10}"
    ]
    for row in rows:
        line = f"{row.predictor:<16}{row.loss:>10.4f}"
        line += differences(row.over, (BASE_RATE, REFERENCE)) + (row.cost.columns() if row.cost else "")
        lines.append(line.rstrip())
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks ukp-pairs", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of ukpconvarg1")
    parser.add_argument("--estimators", default="BradleyTerry,CrowdBT", help="names, separated by commas")
    parser.add_argument("--hold-out", choices=["labels", "pairs"], default="labels", help="single, or whole pairs")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    parser.add_argument(
        "--folds", type=int, choices=range(1, N_FOLDS + 1), default=N_FOLDS, help="how many to hold out"
    )
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    names = estimator_names(options.estimators)
    data, topics = read_ukp(options.data)
    rows = run(options.data, names, options.hold_out, options.seed, options.folds)
    known: dict[str, Any] = {"labels": data.n_labels, "arguments": data.n_items, "annotators": data.n_annotators}
    known |= {
        "topics": int(topics.max()) + 1,
        "ties": round(data.pairs().tie_rate(), 4),
        "folds": f"{options.folds} of {N_FOLDS}",
    }
    known |= {"hold-out": options.hold_out, "seed": options.seed, "measured": facts()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print("seconds and memory are of one fit to all labels; ± is the standard error of the mean over topics")
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "rows": [asdict(row) for row in rows]}, indent=1))
    return 0
