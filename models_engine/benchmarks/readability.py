"""Which of two texts is harder to read: rankings by a crowd against the texts' grade levels (Chen et al. 2013)."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.metrics import auc_unequal_grades, spearman
from models_engine.benchmarks.crowd_data import read_readability
from models_engine.benchmarks.fits import Cost, format_differences, map_in_processes, measure_fit, parse_estimator_names
from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.estimators.table import ESTIMATORS
from models_engine.linalg import sum_by_group

__all__ = ["WIN_RATES", "Row", "bootstrap_difference", "compute_win_rates", "main"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WIN_RATES = "win rates"
REFERENCE = "BradleyTerry"


@dataclass(frozen=True)
class Row:
    """One ranking. auc: over all pairs of documents of unequal grade.   over: by baseline, the difference in auc and
    its bootstrap standard error over documents.   cost: of the fit, None for win rates."""

    ranking: str
    auc: float
    spearman: float
    over: dict[str, tuple[float, float]]
    cost: Cost | None


def compute_win_rates(data: Comparisons) -> Floats:
    """Return the share of an item's pairs that it won, (n_items,), ties half; 1/2 for an item without pairs."""
    pairs, n = data.pairs(), data.n_items
    won = sum_by_group(pairs.left, pairs.weight * pairs.outcome, n) + sum_by_group(
        pairs.right, pairs.weight * (1 - pairs.outcome), n
    )
    count = sum_by_group(pairs.left, pairs.weight, n) + sum_by_group(pairs.right, pairs.weight, n)
    return np.divide(won, count, out=np.full(n, 0.5), where=count > 0)


def bootstrap_difference(
    score: Floats, other: Floats, grades: Ints, n_draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return (difference of two AUCs, its bootstrap standard error over documents)."""

    def difference(rows: Ints) -> float:
        own = auc_unequal_grades(score[rows], grades[rows])
        return own - auc_unequal_grades(other[rows], grades[rows])

    n = len(grades)
    draws = [difference(rng.integers(n, size=n)) for _ in range(n_draws)]
    return difference(np.arange(n)), float(np.std(draws, ddof=1))


def _fit(task: tuple[str, str]) -> tuple[Floats, Cost]:
    folder, name = task
    posterior, cost = measure_fit(ESTIMATORS[name].estimator(), read_readability(Path(folder))[0])
    return posterior.utilities(), cost


def run(folder: Path, names: Sequence[str], seed: int, n_draws: int) -> list[Row]:
    """Rank by win rates, then by the named estimators with default settings."""
    data, grades = read_readability(folder)
    plain = compute_win_rates(data)
    scores: dict[str, tuple[Floats, Cost | None]] = {WIN_RATES: (plain, None)}
    scores |= zip(names, map_in_processes(_fit, [(str(folder), name) for name in names]), strict=True)
    rows = []
    for name, (score, cost) in scores.items():
        baselines = [other for other in (WIN_RATES, REFERENCE) if other in scores and other != name and cost]
        over = {
            other: bootstrap_difference(score, scores[other][0], grades, n_draws, np.random.default_rng(seed))
            for other in baselines
        }
        rows.append(Row(name, auc_unequal_grades(score, grades), spearman(score, grades), over, cost))
    return rows


def format_table(rows: Sequence[Row]) -> str:
    """Format one line per ranking."""
    lines = [
        f"{'':<16}{'AUC':>8}{'Spearman':>10}{'AUC over win rates':>21}{'over ' + REFERENCE:>20}"
        f"{'wall s':>9}{'CPU s':>8}{'peak MiB':>10}"
    ]
    for row in rows:
        line = f"{row.ranking:<16}{row.auc:>8.4f}{row.spearman:>10.4f} "
        line += format_differences(row.over, (WIN_RATES, REFERENCE)) + (row.cost.columns() if row.cost else "")
        lines.append(line.rstrip())
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks readability", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of readability_crowd")
    parser.add_argument("--estimators", default="BradleyTerry,CrowdBT", help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (default 0)")
    parser.add_argument("--draws", type=int, default=200, help="number of bootstrap samples of documents")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    options = parser.parse_args(arguments)
    names = parse_estimator_names(options.estimators)
    data, _ = read_readability(options.data)
    rows = run(options.data, names, options.seed, options.draws)
    known: dict[str, Any] = {"labels": data.n_labels, "documents": data.n_items, "annotators": data.n_annotators}
    known |= {"seed": options.seed, "draws": options.draws, "measured": describe_machine()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print(format_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "rows": [asdict(row) for row in rows]}, indent=1))
    return 0
