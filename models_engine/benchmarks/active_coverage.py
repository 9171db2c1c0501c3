"""Coverage of 90% intervals where questions were chosen, less that of the balanced rule, by the fit that asks and by
estimators of the site, on the same simulated collections."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from models_engine.acquisition import Aim
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.measures import measure_fit
from models_engine.analysis.collecting.quick_fit import PRIOR_SD, RELIABILITY, QuickFit
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Rule
from models_engine.analysis.collecting.worlds import Scenario, World, draw_world
from models_engine.benchmarks.stopping_projects import look_by
from models_engine.estimators.base import Estimator
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.crowd_bt import CrowdBT

__all__ = ["FITS", "QUICK", "RULES", "Covered", "format_coverage", "measure_coverage", "run_coverage"]

K = 10
QUICK, N_REFITS = "quick", 6
CUTS = np.array([-0.674, 0.0, 0.674])  # of four classes, in standard deviations of the true utilities
# Estimators of the site, and CrowdBT with scales that it does not learn: the quick fit's.
FITS: dict[str, Callable[[], Estimator]] = {
    "CrowdBT": CrowdBT,
    "BradleyTerry": BradleyTerry,
    "learned-sd": lambda: BradleyTerry(prior_sd=None, inference="variational"),
    "fixed": lambda: CrowdBT(prior_sd=PRIOR_SD, reliability=RELIABILITY),
    "fixed-crowd": lambda: CrowdBT(reliability=RELIABILITY),
    "fixed-sd": lambda: CrowdBT(prior_sd=PRIOR_SD),
}
RULES = ("balanced", "whole", "best", "classes")


@dataclass(frozen=True)
class Covered:
    """One rule in one simulated project: coverage and mean width of the intervals of each fit, Kendall's tau."""

    scenario: str
    rule: str
    seed: int
    coverage: dict[str, float]
    width: dict[str, float]
    tau: dict[str, float]


def measure_coverage(
    name: str, scenario: Scenario, place: int, rule: str, seed: int, n_labels: int, fits: Sequence[str]
) -> Covered:
    """Simulate one project under one rule. place: of the scenario, which decides with the seed what is drawn."""
    world = draw_world(scenario, np.random.default_rng([seed, place]))
    rng = np.random.default_rng([seed, RULES.index(rule), 4])
    collection = Collection(world, rule_of(rule, world, rng), rng)
    seen: list[QuickFit] = []
    collect(collection, looks=[n_labels], see=lambda _, quick: seen.append(quick))
    quick = seen[-1]
    for _ in range(N_REFITS):  # a balanced collection has no fits on the way that it could go on from
        quick = collection.fit(quick)
    by_fit = {QUICK: quick}
    for fit in fits:
        look = look_by(FITS[fit](), collection)
        by_fit[fit] = QuickFit(look.mean, look.covariance, quick.lapse, quick.prior_sd)
    found = {fit: measure_fit(one, world.truth, K, CUTS * world.truth.std()) for fit, one in by_fit.items()}
    coverage, width, tau = (
        {fit: round(getattr(one, what), 4) for fit, one in found.items()} for what in ("coverage", "width", "tau")
    )
    return Covered(name, rule, seed, coverage, width, tau)


def rule_of(rule: str, world: World, rng: np.random.Generator) -> Rule:
    """Return the rule with the site's usual share of balanced questions."""
    if rule == "balanced":
        return Balanced(world, rng)
    aims = {
        "whole": (Aim("whole"), 0.1),
        "best": (Aim("best", K), 0.3),
        "classes": (Aim("classes", boundaries=tuple((CUTS * world.truth.std()).tolist())), 0.1),
    }
    return Adaptive(world, rng, *aims[rule])


def run_coverage(
    scenarios: dict[str, tuple[Scenario, int]],
    seeds: Sequence[int],
    n_labels: int,
    fits: Sequence[str],
    keep: Path | None,
) -> list[Covered]:
    """Simulate all; scenarios by name with their places. keep: a file of a line each, which is gone on with."""
    found = list(_kept(keep)) if keep and keep.exists() else []
    known = {(one.scenario, one.rule, one.seed) for one in found}
    for seed, (name, (scenario, place)), rule in product(seeds, scenarios.items(), RULES):
        if (name, rule, seed) in known:
            continue
        found.append(measure_coverage(name, scenario, place, rule, seed, n_labels, fits))
        print(f"{name} {rule} {seed}: {found[-1].coverage}", file=sys.stderr, flush=True)
        if keep:
            with keep.open("a") as file:
                file.write(f"{json.dumps(asdict(found[-1]))}\n")
    return [one for one in found if one.scenario in scenarios and one.seed in seeds]


def _kept(path: Path) -> Iterator[Covered]:
    return (Covered(**json.loads(line)) for line in path.read_text().splitlines())


def format_coverage(found: Sequence[Covered]) -> str:
    """Format by scenario and fit: the balanced rule's coverage, and what each other's differs by, with standard errors
    over collections."""
    lines = [f"{'':<10}{'fit':<14}{'crowds':>7}" + "".join(f"{rule:>17}" for rule in RULES)]
    for scenario in dict.fromkeys(one.scenario for one in found):
        by = {(one.rule, one.seed): one for one in found if one.scenario == scenario}
        seeds = sorted(seed for rule, seed in by if rule == "balanced" and all((r, seed) in by for r in RULES))
        for fit in next(iter(by.values())).coverage if seeds else ():
            values = {rule: np.array([by[rule, seed].coverage[fit] for seed in seeds]) for rule in RULES}
            cells = [f"{values['balanced'].mean():>10.3f} {_error(values['balanced'])}"]
            for rule in RULES[1:]:
                off = values[rule] - values["balanced"]
                cells.append(f"{off.mean():>+10.3f} {_error(off)}")
            lines.append(f"{scenario:<10}{fit:<14}{len(seeds):>7}" + "".join(cells))
    return "\n".join(lines)


def _error(values: np.ndarray) -> str:
    return f"±{values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else "      "
