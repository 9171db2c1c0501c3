"""What half of a real crowd says of its reliability, against what the other half then answers (readability, UKP)."""

import argparse
import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.reliability import scale_separation, split_half
from models_engine.benchmarks.crowd_data import read_readability, read_ukp
from models_engine.benchmarks.fits import map_in_processes, parse_estimator_names
from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.table import ESTIMATORS

__all__ = ["Row", "Said", "check_halves", "main", "read_crowds", "run"]

Floats = NDArray[np.float64]
CROWDS = ("readability", "ukp")
N_INNER = 10  # splits of a half into quarters


@dataclass(frozen=True)
class Said:
    """One measure's mean value and mean ends of its interval.

    inside: the share of halves whose interval holds the correlation of their utilities with the other half's.
    """

    value: float
    low: float
    high: float
    inside: float


@dataclass(frozen=True)
class Row:
    """One data set by one estimator, means over its crowds and splits.

    ssr, split: of all answers; their `inside` is how often the one's interval holds the other's value.
    found: correlation of the two halves.   ssr_of_half, split_of_half: of one half of the annotators, which say what it
    should be.
    """

    data: str
    estimator: str
    n_crowds: int
    n_labels: int
    ssr: Said
    split: Said
    found: float
    ssr_of_half: Said
    split_of_half: Said


def read_crowds(folder: Path, name: str) -> list[Comparisons]:
    """Read readability as one crowd, or UKPConvArg1 as one for each topic, over the items compared in it."""
    if name == "readability":
        return [_close_up(read_readability(folder)[0])]
    labels, topics = read_ukp(folder)
    of_label = topics[labels.pairs().left]
    return [_close_up(labels.subset(of_label == topic)) for topic in np.unique(of_label)]


def _close_up(data: Comparisons) -> Comparisons:
    pairs = data.pairs()
    items, place = np.unique(np.r_[pairs.left, pairs.right], return_inverse=True)
    left, right = np.split(place.ravel(), 2)
    return Comparisons.from_pairs(left, right, pairs.outcome, pairs.annotator, n_items=len(items))


def check_whole(data: Comparisons, estimator: Estimator) -> Floats:
    """Return (2, 4): SSR and split halves of all answers, each value, low, high, and whether it holds the other."""
    ssr, split = scale_separation(estimator.fit(data)), split_half(data, estimator=estimator)
    by_fit = _line(ssr.value, ssr.low, ssr.high, split.full)
    return np.array([by_fit, _line(split.full, split.low, split.high, ssr.value)])


def check_halves(
    data: Comparisons, estimator: Estimator, n_splits: int, seed: int, n_inner: int = N_INNER
) -> tuple[float, Floats]:
    """Return (correlation found, (2, 4): SSR and split halves of a half, each value, low, high, held), means.

    Annotators are cut into two random halves n_splits times. By each half alone its reliability is computed, which is
    what the correlation with a like half should be, and compared with the correlation found.
    """
    rng, found, lines = np.random.default_rng(seed), [], []
    people = np.unique(data.annotators)
    for _ in range(n_splits):
        inside = np.isin(data.annotators, rng.permutation(people)[: len(people) // 2])
        halves = data.subset(inside), data.subset(~inside)
        fits = [estimator.fit(half) for half in halves]
        both = np.flatnonzero(np.all([half.n_comparisons() > 0 for half in halves], axis=0))
        one, other = (fit.utilities()[both] for fit in fits)
        found.append(float(np.corrcoef(one, other)[0, 1]))
        for half, fit in zip(halves, fits, strict=True):
            ssr = scale_separation(fit.restrict(both))
            split = split_half(half, estimator=estimator, n_splits=n_inner, rng=rng)
            lines.append(
                [
                    _line(ssr.value, ssr.low, ssr.high, found[-1]),
                    _line(split.full, split.low, split.high, found[-1]),
                ]
            )
    return float(np.mean(found)), np.mean(lines, axis=0)


def _line(value: float, low: float, high: float, other: float) -> Floats:
    return np.array([value, low, high, low <= other <= high])


def _work(task: tuple[str, str, str, int, int]) -> Row:
    folder, name, estimator_name, n_splits, seed = task
    crowds, estimator = read_crowds(Path(folder), name), ESTIMATORS[estimator_name].estimator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        whole = np.mean([check_whole(crowd, estimator) for crowd in crowds], axis=0)
        parts = [check_halves(crowd, estimator, n_splits, seed + n) for n, crowd in enumerate(crowds)]
    half = np.mean([lines for _, lines in parts], axis=0)
    figures = [Said(*(float(value) for value in line)) for line in (*whole, *half)]
    found = float(np.mean([value for value, _ in parts]))
    n_labels = sum(crowd.n_labels for crowd in crowds)
    return Row(name, estimator_name, len(crowds), n_labels, figures[0], figures[1], found, figures[2], figures[3])


def run(folder: Path, names: Sequence[str], estimators: Sequence[str], n_splits: int, seed: int) -> list[Row]:
    """Check the named data sets by each estimator."""
    tasks = [(str(folder), name, estimator, n_splits, seed) for name in names for estimator in estimators]
    return list(map_in_processes(_work, tasks))


def format_table(rows: Sequence[Row]) -> str:
    """Format four lines for each data set and estimator: what is said, its interval, how often that holds."""
    lines = [f"{'':<44}{'value':>8}{'90% interval':>16}{'holds':>8}"]
    for row in rows:
        lines.append(f"{row.data}, {row.estimator}: {row.n_labels} labels in {row.n_crowds} crowds")
        lines += [
            _format("scale separation, all answers", row.ssr),
            _format("split halves, all answers", row.split),
            f"{'  correlation of two halves':<44}{row.found:>8.3f}",
            _format("scale separation of one half", row.ssr_of_half),
            _format("split halves of one half", row.split_of_half),
        ]
    return "\n".join(lines)


def _format(what: str, figure: Said) -> str:
    return f"{'  ' + what:<44}{figure.value:>8.3f}{f'{figure.low:.3f} to {figure.high:.3f}':>16}{figure.inside:>8.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks reliability", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of readability_crowd and ukpconvarg1")
    parser.add_argument("--sets", default=",".join(CROWDS), help="readability, ukp or both (default)")
    parser.add_argument("--estimators", default="BradleyTerry,CrowdBT", help="names, separated by commas")
    parser.add_argument("--splits", type=int, default=20, help="splits of each crowd into halves (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the splits (default 0)")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    sets, estimators = options.sets.split(","), parse_estimator_names(options.estimators)
    if not set(sets) <= set(CROWDS):
        raise InvalidData(f"there is no set {options.sets!r}; choose from {', '.join(CROWDS)}.")
    for name in sets:
        read_crowds(options.data, name)  # what is missing is said before anything is computed
    rows = run(options.data, sets, estimators, options.splits, options.seed)
    known = {"splits": options.splits, "seed": options.seed, "measured": describe_machine()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print(format_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "rows": [asdict(row) for row in rows]}, indent=1))
    return 0
