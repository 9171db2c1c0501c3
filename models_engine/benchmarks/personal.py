"""Results about single annotators in simulated crowds: coverage of intervals, wrong signs, numbers of groups."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from models_engine.analysis.groups import find_groups
from models_engine.analysis.signs import surely_differs
from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.collaborative.annotators import annotator_utilities
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.table import ESTIMATORS
from models_engine.linalg import centre
from models_engine.simulate import Crowd, opposed_camps, simulate_crowd

__all__ = ["GROUPS", "SCENARIOS", "GroupsResult", "PersonalResult", "main", "measure", "measure_groups"]

Z = 1.6448536
MIN_CLEAR_DIFFERENCE = 0.5  # a difference of at least this, in units of the answer's noise, should be found
World = Callable[[np.random.Generator], tuple[Crowd, Comparisons]]


def jury(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = opposed_camps(rng, 60, 18, taste_sd=1.0, own_sd=0.2)
    return people, people.rankings(18 * 12, 4, rng)


def two_camps(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = opposed_camps(rng, 20, 20, taste_sd=1.0, own_sd=0.2)
    return people, people.pairs(20 * 30, rng)


def continuous(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = simulate_crowd(rng, 30, 40, taste_sd=0.7, n_components=2, link="probit")
    return people, people.pairs(40 * 25, rng)


def unrelated(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = simulate_crowd(rng, 20, 30, taste_sd=0.7, n_components=50, link="probit")
    return people, people.pairs(30 * 25, rng)


def few_answers(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = simulate_crowd(rng, 30, 30, taste_sd=0.7, n_components=2, link="probit")
    return people, people.pairs(30 * 10, rng)


def one_taste(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = simulate_crowd(rng, 25, 20, link="probit")
    return people, people.pairs(20 * 30, rng)


SCENARIOS: dict[str, tuple[World, str]] = {
    "jury": (jury, "two camps: 18 judges, 60 items, 12 rankings of 4 each"),
    "camps": (two_camps, "two camps: 20 people, 20 items, 30 pairs each"),
    "continuous": (continuous, "tastes along two directions: 40 people, 30 items, 25 pairs each"),
    "unrelated": (unrelated, "tastes in every direction alike: 30 people, 20 items, 25 pairs each"),
    "few": (few_answers, "few answers: 30 people, 30 items, 10 pairs each"),
    "none": (one_taste, "everybody of one taste: 20 people, 25 items, 30 pairs each"),
}
GROUPS = (8, 12, 20, 40)  # people, of 30 pairs each over 20 items


@dataclass(frozen=True)
class PersonalResult:
    """One fit of one crowd: coverage of 90% intervals; n_sure: differences said to be sure; wrong: of these.

    found: of differences that are clear, the share said with the right sign.
    """

    estimator: str
    scenario: str
    seed: int
    own: float
    difference: float
    n_sure: int
    wrong: int
    found: float
    cpu_s: float


@dataclass(frozen=True)
class GroupsResult:
    """Components that stand out and groups (0: too few to tell) of a crowd of two camps, or of one taste."""

    n_people: int
    camps: bool
    seed: int
    n_components: int
    n_groups: int


def fitted(name: str, data: Comparisons) -> CollaborativePosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = ESTIMATORS[name].estimator().fit(data)
    if not isinstance(posterior, CollaborativePosterior):
        raise TypeError(f"{name} does not estimate utilities of single annotators.")
    return posterior


def measure(name: str, scenario: str, seed: int) -> PersonalResult:
    """Simulate one crowd and fit it."""
    people, data = SCENARIOS[scenario][0](np.random.default_rng([seed, list(SCENARIOS).index(scenario)]))
    begun = time.process_time()
    tastes = fitted(name, data).tastes
    seconds = time.process_time() - begun
    own, apart, n_sure, wrong, right, clear = [], [], 0, 0, 0, 0
    for one in annotator_utilities(tastes):
        truth = centre(people.own[one.annotator])
        differs = truth - people.utilities
        own.append(np.abs(one.mean - truth) < Z * one.sd)
        apart.append(np.abs(one.difference - differs) < Z * one.difference_sd)
        sure, same = surely_differs(one.wrong_sign), one.difference * differs > 0
        n_sure, wrong = n_sure + int(sure.sum()), wrong + int((sure & ~same).sum())
        right += int((sure & same & (np.abs(differs) > MIN_CLEAR_DIFFERENCE)).sum())
        clear += int((np.abs(differs) > MIN_CLEAR_DIFFERENCE).sum())
    shares = (float(np.mean(own)), float(np.mean(apart)))
    return PersonalResult(name, scenario, seed, *shares, n_sure, wrong, right / max(1, clear), seconds)


def measure_groups(n_people: int, seed: int, *, camps: bool, name: str = "CollaborativeGP") -> GroupsResult:
    rng = np.random.default_rng([seed, n_people, camps])
    if camps:
        people = opposed_camps(rng, 20, n_people, taste_sd=1.0, own_sd=0.2)
    else:
        people = simulate_crowd(rng, 20, n_people, link="probit")
    tastes = fitted(name, people.pairs(n_people * 30, rng)).tastes
    sds = np.stack([one.score_sds for one in sorted(annotator_utilities(tastes), key=lambda one: one.annotator)])
    n_told = int(tastes.n_told)
    found = find_groups(tastes.scores[:, :n_told], sds[:, :n_told])
    return GroupsResult(n_people, camps, seed, n_told, found.n)


def format_table(found: Sequence[PersonalResult]) -> str:
    """Format by estimator and scenario means with standard errors over crowds; wrong: the ratio of sums (jackknife)."""
    lines = [
        f"{'':<16}{'':<68}{'own 90%':>13}{'difference':>14}{'said':>7}{'wrong of said':>16}{'found':>7}{'CPU s':>7}"
    ]
    for name in dict.fromkeys(one.estimator for one in found):
        for scenario in dict.fromkeys(one.scenario for one in found):
            rows = [one for one in found if (one.estimator, one.scenario) == (name, scenario)]
            values = np.array([[one.own, one.difference, one.n_sure, one.wrong, one.found, one.cpu_s] for one in rows])
            mean, error = values.mean(axis=0), standard_errors(values)
            share, share_error = ratio(values[:, 3], values[:, 2])
            lines.append(
                f"{name:<16}{SCENARIOS[scenario][1]:<68}{mean[0]:>7.3f} ±{error[0]:.3f}{mean[1]:>8.3f} ±{error[1]:.3f}"
                f"{mean[2]:>7.1f}{share:>10.3f} ±{share_error:.3f}{mean[4]:>7.2f}{mean[5]:>7.2f}"
            )
    return "\n".join(lines)


def groups_table(found: Sequence[GroupsResult]) -> str:
    """Format the shares of crowds by the number of groups found, and the mean number of components."""
    lines = [f"{'':<30}{'too few to tell':>16}{'one crowd':>11}{'two':>6}{'more':>6}{'components':>12}"]
    for n_people, camps in dict.fromkeys((one.n_people, one.camps) for one in found):
        rows = [one for one in found if (one.n_people, one.camps) == (n_people, camps)]
        n_found = np.array([min(one.n_groups, 3) for one in rows])
        shares = [(n_found == n).mean() for n in range(4)]
        name = f"{n_people} people, {'two camps' if camps else 'one taste'}"
        components = np.mean([one.n_components for one in rows])
        lines.append(
            f"{name:<30}{shares[0]:>16.2f}{shares[1]:>11.2f}{shares[2]:>6.2f}{shares[3]:>6.2f}{components:>12.2f}"
        )
    return "\n".join(lines)


def standard_errors(values: np.ndarray) -> np.ndarray:
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def ratio(part: np.ndarray, whole: np.ndarray) -> tuple[float, float]:
    """Return sum(part) / sum(whole) and its standard error by the jackknife over crowds."""
    share, n = part.sum() / max(1, whole.sum()), len(part)
    without = (part.sum() - part) / np.maximum(1, whole.sum() - whole)
    return float(share), float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the tables on stdout."""
    options = _parser().parse_args(arguments)
    seeds = range(options.seed, options.seed + options.crowds)
    found, grouped = [], []
    for name in filter(None, options.estimators.split(",")):
        for scenario in options.scenarios.split(","):
            for seed in seeds:
                found.append(measure(name, scenario, seed))
                print(f"{len(found)} {found[-1]}", file=sys.stderr, flush=True)
    for n_people in (int(one) for one in options.groups.split(",") if one):
        for camps in (False, True):
            for seed in seeds:
                grouped.append(measure_groups(n_people, seed, camps=camps))
                print(f"{len(grouped)} {grouped[-1]}", file=sys.stderr, flush=True)
    known = {"crowds": options.crowds, "first seed": options.seed, "measured": describe_machine()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    for text in (format_table(found) if found else "", groups_table(grouped) if grouped else ""):
        if text:
            print(text)
    if options.json:
        everything = {"facts": known, "found": [asdict(one) for one in found], "groups": [asdict(g) for g in grouped]}
        options.json.write_text(json.dumps(everything, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks personal", description=__doc__)
    parser.add_argument("--estimators", default="CollaborativeGP,CrowdGPPL", help="names, separated by commas")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--groups", default=",".join(map(str, GROUPS)), help="numbers of people, separated by commas")
    parser.add_argument("--crowds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    return parser
