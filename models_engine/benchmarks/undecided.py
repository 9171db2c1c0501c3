"""Who is undecided on what: ties of held-out labels predicted from effects of annotators and items."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import poisson

from models_engine.analysis.undecided import count_ties
from models_engine.benchmarks.competitor_data import read_llmfao
from models_engine.benchmarks.crowd_data import read_ukp
from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.effects import fit_effects

__all__ = ["UndecidedRow", "main", "run"]

HELD_OUT = 0.2  # of the labels
FLOORS = {"llmfao": 0.866, "ukpconvarg1": 0.588}


@dataclass(frozen=True)
class UndecidedRow:
    """Mean minus log probability of the ties of an annotator on an item among held-out labels, in nats.

    one_rate, own_rate: predicted from one rate of ties, from one of each annotator. cpu_s: of one fit of effects.
    """

    data: str
    n_cells: int
    one_rate: float
    own_rate: float
    effects: float
    n_splits: int
    cpu_s: float


def read_labels(name: str, folder: Path) -> tuple[Comparisons, int]:
    """Return labels and how many items there are: the models of llmfao, whose item numbers repeat with each prompt, or
    the arguments of ukpconvarg1."""
    if name == "ukpconvarg1":
        data = read_ukp(folder)[0]
        return data, data.n_items
    contest = read_llmfao(folder)
    return contest.data, contest.table.n_competitors


def ties(data: Comparisons, n_items: int) -> CountCells:
    """Return ties by annotator and item, items of the same number modulo n_items added up."""
    cells = count_ties(data)
    return CountCells.from_rows(
        cells.items % n_items,
        cells.annotators,
        cells.counts,
        cells.exposures,
        n_items=n_items,
        n_annotators=data.n_annotators,
    )


def run(name: str, folder: Path, n_splits: int) -> UndecidedRow:
    """Predict the cells of a fifth of the labels from the others, n_splits times."""
    data, n_items = read_labels(name, folder)
    losses, seconds = np.zeros((n_splits, 3)), 0.0
    for split in range(n_splits):
        held = np.random.default_rng(split).random(data.n_labels) < HELD_OUT
        train, test = ties(data.subset(~held), n_items), ties(data.subset(held), n_items)
        began = time.process_time()
        effects = fit_effects(train)
        seconds += time.process_time() - began
        own = fit_effects(alike(train))
        rate = train.counts.sum() / train.exposures.sum()
        nobody = np.zeros_like(test.items)
        losses[split] = [
            -poisson.logpmf(test.counts, rate * test.exposures).mean(),
            -own.log_predictive(nobody, test.annotators, test.counts, test.exposures).mean(),
            -effects.log_predictive(test.items, test.annotators, test.counts, test.exposures).mean(),
        ]
    one, own_rate, both = losses.mean(axis=0)
    return UndecidedRow(name, ties(data, n_items).n_cells, one, own_rate, both, n_splits, seconds / n_splits)


def alike(cells: CountCells) -> CountCells:
    """Return the cells as if there were one item: each annotator's added up."""
    nothing = np.zeros(cells.n_cells, dtype=int)
    return CountCells.from_rows(
        nothing, cells.annotators, cells.counts, cells.exposures, n_annotators=cells.n_annotators
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a floor is missed."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks undecided", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with llmfao and ukpconvarg1")
    parser.add_argument("--splits", type=int, default=1, help="the floors are those of the first")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        for name in FLOORS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows.append(run(name, options.data, options.splits))
    if options.json:
        print(json.dumps({"machine": describe_machine(), "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print(f"{'data':<14}{'cells':>8}{'one rate':>10}{'own rate':>10}{'effects':>10}{'floor':>8}{'CPU s':>8}")
        for row in rows:
            print(
                f"{row.data:<14}{row.n_cells:>8}{row.one_rate:>10.3f}{row.own_rate:>10.3f}{row.effects:>10.3f}"
                f"{FLOORS[row.data]:>8.3f}{row.cpu_s:>8.1f}"
            )
    return int(any(row.effects > min(FLOORS[row.data], row.own_rate) for row in rows))
