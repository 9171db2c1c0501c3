"""Which questions to ask: labels that each rule needs for what the balanced rule reaches, on simulated collections."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from models_engine.acquisition import Aim
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.measures import Quality, measure_fit
from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Gavel, Random, Rule
from models_engine.analysis.collecting.worlds import Scenario, World, draw_world
from models_engine.benchmarks.active_bound import format_bounds
from models_engine.benchmarks.active_coverage import FITS, format_coverage, run_coverage
from models_engine.benchmarks.active_replay import REPLAYS, Answers, read_replays, replay
from models_engine.benchmarks.arrivals import POLICIES, SHARES, STARTS, Arrival, format_arrivals, measure_arrivals
from models_engine.benchmarks.label_ratio import labels_ratio
from models_engine.benchmarks.machine import describe_machine

__all__ = ["RULES", "SCENARIOS", "ActiveResult", "main", "measure"]

# Best k; labels of the balanced rule; looked for up to MOST times those; looks at a replay until these.
K, N_LABELS, MOST, STEP, N_STEPS = 10, 2_000, 1.3, 100, 20
SCENARIOS: dict[str, tuple[Scenario, str]] = {
    "usual": (Scenario(), "20 to 100 people of mixed care, tastes, a tenth answer anything"),
    "spam": (Scenario(spammers=0.3), "three in ten answer anything"),
    "taste": (Scenario(taste_sd=1.0), "tastes as large as the differences between items"),
    "ties": (Scenario(step=0.5, margin=0.2), "true utilities are multiples of .5; margin .2"),
    "narrow": (Scenario(utility_sd=0.65), "items half as far apart"),
    "wide": (Scenario(utility_sd=2.6), "items twice as far apart"),
    "late": (Scenario(lag=(300, 300)), "300 labels come in while a fit runs"),
    "once": (Scenario(overlap=1), "one person is asked about a pair"),
    "few": (Scenario(n_items=40), "40 items, the balanced rule with 1,000 labels"),
}
MEASURES = ("tau", "recall", "classes", "width")


def _classes(world: World) -> Aim:
    return Aim("classes", boundaries=tuple(class_cuts(world).tolist()))


RULES: dict[str, tuple[Callable[[World, np.random.Generator], Rule], str]] = {
    "balanced": (Balanced, "the least compared first"),
    "random": (Random, "any pair"),
    "gavel": (Gavel, "Gavel's rule: CrowdBT's expected gain, at once"),
    "whole": (lambda world, rng: Adaptive(world, rng, Aim("whole"), 0.1), "whole ranking, 10% balanced"),
    "whole-alone": (lambda world, rng: Adaptive(world, rng, Aim("whole"), 0.0), "whole ranking, none balanced"),
    "best": (lambda world, rng: Adaptive(world, rng, Aim("best", K), 0.3), "best 10, 30% balanced"),
    "best-alone": (lambda world, rng: Adaptive(world, rng, Aim("best", K), 0.0), "best 10, none balanced"),
    "best-marginal": (
        lambda world, rng: Adaptive(world, rng, Aim("best", K), 0.3, by_covariance=False),
        "best 10, 30% balanced, from means and sds alone",
    ),
    "classes": (lambda world, rng: Adaptive(world, rng, _classes(world), 0.1), "four classes, 10% balanced"),
    "classes-alone": (lambda world, rng: Adaptive(world, rng, _classes(world), 0.0), "four classes, none balanced"),
}


@dataclass(frozen=True)
class ActiveResult:
    """One rule in one simulated project: what was known after each number of labels."""

    scenario: str
    rule: str
    seed: int
    looks: tuple[int, ...]
    found: tuple[Quality, ...]
    cpu_s: float


def class_cuts(world: World) -> np.ndarray:
    """Return the boundaries of four classes: fixed shares of how utilities are spread."""
    return np.array([-0.674, 0.0, 0.674]) * float(world.truth.std())


def looks_of(scenario: str, n_labels: int) -> tuple[int, ...]:
    """Return the numbers of labels at which a collection is measured; a project of few items is half as long."""
    scale = length_of(scenario)
    return tuple(int(scale * n) for n in range(2 * STEP, round(n_labels * MOST) + 1, STEP))


def length_of(scenario: str) -> float:
    """Return how many labels a project gets, as a share of the usual number."""
    return 0.5 if SCENARIOS[scenario][0].n_items < 100 else 1.0


def measure(scenario: str, rule: str, seed: int, n_labels: int = N_LABELS, known_crowd: bool = False) -> ActiveResult:
    """Simulate one project under one rule; the same seed is the same project under every rule. known_crowd: fits are
    told everybody's care and the spread of the utilities."""
    begun = time.process_time()
    world = draw_world(SCENARIOS[scenario][0], np.random.default_rng([seed, list(SCENARIOS).index(scenario)]))
    rng = np.random.default_rng([seed, list(RULES).index(rule), 1])
    found: list[Quality] = []
    looks = looks_of(scenario, n_labels)

    def see(_: int, fit: QuickFit) -> None:
        found.append(measure_fit(fit, world.truth, K, class_cuts(world)))

    collection = Collection(world, RULES[rule][0](world, rng), rng, known_crowd)
    collect(collection, looks=looks, see=see)
    return ActiveResult(scenario, rule, seed, looks, tuple(found), time.process_time() - begun)


def measure_replay(name: str, answers: Answers, rule: str, seed: int) -> ActiveResult:
    """Replay a real crowd's answers under one rule, up to MOST times the labels of the balanced one."""
    begun = time.process_time()
    n_labels = REPLAYS[name][0]
    step = n_labels // N_STEPS
    looks = tuple(range(2 * step, round(n_labels * MOST) + 1, step))
    rng = np.random.default_rng([seed, list(RULES).index(rule), list(REPLAYS).index(name), 2])
    running = replay(answers, RULES[rule][0], rng)
    found: list[Quality] = []
    truth = answers.truth

    def see(_: int, fit: QuickFit) -> None:
        found.append(measure_fit(fit, truth, K, class_cuts(running.world)))

    collect(running, looks=looks, see=see)
    return ActiveResult(name, rule, seed, looks, tuple(found), time.process_time() - begun)


def format_table(found: Sequence[ActiveResult]) -> str:
    """Format by scenario and rule: ratios of labels with standard errors, and coverage less that of the balanced."""
    lines = []
    for scenario in dict.fromkeys(one.scenario for one in found):
        here = [one for one in found if one.scenario == scenario]
        looks = np.array(here[0].looks)
        at = int(np.searchsorted(looks, looks[-1] / MOST))
        curves = {
            rule: np.array(
                [
                    [[getattr(q, m) for m in (*MEASURES, "coverage")] for q in one.found]
                    for one in here
                    if one.rule == rule
                ]
            )
            for rule in dict.fromkeys(one.rule for one in here)
        }
        n_crowds = len(next(iter(curves.values())))
        lines.append(f"{scenario}: {_about(scenario)} ({n_crowds} crowds, {looks[at]:,} labels)")
        lines.append(f"  {'':<46}" + "".join(f"{name:>15}" for name in (*MEASURES, "coverage")) + f"{'CPU s':>8}")
        for rule, values in curves.items():
            line = f"  {RULES[rule][1]:<46}"
            for column, name in enumerate(MEASURES):
                sign = -1.0 if name == "width" else 1.0
                if rule == "balanced" or "balanced" not in curves:
                    cell = f"{values[:, at, column].mean():.3f}"
                else:
                    ratio = partial(labels_ratio, looks, place=at)
                    middle, error = ratio(sign * curves["balanced"][:, :, column], sign * values[:, :, column])
                    cell = f"{middle:.2f} ±{error:.2f}" if np.isfinite(middle) else f"over {looks[-1] / looks[at]:.2f}"
                line += f"{cell:>15}"
            covered = values[:, at, -1]
            cell = (
                f"{covered.mean():.3f} ±{covered.std(ddof=1) / np.sqrt(len(covered)):.3f}" if len(covered) > 1 else ""
            )
            seconds = np.mean([one.cpu_s for one in here if one.rule == rule])
            lines.append(line + f"{cell:>15}{seconds:>8.1f}")
    return "\n".join(lines)


def _about(scenario: str) -> str:
    return SCENARIOS[scenario][1] if scenario in SCENARIOS else REPLAYS[scenario][2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    options = _parser().parse_args(arguments)
    names = options.scenarios.split(",")
    scenarios = {name: (SCENARIOS[name][0], place) for place, name in enumerate(SCENARIOS) if name in names}
    seeds = range(options.seed, options.seed + options.crowds)
    if options.bound:
        print(f"first seed {options.seed}, {options.crowds} crowds")
        print(
            format_bounds({name: (*of, int(length_of(name) * options.labels)) for name, of in scenarios.items()}, seeds)
        )
        return 0
    if options.coverage:
        covered = run_coverage(scenarios, seeds, options.labels, options.coverage.split(","), options.keep)
        print(f"first seed {options.seed}, measured {describe_machine()}")
        print(format_coverage(covered))
        return 0
    if options.arrivals:
        shares = [float(one) for one in options.explained.split(",")]
        arrivals: list[Arrival] = []
        for policy, share, seed in product(options.arrivals.split(","), shares, seeds):
            arrivals += measure_arrivals(policy, share, seed, options.starts.split(","))
            print(f"{policy} {share} {seed}: {arrivals[-1].cpu_s:.1f} s", file=sys.stderr, flush=True)
        print(f"first seed {options.seed}, measured {describe_machine()}")
        print(format_arrivals(arrivals))
        return 0
    found = [_read(row) for path in options.add for row in json.loads(path.read_text())["found"]]
    measures: dict[str, Callable[[str, int], ActiveResult]] = {}
    if options.replay:
        read = read_replays(options.replay)
        measures = {name: partial(measure_replay, name, answers) for name, answers in read.items()}
        rules = [rule for rule in options.rules.split(",") if rule != "gavel"]  # asks about one item after another
    else:
        measures = {
            name: partial(measure, name, n_labels=options.labels, known_crowd=options.known_crowd) for name in scenarios
        }
        rules = options.rules.split(",")
    for (name, measured), rule in product(measures.items(), rules):
        for seed in seeds:
            found.append(measured(rule, seed))
            last = found[-1].found[-1]
            print(f"{name} {rule} {seed}: {last} {found[-1].cpu_s:.1f} s", file=sys.stderr, flush=True)
        if options.json:
            facts = {"measured": describe_machine()}
            options.json.write_text(json.dumps({"facts": facts, "found": [asdict(one) for one in found]}))
    print(f"first seed {options.seed}, measured {describe_machine()}")
    print(format_table(found))
    return 0


def _read(row: dict) -> ActiveResult:
    return ActiveResult(
        **(row | {"looks": tuple(row["looks"]), "found": tuple(Quality(**one) for one in row["found"])})
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks active", description=__doc__)
    parser.add_argument("--rules", default=",".join(RULES), help=f"of {', '.join(RULES)}")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--crowds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--labels", type=int, default=N_LABELS, help="with which the balanced rule is measured")
    parser.add_argument(
        "--replay", type=Path, help=f"replay real crowds' answers in this folder ({', '.join(REPLAYS)}) instead"
    )
    parser.add_argument("--coverage", help=f"instead, coverage by the fit that asks and by these: {', '.join(FITS)}")
    parser.add_argument(
        "--keep", type=Path, help="with --coverage, a file that keeps each project, and is gone on with"
    )
    parser.add_argument(
        "--bound", action="store_true", help="instead, the least labels for the width that any choice of pairs needs"
    )
    parser.add_argument(
        "--arrivals", help=f"instead, items that arrive later, predicted or not, under these: {', '.join(POLICIES)}"
    )
    parser.add_argument(
        "--explained", default=",".join(map(str, SHARES)), help="with --arrivals, shares that features explain"
    )
    parser.add_argument("--starts", default=",".join(STARTS), help=f"with --arrivals, {STARTS[0]} and others")
    parser.add_argument(
        "--known-crowd",
        action="store_true",
        help="fits are told everybody's care and the spread of the utilities",
    )
    parser.add_argument("--json", type=Path, help="also write every figure to this file, after every rule")
    parser.add_argument("--add", type=Path, action="append", default=[], help="also show what such a file holds")
    return parser
