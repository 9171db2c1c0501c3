"""Classes of simulated crowds: how many there are, how alike their items truly are, how well classes are ordered."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.classes import RankClasses, rank_classes
from models_engine.analysis.tiers import assign_tiers
from models_engine.benchmarks.machine import describe_machine
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.posterior import BasePosterior
from models_engine.simulate import simulate_crowd

__all__ = ["ClassesResult", "main", "measure"]

MIN_CLEAR_DIFFERENCE = 1.0  # logits: the better of two is preferred in 73 of 100 answers


@dataclass(frozen=True)
class ClassesResult:
    """One simulated crowd. Shares of pairs of items; nan where there is no such pair.

    n_classes, n_tiers: how many.   alike: of two items of one class, |difference| below MIN_CLEAR_DIFFERENCE.
    first_right: the first item of a class truly above the first item of the next.
    next_right, others_right: items of neighbouring classes, and of classes further apart, truly in that order.
    maybe: items that may belong to a higher class.
    """

    per_item: int
    seed: int
    n_classes: int
    n_tiers: int
    alike: float
    first_right: float
    next_right: float
    others_right: float
    maybe: float


def measure(n_items: int, per_item: int, utility_sd: float, seed: int) -> ClassesResult:
    """Simulate pairs with a mean number of comparisons per item, fit, and compare the classes with the truth."""
    rng = np.random.default_rng([seed, n_items, per_item])
    people = simulate_crowd(rng, n_items, 20, utility_sd=utility_sd)
    fit: BasePosterior = BradleyTerry(prior_sd=None, inference="map").fit(people.pairs(n_items * per_item // 2, rng))
    ranks = fit.rank_summary(rng=rng)
    order = np.argsort(ranks.rank)
    found = rank_classes(fit, ranks)
    return ClassesResult(
        per_item,
        seed,
        int(found.number.max()),
        int(assign_tiers(fit, order).max()),
        *shares(found, people.utilities, order),
    )


def shares(found: RankClasses, truth: NDArray[np.float64], order: NDArray[np.int64]) -> tuple[float, ...]:
    """Return (alike, first_right, next_right, others_right, maybe), see ClassesResult."""
    number, worth = found.number[order], truth[order]
    high, low = np.triu_indices(len(order), 1)
    apart, right = number[low] - number[high], worth[high] > worth[low]
    first = np.flatnonzero(np.diff(number, prepend=0))
    alike = np.abs(worth[high] - worth[low]) < MIN_CLEAR_DIFFERENCE
    return (
        _share(alike[apart == 0]),
        _share(np.diff(worth[first]) < 0),
        _share(right[apart == 1]),
        _share(right[apart > 1]),
        _share(found.highest < found.number),
    )


def _share(flags: NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else float("nan")


def format_table(found: Sequence[ClassesResult]) -> str:
    """Return means over the crowds of each number of comparisons."""
    names = ("n_classes", "n_tiers", "alike", "first_right", "next_right", "others_right", "maybe")
    titles = (
        "classes",
        "tiers",
        f"alike (<{MIN_CLEAR_DIFFERENCE:g})",
        "first right",
        "next right",
        "others right",
        "maybe higher",
    )
    lines = [f"{'comparisons':<12}" + "".join(f"{title:>15}" for title in titles)]
    for per_item in dict.fromkeys(one.per_item for one in found):
        rows = np.array([[getattr(one, name) for name in names] for one in found if one.per_item == per_item])
        known = [column[np.isfinite(column)] for column in rows.T]
        means = [column.mean() if len(column) else np.nan for column in known]
        lines.append(f"{per_item:<12}" + "".join(f"{mean:>15.3f}" for mean in means))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks classes", description=__doc__)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--comparisons", default="10,20,40,80,160", help="of each item, separated by commas")
    parser.add_argument("--utility-sd", type=float, default=1.5)
    parser.add_argument("--crowds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    found = [
        measure(options.items, int(per_item), options.utility_sd, seed)
        for per_item in options.comparisons.split(",")
        for seed in range(options.seed, options.seed + options.crowds)
    ]
    known = {
        "items": options.items,
        "utility sd": options.utility_sd,
        "crowds": options.crowds,
        "measured": describe_machine(),
    }
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print(format_table(found))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "found": [asdict(one) for one in found]}, indent=1))
        print(f"written to {options.json}", file=sys.stderr)
    return 0
