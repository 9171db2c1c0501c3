"""Compares rankings with ties with the same rankings whose ties are broken by lot: held-out log loss, intervals."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.analysis.metrics import mean_width
from models_engine.benchmarks.competitor_data import read_wmt13
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.base import Estimator
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.posterior import BasePosterior

__all__ = ["Row", "break_ties", "main", "run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ESTIMATORS: dict[str, Estimator] = {
    "BradleyTerry": BradleyTerry(prior_sd=None, inference="auto"),
    "PlackettLuce": PlackettLuce(),
}
N_SPLITS = 20


@dataclass(frozen=True)
class Row:
    """One estimator, ties kept or broken by lot. loss: nats a held-out weak order, items of equal rank in any order.
    pairs: nats a held-out pair of win, tie and loss.   width: mean of 90% intervals.   coverage: share of the items
    whose scores from two halves of the segments differ by less than both errors allow in 90%.
    """

    estimator: str
    ties: str
    loss: float
    pairs: float
    width: float
    coverage: float


def break_ties(data: Comparisons, rng: np.random.Generator) -> Comparisons:
    """Return the rankings with equal ranks in an order drawn by lot."""
    groups = data.groups()
    sets = {int(label): group.items[row] for group in groups for row, label in enumerate(group.label)}
    ranks = {
        int(label): np.argsort(np.lexsort((rng.random(group.size), group.ranks[row])))
        for group in groups
        for row, label in enumerate(group.label)
    }
    labels = range(data.n_labels)
    counts = {"n_items": data.n_items, "n_annotators": data.n_annotators}
    who = data.annotators
    return Comparisons.from_ranks([ranks[one] for one in labels], [sets[one] for one in labels], who, **counts)


def pool(folder: Path) -> tuple[Comparisons, Ints]:
    """Return rankings of systems, with ties, whatever the segment; and the segment of each label."""
    contest = read_wmt13(folder)
    data, n = contest.data, contest.table.n_competitors
    shape = (data.n_labels, -1)
    systems, ranks = (data.items % n).reshape(shape), data.ranks.reshape(shape)
    return Comparisons.from_ranks(ranks, systems, data.annotators, n_items=n, tied=True), contest.context


def loss_of_pairs(posterior: BasePosterior, data: Comparisons, tie_rate: float) -> float:
    """Return the mean loss of the implied pairs; where ties have no chance of their own, theirs is the rate."""
    pairs = data.pairs()
    asked = Comparisons.from_pairs(pairs.left, pairs.right, pairs.outcome, n_items=data.n_items)
    if posterior.likelihood.tie is not None:
        return float(-posterior.log_predictive(asked).mean())
    tied = pairs.outcome == 0.5
    chance = posterior.pairwise_probabilities(pairs.left, pairs.right)
    win = np.log(np.where(pairs.outcome == 1, chance, 1 - chance)) + np.log1p(-tie_rate)
    return float(-np.where(tied, np.log(tie_rate), win).mean())


def measure(data: Comparisons, segment: Ints, estimator: Estimator, how: str, n_splits: int) -> Row:
    """Fit four fifths of the segments, predict the others; then halves of the segments, n_splits times."""
    used = data if how == "kept" else break_ties(data, np.random.default_rng(1))
    rng = np.random.default_rng(0)  # the same segments are left out, and the same halves taken, either way
    out = (rng.permutation(int(segment.max()) + 1) % 5 == 0)[segment]
    fitted, rate = estimator.fit(used.subset(~out)), data.subset(~out).pairs().tie_rate()
    tested = data.subset(out)
    reach, inside = ndtri(0.95), []
    for _ in range(n_splits):
        half = (rng.random(int(segment.max()) + 1) < 0.5)[segment]
        one, other = estimator.fit(used.subset(half)), estimator.fit(used.subset(~half))
        error = np.hypot(one.standard_deviations(), other.standard_deviations())
        inside.append(np.abs(one.utilities() - other.utilities()) <= reach * error)
    loss = float(-fitted.log_predictive(tested).mean())
    pairs, width = loss_of_pairs(fitted, tested, rate), mean_width(estimator.fit(used))
    return Row(type(estimator).__name__, how, loss, pairs, width, float(np.mean(inside)))


def run(folder: Path, n_splits: int = N_SPLITS) -> list[Row]:
    """Measure both estimators with ties kept and with ties broken by lot."""
    data, segment = pool(folder)
    return [measure(data, segment, one, how, n_splits) for one in ESTIMATORS.values() for how in ("kept", "by lot")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks weak-orders", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the WMT 2013 rankings")
    parser.add_argument("--splits", type=int, default=N_SPLITS, help="halves of the segments (default 20)")
    options = parser.parse_args(arguments)
    try:
        rows = run(options.data, options.splits)
    except InvalidData as error:
        print(f"WMT 2013: left out. {error}")
        return 0
    print(f"{'':<16}{'ties':<8}{'weak order':>11}{'pair':>8}{'width':>8}{'coverage':>10}")
    for row in rows:
        print(
            f"{row.estimator:<16}{row.ties:<8}{row.loss:>11.4f}{row.pairs:>8.4f}{row.width:>8.3f}{row.coverage:>10.3f}"
        )
    return 0
