"""Simulated projects that are looked at again and again: at each look what a fit expects to be wrong, and what is."""

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from models_engine.acquisition import Aim
from models_engine.acquisition.aims import AimKind
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Rule
from models_engine.analysis.collecting.worlds import Scenario, World, draw_world
from models_engine.analysis.done import LEVELS, PLAIN, Wrong, expected_wrong, is_done, threshold
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.summaries import rank_draws

__all__ = ["AIMS", "GOALS", "KINDS", "LOOKS", "Trace", "read_traces", "run_projects", "simulate"]

Floats = NDArray[np.float64]
# Labels at which a project is looked at until it is done.
LOOKS = (*range(100, 300, 50), *range(300, 600, 100), *range(600, 1_601, 200))
MARGIN = 0.1  # up to which the best may be tied, the site's own where nobody changes it
KINDS: tuple[AimKind, ...] = get_args(AimKind)
SHARES: dict[AimKind, float] = {"whole": 0.1, "best": 0.3, "classes": 0.1}  # of balanced questions, the site's usual
# What may be wrong at most; the policy that the measure is meant for.
GOALS: dict[Wrong, tuple[float, ...]] = {
    "best": (0.2, 0.4),
    "top": (0.1,),
    "classes": (0.2, 0.3),
    "boundary": (0.05, 0.1),
    "width": (1.5, 2.0),
    "widest": (1.5, 2.0),
    "reliability": (0.1, 0.2),
    "places": (1.0, 2.0),
}
AIMS: dict[Wrong, AimKind] = {
    "best": "best",
    "top": "best",
    "classes": "classes",
    "boundary": "classes",
    "width": "whole",
    "widest": "whole",
    "reliability": "whole",
    "places": "whole",
}
# An estimator that takes long is fitted at a look where the quick fit expects at most NEAR times what a goal that has
# not stopped yet may stop at.
NEAR = 1.4


@dataclass(frozen=True)
class Trace:
    """One simulated project under one rule, seen by one estimator: at each look what it expected to be wrong, infinite
    where it was not fitted as nothing was near, and what was.
    """

    rule: str
    seed: int
    labels: tuple[int, ...]
    expected: dict[Wrong, tuple[float, ...]]
    truly: dict[Wrong, tuple[float, ...]]
    fit: str


@dataclass(frozen=True, eq=False)
class Look:
    """What a fit says at a look: mean (n_items,), covariance (n_items, n_items), sds (n_items,) at a known scale."""

    mean: Floats
    covariance: Floats
    at_scale: Floats


def draw_project(seed: int) -> World:
    """Draw a project of 10 to 16 items and 15 to 40 people, whose spread, tastes and share of spammers differ."""
    rng = np.random.default_rng([seed, 2])
    few = int(rng.integers(15, 41))
    scenario = Scenario(
        n_items=int(rng.integers(10, 17)),
        n_people=(few, few),
        utility_sd=float(1.3 * np.exp(0.4 * rng.standard_normal())),
        spammers=float(rng.uniform(0, 0.2)),
        taste_sd=float(rng.uniform(0, 0.6)),
        activity_sd=0.7,
        overlap=20,
        lag=(10, 50),
        margin=MARGIN,
    )
    return draw_world(scenario, rng)


def aims_of(world: World, seed: int) -> dict[AimKind, Aim]:
    """Return what is asked for: the best 1 to 5 of a project, three classes."""
    cuts = np.array([-0.5, 0.5]) * float(world.truth.std())
    best = Aim("best", 1 + seed // len(KINDS) % 5)
    return {"whole": Aim("whole"), "best": best, "classes": Aim("classes", boundaries=tuple(cuts.tolist()))}


def truly_wrong(mean: Floats, world: World, aims: dict[AimKind, Aim]) -> dict[Wrong, float]:
    """Return what is wrong with a fit in each measure: widths, the width that would hold nine of ten true errors."""
    k = aims["best"].k or 1
    chosen = np.argsort(-mean, kind="stable")[:k]
    cuts = np.array(aims["classes"].boundaries)
    above = mean[:, None] >= cuts
    missed = float((world.truth[chosen] < np.sort(world.truth)[-k] - world.scenario.margin).mean())
    width = float(2 * Z90 * np.sqrt(np.mean((mean - world.truth) ** 2)))
    alike = float(np.corrcoef(mean, world.truth)[0, 1]) if mean.any() else 0.0
    ranks = rank_draws(np.stack([mean, world.truth]))
    return {
        "best": missed,
        "top": float(missed > 0),
        "classes": float((np.searchsorted(cuts, mean) != np.searchsorted(cuts, world.truth)).mean()),
        "boundary": float((above != (world.truth[:, None] >= cuts)).mean(axis=0).max()),
        "width": width,
        "widest": width,
        "reliability": 1 - max(alike, 0.0) ** 2,
        "places": float(np.abs(ranks[0] - ranks[1]).mean()),
    }


class Watch:
    """Looks at one project by one estimator, as often as it has to."""

    def __init__(self, fit: str, collection: Collection, aims: dict[AimKind, Aim]) -> None:
        self.fit, self.collection, self.aims = fit, collection, aims
        self.labels: list[int] = []
        self.expected: dict[Wrong, list[float]] = {what: [] for what in GOALS}
        self.truly: dict[Wrong, list[float]] = {what: [] for what in GOALS}

    def look(self, n_labels: int, quick: QuickFit) -> bool:
        """Take note of a look; return whether every goal has stopped."""
        self.labels.append(n_labels)
        found, is_known = {}, {}
        if self.fit in PLAIN or self._is_near(
            Look(quick.mean, quick.covariance, np.sqrt(np.diagonal(quick.covariance)))
        ):
            look = look_by(ESTIMATORS[self.fit].estimator(), self.collection)
            found, is_known = self._expect(look), truly_wrong(look.mean, self.collection.world, self.aims)
        for what in GOALS:
            self.expected[what].append(found.get(what, float("inf")))
            self.truly[what].append(is_known.get(what, float("inf")))
        return all(self._is_over(what, goal) for what, goals in GOALS.items() for goal in goals)

    def _expect(self, look: Look) -> dict[Wrong, float]:
        return {
            what: expected_wrong(
                what,
                look.mean,
                look.at_scale if what == "reliability" else look.covariance,
                self.aims[AIMS[what]],
                margin=self.collection.world.scenario.margin if what in ("best", "top") else 0.0,
            )
            for what in GOALS
        }

    def _is_near(self, look: Look) -> bool:
        expected = self._expect(look)
        return any(
            expected[what] <= NEAR * threshold(what, goal)
            for what, goals in GOALS.items()
            for goal in goals
            if not self._is_over(what, goal)
        )

    def _is_over(self, what: Wrong, goal: float) -> bool:
        limit = threshold(what, goal, level=LEVELS[-1], plain=self.fit in PLAIN)
        return is_done(zip(self.labels, self.expected[what], strict=False), limit)

    def trace(self, rule: str, seed: int) -> Trace:
        return Trace(rule, seed, tuple(self.labels), _frozen(self.expected), _frozen(self.truly), self.fit)


def simulate(rule: str, seed: int, fits: Sequence[str]) -> list[Trace]:
    """Simulate a project and look at it by each of the fits. rule: balanced, or the kind of an aim."""
    world = draw_project(seed)
    rng, aims = np.random.default_rng([seed, 3, len(rule)]), aims_of(world, seed)
    asks: Rule = Balanced(world, rng)
    for kind in KINDS:
        if rule == kind:
            asks = Adaptive(world, rng, aims[kind], SHARES[kind])
    collection = Collection(world, asks, rng)
    watches = [Watch(name, collection, aims) for name in fits]

    def see(n_labels: int, quick: QuickFit) -> bool:
        over = [one.look(n_labels, quick) for one in watches]
        return all(over)

    collect(collection, looks=LOOKS, see=see)
    return [one.trace(rule, seed) for one in watches]


def look_by(estimator: Estimator, collection: Collection) -> Look:
    """Return what an estimator says of the labels so far."""
    world, won = collection.world, np.ones(len(collection.winner))
    data = Comparisons.from_pairs(
        collection.winner,
        collection.loser,
        won,
        collection.annotator,
        n_items=world.n_items,
        n_annotators=world.n_people,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = estimator.fit(data)
    return Look(posterior.utilities(), posterior.covariance(), posterior.deviations_at_scale())


def run_projects(seeds: Iterable[int], fits: Sequence[str], file: Path | None) -> Iterator[list[Trace]]:
    """Simulate each project balanced and by one policy, which takes turns; yield its traces.

    file: each project's are written there as it ends, a line of JSON a trace, and not simulated again.
    """
    known = {(one.rule, one.seed) for one in read_traces(file)} if file and file.exists() else set()
    for seed in seeds:
        for rule in ("balanced", KINDS[seed % len(KINDS)]):
            if (rule, seed) in known:
                continue
            traces = simulate(rule, seed, fits)
            if file:
                with file.open("a") as kept:
                    kept.writelines(f"{json.dumps(asdict(one))}\n" for one in traces)
            yield traces


def read_traces(file: Path) -> list[Trace]:
    """Read what run_projects wrote."""
    return [_read(json.loads(line)) for line in file.read_text().splitlines()]


def _read(row: dict) -> Trace:
    expected, truly = ({what: tuple(values) for what, values in row[name].items()} for name in ("expected", "truly"))
    return Trace(row["rule"], row["seed"], tuple(row["labels"]), expected, truly, row["fit"])


def _frozen(found: dict[Wrong, list[float]]) -> dict[Wrong, tuple[float, ...]]:
    return {what: tuple(round(one, 5) for one in row) for what, row in found.items()}
