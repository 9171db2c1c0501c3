"""When to say "done": the error of stopping rules under repeated looks, on simulated projects of many kinds."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from models_engine.acquisition import Aim
from models_engine.analysis.collecting.collect import collect
from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Rule
from models_engine.analysis.collecting.worlds import Scenario, World, draw_world
from models_engine.analysis.done import FACTORS, LEVELS, Wrong, expected_wrong, is_done, threshold
from models_engine.benchmarks.machine import describe_machine
from models_engine.constants import Z90

__all__ = ["GOALS", "Trace", "false_rate", "main", "simulate"]

K, N_CUTS = 5, 2
LOOK, MAX_LOOKS = 50, 22  # labels between fits; looks at a project that is never done
GOALS: dict[Wrong, tuple[float, ...]] = {
    "best": (0.2, 0.4),
    "classes": (0.2, 0.3),
    "width": (1.5, 2.0),
    "reliability": (0.15, 0.25),
}
AIMS: dict[Wrong, str] = {"best": "best", "classes": "classes", "width": "whole", "reliability": "whole"}
MIN_SAID = 15  # below, a share says nothing
GRID = np.round(np.arange(1.2, 0.15, -0.05), 2)


@dataclass(frozen=True)
class Trace:
    """One simulated project under one rule: at each look what was expected to be wrong, and what was."""

    rule: str
    seed: int
    labels: tuple[int, ...]
    expected: dict[Wrong, tuple[float, ...]]
    truly: dict[Wrong, tuple[float, ...]]


def draw_project(seed: int) -> World:
    """Draw a project of 20 to 40 items and 10 to 40 people, whose spread, tastes and share of spammers differ."""
    rng = np.random.default_rng([seed, 2])
    few = int(rng.integers(10, 41))
    scenario = Scenario(
        n_items=int(rng.integers(20, 41)),
        n_people=(few, few),
        utility_sd=float(1.3 * np.exp(0.4 * rng.standard_normal())),
        spammers=float(rng.uniform(0, 0.2)),
        taste_sd=float(rng.uniform(0, 0.6)),
        overlap=3,
        lag=(10, 50),
    )
    return draw_world(scenario, rng)


def aims_of(world: World) -> dict[str, Aim]:
    cuts = np.array([-0.5, 0.5]) * float(world.truth.std())
    return {"whole": Aim("whole"), "best": Aim("best", K), "classes": Aim("classes", boundaries=tuple(cuts.tolist()))}


def truly_wrong(fit: QuickFit, world: World, aims: dict[str, Aim]) -> dict[Wrong, float]:
    """Return what is wrong with a fit in each measure: width, the width that would hold nine of ten true errors."""
    chosen = np.argsort(-fit.mean, kind="stable")[:K]
    cuts = np.array(aims["classes"].boundaries)
    misplaced = np.searchsorted(cuts, fit.mean) != np.searchsorted(cuts, world.truth)
    alike = float(np.corrcoef(fit.mean, world.truth)[0, 1]) if fit.mean.any() else 0.0
    return {
        "best": float((world.truth[chosen] < np.sort(world.truth)[-K]).mean()),
        "classes": float(misplaced.mean()),
        "width": float(2 * Z90 * np.sqrt(np.mean((fit.mean - world.truth) ** 2))),
        "reliability": 1 - max(alike, 0.0) ** 2,
    }


def simulate(rule: str, seed: int) -> Trace:
    """Simulate a project and look at it every LOOK labels. rule: balanced, or the kind of an aim."""
    world = draw_project(seed)
    rng, aims = np.random.default_rng([seed, 3, len(rule)]), aims_of(world)
    asks: Rule = Balanced(world, rng)
    if rule != "balanced":
        asks = Adaptive(world, rng, aims[rule], 0.3 if rule == "best" else 0.1)
    measures = [what for what in GOALS if rule in ("balanced", AIMS[what])]
    labels: list[int] = []
    expected: dict[Wrong, list[float]] = {what: [] for what in measures}
    truly: dict[Wrong, list[float]] = {what: [] for what in measures}

    def see(n_labels: int, fit: QuickFit) -> bool:
        labels.append(n_labels)
        is_known = truly_wrong(fit, world, aims)
        for what in measures:
            expected[what].append(expected_wrong(what, fit.mean, fit.covariance, aims[AIMS[what]]))
            truly[what].append(is_known[what])
        return all(_is_over(labels, expected[what], what) for what in measures)

    collect(world, asks, rng, looks=range(2 * LOOK, (MAX_LOOKS + 2) * LOOK, LOOK), see=see)
    return Trace(
        rule,
        seed,
        tuple(labels),
        {what: tuple(row) for what, row in expected.items()},
        {what: tuple(row) for what, row in truly.items()},
    )


def _is_over(labels: Sequence[int], expected: Sequence[float], what: Wrong) -> bool:
    """Return whether even the strictest rule of the grid has stopped."""
    return is_done(zip(labels, expected, strict=True), float(GRID[-1]) * min(GOALS[what]))


def false_rate(traces: Sequence[Trace], what: Wrong, goal: float, factor: float) -> tuple[float, int, float]:
    """Return (share of false "done" among all, how often it was said, median labels) of stopping at factor * goal."""
    wrong, labels = [], []
    for one in traces:
        looks = list(zip(one.labels, one.expected[what], strict=True))
        stops = (place for place in range(len(looks)) if is_done(looks[: place + 1], factor * goal))
        if (place := next(stops, None)) is not None:
            wrong.append(one.truly[what][place] > goal + 1e-9)
            labels.append(one.labels[place])
    return (float(np.mean(wrong)), len(wrong), float(np.median(labels))) if wrong else (0.0, 0, float("nan"))


def choose_factors(traces: Sequence[Trace]) -> dict[Wrong, tuple[float, ...]]:
    """Return for each measure the largest factors that, with all smaller ones, keep each of LEVELS.

    Under every rule and goal there are traces of, where "done" was said of at least MIN_SAID projects.
    """
    found = {}
    for what, goals in GOALS.items():
        rules = [[one for one in traces if one.rule == rule] for rule in ("balanced", AIMS[what])]
        worst, so_far = [], 0.0
        for factor in GRID[::-1]:
            for one in filter(None, rules):
                for goal in goals:
                    rate, said, _ = false_rate(one, what, goal, float(factor))
                    so_far = max(so_far, rate if said >= MIN_SAID else 0.0)
            worst.append(so_far)
        kept = [[float(f) for f, rate in zip(GRID[::-1], worst, strict=True) if rate <= level] for level in LEVELS]
        found[what] = tuple(max(factors, default=float("nan")) for factors in kept)
    return found


def format_table(traces: Sequence[Trace]) -> str:
    """Format for each measure, goal, rule and level: how often "done" was said, and falsely."""
    lines = [f"{'':<13}{'goal':>6}{'rule':>10}{'level':>7}{'stops at':>10}{'said':>7}{'false':>15}{'labels':>8}"]
    for what, goals in GOALS.items():
        for goal in goals:
            for rule in ("balanced", AIMS[what]):
                own = [one for one in traces if one.rule == rule]
                for level in LEVELS if own else ():
                    limit = threshold(what, goal, level=level)
                    rate, said, labels = false_rate(own, what, goal, limit / goal)
                    error = np.sqrt(rate * (1 - rate) / max(said, 1))
                    lines.append(
                        f"{what:<13}{goal:>6g}{rule:>10}{level:>7g}{limit:>10.3f}{said:>4}/{len(own)}"
                        f"{rate:>8.3f} ±{error:.3f}{labels:>8.0f}"
                    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks stopping", description=__doc__)
    parser.add_argument("--projects", type=int, default=300, help="a rule; half of them choose, half show the error")
    parser.add_argument("--rules", default="balanced,best,classes,whole", help="none: only what --add names")
    parser.add_argument("--seed", type=int, default=0, help="of the first project")
    parser.add_argument("--json", type=Path, help="also write every trace to this file, after every rule")
    parser.add_argument("--add", type=Path, action="append", default=[], help="also count the traces of such a file")
    options = parser.parse_args(arguments)
    traces = [_read(row) for path in options.add for row in json.loads(path.read_text())]
    for rule in filter(None, options.rules.split(",")):
        for seed in range(options.seed, options.seed + options.projects):
            traces.append(simulate(rule, seed))
            if seed % 20 == 0:
                print(f"{rule} {seed}", file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(one) for one in traces]))
    first, second = ([one for one in traces if one.seed % 2 == half] for half in (0, 1))
    print(f"{len(first)} and {len(second)} traces, measured {describe_machine()}")
    print(f"factors by the even seeds, for {LEVELS}: {choose_factors(first)}")
    print(f"in use, on the odd seeds: {FACTORS}")
    print(format_table(second))
    return 0


def _read(row: dict) -> Trace:
    expected, truly = ({what: tuple(values) for what, values in row[name].items()} for name in ("expected", "truly"))
    return Trace(row["rule"], row["seed"], tuple(row["labels"]), expected, truly)
