"""What to expect of a project before it starts: quality by number of answers, balanced and chosen, on simulated crowds.

Writes the table that `models_engine.analysis.expected_quality` reads.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.acquisition import Aim
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.measures import Quality, measure_fit
from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Rule
from models_engine.analysis.collecting.worlds import Scenario, World, draw_world
from models_engine.analysis.expected_quality import TABLE, Goal
from models_engine.benchmarks.machine import describe_machine

__all__ = ["BEST", "main", "simulate"]

Floats = NDArray[np.float64]
# Items, and how many best of them are looked for.
BEST: dict[int, tuple[int, ...]] = {
    20: (1, 2, 5, 10),
    40: (1, 2, 5, 10, 20),
    80: (1, 2, 5, 10, 20, 40),
}
CLASSES = (2, 3, 5)
PER_ITEM = (1, 2, 3, 5, 7, 10, 14, 18)  # answers per item at which a collection is looked at
SHARES: dict[Goal, float] = {"whole": 0.1, "best": 0.3, "classes": 0.1}  # of balanced questions, the site's usual
CROWDS, FIRST_SEED, LEVEL = 100, 20_000, 0.9


def scenario_of(n_items: int) -> Scenario:
    """Return the usual project of the benchmark `active`: two people on a pair, 20 to 100 in all."""
    return Scenario(n_items=n_items)


def cuts_of(world: World, n_classes: int) -> Floats:
    """Return the boundaries of classes of equal size, of normal utilities that are spread as the true ones."""
    cuts: Floats = ndtri(np.arange(1, n_classes) / n_classes) * float(world.truth.std())
    return cuts


def simulate(
    n_items: int, seed: int, rule: Callable[[World, np.random.Generator], Rule]
) -> list[tuple[World, QuickFit]]:
    """Simulate one project under a rule; what is known at each of PER_ITEM. The same seed is the same project."""
    world = draw_world(scenario_of(n_items), np.random.default_rng([seed, n_items]))
    rng = np.random.default_rng([seed, n_items, 1])
    found: list[tuple[World, QuickFit]] = []
    looks = [n_items * each for each in PER_ITEM]
    collect(Collection(world, rule(world, rng), rng), looks=looks, see=lambda _, fit: found.append((world, fit)))
    return found


def quality(found: tuple[World, QuickFit], goal: Goal, size: int) -> float:
    """Return Kendall's tau, the share of the best `size` found, or the share in their true one of `size` classes."""
    world, fit = found
    k, cuts = (size if goal == "best" else 1), cuts_of(world, size if goal == "classes" else 2)
    measured: Quality = measure_fit(fit, world.truth, k, cuts)
    return {"whole": measured.tau, "best": measured.recall, "classes": measured.classes}[goal]


def rule_of(goal: Goal, size: int) -> Callable[[World, np.random.Generator], Rule]:
    """Return what makes the rule for a goal, with the usual share of balanced questions. As on the site, pairs that
    were begun go first."""

    def rule(world: World, rng: np.random.Generator) -> Rule:
        boundaries = tuple(cuts_of(world, size).tolist()) if goal == "classes" else ()
        aim = Aim(goal, size if goal == "best" else None, boundaries)
        return Adaptive(world, rng, aim, SHARES[goal], waits=True)

    return rule


def goals_of(n_items: int) -> list[tuple[Goal, int]]:
    """Return the goals, with their sizes, that so many items are simulated for."""
    best: list[tuple[Goal, int]] = [("best", k) for k in BEST[n_items]]
    return [("whole", 0), *best, *(("classes", n) for n in CLASSES)]


def measure(n_items: int, goals: Sequence[tuple[Goal, int]], n_crowds: int, first_seed: int = FIRST_SEED) -> list[dict]:
    """Return one row of the table for each goal: means and bands of both rules at each of PER_ITEM."""
    seeds = range(first_seed, first_seed + n_crowds)
    balanced = [simulate(n_items, seed, Balanced) for seed in seeds]
    rows = []
    for goal, size in goals:
        begun = time.process_time()
        chosen = [simulate(n_items, seed, rule_of(goal, size)) for seed in seeds]
        row: dict = {"n_items": n_items, "goal": goal, "size": size}
        for name, crowds in (("balanced", balanced), ("chosen", chosen)):
            row[name] = _bands(np.array([[quality(one, goal, size) for one in crowd] for crowd in crowds]))
        rows.append(row)
        print(f"{n_items} {goal} {size}: {time.process_time() - begun:.1f} s", file=sys.stderr, flush=True)
    return rows


def _bands(values: Floats) -> list[list[float]]:
    """Return [low, mean, high] at each look, of values (n_crowds, n_looks). Of rare successes the mean may be above
    the quantile; the band then reaches up to it."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    mean = values.mean(axis=0)
    found = np.stack([np.minimum(low, mean), mean, np.maximum(mean, high)], axis=1)
    return found.round(3).tolist()


def format_table(rows: Sequence[dict]) -> str:
    """Format the means of both rules after each number of answers per item."""
    lines = [f"{'items':>6} {'goal':<12}{'rule':<10}" + "".join(f"{each:>7}" for each in PER_ITEM)]
    for row in rows:
        for rule in ("balanced", "chosen"):
            name = f"{row['goal']} {row['size'] or ''}"
            cells = "".join(f"{middle:>7.3f}" for _, middle, _ in row[rule])
            lines.append(f"{row['n_items']:>6} {name:<12}{rule:<10}{cells}")
    return "\n".join(lines)


def write(path: Path, rows: Sequence[dict], facts: dict) -> None:
    """Write the table, a row per line."""
    lines = ",\n".join(json.dumps(row) for row in sorted(rows, key=lambda row: row["n_items"]))
    path.write_text(f'{{"facts": {json.dumps(facts)},\n"per_item": {list(PER_ITEM)},\n"rows": [\n{lines}\n]}}\n')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the means on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks expected", description=__doc__)
    parser.add_argument("--items", default=",".join(map(str, BEST)), help=f"of {', '.join(map(str, BEST))}")
    parser.add_argument("--crowds", type=int, default=CROWDS)
    parser.add_argument("--json", type=Path, help=f"also write the table to this file, for example {TABLE.name}")
    parser.add_argument("--add", type=Path, action="append", default=[], help="also take the rows of such a file")
    options = parser.parse_args(arguments)
    rows = [row for path in options.add for row in json.loads(path.read_text())["rows"]]
    for n_items in map(int, filter(None, options.items.split(","))):
        rows += measure(n_items, goals_of(n_items), options.crowds)
    print(format_table(rows))
    if options.json:
        facts = {"crowds": options.crowds, "first_seed": FIRST_SEED, "machine": describe_machine()}
        write(options.json, rows, facts)
    return 0
