"""Tastes and carelessness together, on simulated crowds: coverage of intervals, held-out log loss, the consensus."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.collaborative.annotators import annotator_utilities
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.settings import build_estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.linalg import centre
from models_engine.simulate import Crowd, opposed_camps, simulate_crowd

__all__ = ["FITS", "WORLDS", "CarelessResult", "main", "measure"]

Z = 1.6448536
HELD_OUT = 0.2  # of the labels
N_PARTS, PART = 24, 5  # unconnected parts, items in each
SIDE_SD = 0.3  # of side biases, in units of an answer's noise
World = Callable[[np.random.Generator], tuple[Crowd, Comparisons]]


def crowd(rng: np.random.Generator) -> Crowd:
    """Simulate 40 people over 30 items with tastes along two directions."""
    return simulate_crowd(rng, 30, 40, taste_sd=0.7, link="probit")


def with_reliability(people: Crowd, reliability: Sequence[float]) -> Crowd:
    """Return the crowd whose first annotators have these reliabilities."""
    return replace(people, reliability=np.r_[reliability, people.reliability[len(reliability) :]])


def all_reliable(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = crowd(rng)
    return people, people.pairs(40 * 30, rng)


def spammers(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = with_reliability(crowd(rng), [0.5] * 8)
    return people, people.pairs(40 * 30, rng)


def inverted(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = with_reliability(crowd(rng), [0.05, 0.05])
    return people, people.pairs(40 * 30, rng)


def camps(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = opposed_camps(rng, 30, 24, taste_sd=1.0, own_sd=0.2)
    return people, people.pairs(24 * 40, rng)


def camps_and_inverted(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = with_reliability(opposed_camps(rng, 30, 24, taste_sd=0.7, own_sd=0.2), [0.1, 0.5])
    return people, people.pairs(24 * 60, rng)


def heavy_tails(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = crowd(rng)
    t, heavy = centre(rng.standard_t(3, 30)), rng.standard_t(3, (30, 2)) * 0.35
    own = t + rng.standard_normal((40, 2)) @ heavy.T
    people = with_reliability(replace(people, utilities=t, own=own), [0.5] * 4)
    return people, people.pairs(40 * 30, rng)


def three_answers(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = with_reliability(simulate_crowd(rng, 100, 30, taste_sd=0.7, link="probit"), [0.5] * 3)
    return people, people.pairs(150, rng)


def power_law(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = with_reliability(crowd(rng), [0.95, 0.5] * 4)
    share = 1 / np.arange(1, 41)
    who = rng.choice(rng.permutation(40), 1500, p=share / share.sum())
    return people, people_pairs(people, who, rng)


def people_pairs(people: Crowd, who: np.ndarray, rng: np.random.Generator) -> Comparisons:
    """Draw a pair of random items for each of these annotators."""
    parts = [
        replace(people, own=people.own[[j]], reliability=people.reliability[[j]], side=people.side[[j]]).pairs(n, rng)
        for j, n in enumerate(np.bincount(who, minlength=people.n_annotators))
    ]
    left, right = (np.concatenate([p.items[0::2] for p in parts]), np.concatenate([p.items[1::2] for p in parts]))
    won = np.concatenate([p.ranks[0::2] < p.ranks[1::2] for p in parts]).astype(np.float64)
    counts = {"n_items": people.n_items, "n_annotators": people.n_annotators}
    return Comparisons.from_pairs(left, right, won, np.sort(who), **counts)


def drift(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = with_reliability(crowd(rng), [0.5] * 4)
    change = rng.normal(scale=0.5, size=people.n_items)
    early, late = (replace(people, own=people.own + sign * change) for sign in (-0.5, 0.5))
    return people, Comparisons.concatenate([one.pairs(600, rng) for one in (early, late)])


def many_parts(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    n = N_PARTS * PART
    people = simulate_crowd(rng, n, 40, utility_sd=1.5, taste_sd=0.4, reliability=(6.0, 1.0), link="probit")
    part, first = rng.integers(N_PARTS, size=1200), rng.integers(PART, size=1200)
    other = (first + rng.integers(1, PART, size=1200)) % PART
    return people, people.pairs(1200, rng, shown=np.stack([part * PART + first, part * PART + other], axis=1))


def sides(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people = replace(crowd(rng), side=rng.normal(scale=SIDE_SD, size=40))
    return people, people.pairs(40 * 30, rng)


def uneven_parts(rng: np.random.Generator) -> tuple[Crowd, Comparisons]:
    people, data = many_parts(rng)
    spread = np.repeat(np.resize([1 / 3, 5 / 3], N_PARTS), PART)
    people = replace(people, utilities=people.utilities * spread, own=people.own + people.utilities * (spread - 1))
    pairs = data.pairs()
    return people, people.pairs(data.n_labels, rng, shown=np.stack([pairs.left, pairs.right], axis=1))


WORLDS: dict[str, tuple[World, str]] = {
    "reliable": (all_reliable, "tastes, everybody reliable: 40 people, 30 items, 30 pairs each"),
    "spammers": (spammers, "the same, 8 of the 40 people answer anything"),
    "inverted": (inverted, "the same, 2 answer the wrong way round"),
    "camps": (camps, "two opposed camps: 24 people, 30 items, 40 pairs each"),
    "both": (camps_and_inverted, "two camps, 1 wrong way round, 1 answers anything, 60 pairs each"),
    "heavy": (heavy_tails, "utilities and tastes t-distributed (3 d.f.), 4 answer anything"),
    "three": (three_answers, "three answers an item: 30 people, 100 items, 150 pairs, 3 anything"),
    "power": (power_law, "counts by a power law: 40 people, 1,500 pairs, 4 anything"),
    "drift": (drift, "utilities that drift by sd .5, 4 answer anything"),
    "parts": (many_parts, "24 unconnected parts of 5 items: 40 people, 1,200 pairs, Beta(6, 1)"),
    "sides": (sides, "tastes, side biases of sd .3 (half a logit): 40 people, 30 items, 30 pairs each"),
    "uneven": (uneven_parts, "the 24 parts, utilities of sd .5 in every other one, of 2.5 in the others"),
}
FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "CollaborativeGP": ("CollaborativeGP", {}),
    "CollaborativeGP, all reliable": ("CollaborativeGP", {"reliability": False}),
    "CollaborativeGP, by evidence": ("CollaborativeGP", {"covariance": "full"}),
    "CollaborativeGP, by evidence, all reliable": ("CollaborativeGP", {"covariance": "full", "reliability": False}),
    "CollaborativeGP, with sides": ("CollaborativeGP", {"side": True}),
    "CollaborativeGP, by evidence, with sides": ("CollaborativeGP", {"covariance": "full", "side": True}),
    "CollaborativeGP, one scale for all parts": ("CollaborativeGP", {"part_scales": False}),
    "CrowdGPPL": ("CrowdGPPL", {}),
    "CrowdGPPL, with sides": ("CrowdGPPL", {"side": True}),
    "CrowdGPPL, all reliable": ("CrowdGPPL", {"reliability": False}),
    "CrowdBT": ("CrowdBT", {}),
    "BradleyTerry": ("BradleyTerry", {}),
    "GPPL": ("GPPL", {}),
}
DEFAULT_FITS = ("CollaborativeGP, all reliable", "CollaborativeGP", "CrowdGPPL", "CrowdBT", "BradleyTerry", "GPPL")
SINGLE_PURPOSE = ("CrowdBT", "BradleyTerry", "GPPL")  # one taste for all


@dataclass(frozen=True)
class CarelessResult:
    """One fit of one crowd. NaN where a fit has no such figure.

    consensus, own: coverage of 90% intervals; the model of CrowdBT and BradleyTerry has another unit.
    correlation: of the consensus with the truth; in unconnected parts, within them.   slope: of the truth on the
    consensus: 1 where utilities have their right size, above 1 where they are too small.
    log_loss: of held-out labels, given that none is a tie.
    reliability_error: root mean square, over annotators.
    """

    fit: str
    world: str
    seed: int
    consensus: float
    own: float
    correlation: float
    slope: float
    log_loss: float
    reliability_error: float
    cpu_s: float


def measure(fit: str, world: str, seed: int) -> CarelessResult:
    """Simulate one crowd and fit it."""
    rng = np.random.default_rng([seed, list(WORLDS).index(world)])
    people, data = WORLDS[world][0](rng)
    held = rng.random(data.n_labels) < HELD_OUT
    name, settings = FITS[fit]
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = build_estimator(ESTIMATORS[name].estimator, settings).fit(data.subset(np.flatnonzero(~held)))
    seconds = time.process_time() - begun
    not_tied = np.log1p(
        -(posterior.likelihood.tie_rate or 0.0)
    )  # some fits leave a chance for ties, and no world has any
    loss = float(not_tied - posterior.log_predictive(data.subset(np.flatnonzero(held))).mean())
    consensus, own, size = np.nan, np.nan, PART if world in ("parts", "uneven") else people.n_items
    parts = np.arange(people.n_items).reshape(-1, size)
    if isinstance(posterior, CollaborativePosterior):
        consensus = _consensus_coverage(posterior, people, parts)
        own = _own_coverage(posterior, people, parts)
    pairs = [(posterior.utilities()[p], people.utilities[p]) for p in parts]
    found, truth = (np.concatenate([centre(one[side]) for one in pairs]) for side in (0, 1))
    reliability = posterior.annotator_summary().reliability
    error = np.nan if reliability is None else float(np.sqrt(np.mean((reliability - people.reliability) ** 2)))
    correlation = float(np.corrcoef(found, truth)[0, 1])
    slope = float(found @ truth / (found @ found))
    return CarelessResult(fit, world, seed, consensus, own, correlation, slope, loss, error, seconds)


def _consensus_coverage(posterior: CollaborativePosterior, people: Crowd, parts: np.ndarray) -> float:
    fits = [posterior.restrict(p) for p in parts]
    inside = [
        np.abs(one.utilities() - centre(people.utilities[p])) < Z * one.standard_deviations()
        for p, one in zip(parts, fits, strict=True)
    ]
    return float(np.mean(inside))


def _own_coverage(posterior: CollaborativePosterior, people: Crowd, parts: np.ndarray) -> float:
    inside = [
        np.abs(one.mean - centre(people.own[one.annotator][p])) < Z * one.sd
        for p in parts
        for one in annotator_utilities(posterior.tastes, p)
    ]
    return float(np.mean(inside))


def excess_losses(found: Sequence[CarelessResult], fit: str, world: str) -> np.ndarray:
    """Return, by crowd, the fit's log loss less that of the fit with one taste that is the best in this world; NaN
    without one, and of that one itself 0."""
    losses = {
        name: np.array([one.log_loss for one in found if (one.fit, one.world) == (name, world)])
        for name in {one.fit for one in found}
    }
    others = [losses[name] for name in SINGLE_PURPOSE if name in losses and len(losses[name])]
    if not others:
        return np.full(len(losses[fit]), np.nan)
    return losses[fit] - min(others, key=lambda one: float(one.mean()))


def format_table(found: Sequence[CarelessResult]) -> str:
    """Format by world and fit means with standard errors over crowds; the loss less the best of one taste's."""
    lines = []
    for world in dict.fromkeys(one.world for one in found):
        lines.append(WORLDS[world][1])
        head = (
            "consensus 90%",
            "own 90%",
            "correlation",
            "slope",
            "log loss",
            "over one taste",
            "reliability",
            "CPU s",
        )
        lines.append(f"  {'':<44}" + "".join(f"{title:>18}" for title in head))
        for fit in dict.fromkeys(one.fit for one in found):
            rows = [one for one in found if (one.fit, one.world) == (fit, world)]
            fields = ("consensus", "own", "correlation", "slope", "log_loss", "reliability_error", "cpu_s")
            values = np.array([[getattr(one, name) for name in fields] for one in rows])
            values = np.insert(values, 5, excess_losses(found, fit, world), axis=1)
            mean = values.mean(axis=0)
            error = values.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.full(len(mean), np.nan)
            cells = (
                f"{m:>11.3f} ±{e:.3f}" if np.isfinite(m) else f"{'-':>18}" for m, e in zip(mean, error, strict=True)
            )
            lines.append(f"  {fit:<44}" + "".join(f"{text:>18}" for text in cells))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    options = _parser().parse_args(arguments)
    found = []
    for world in options.worlds.split(","):
        for seed in range(options.seed, options.seed + options.crowds):
            for fit in options.fits.split(";"):
                found.append(measure(fit, world, seed))
                print(f"{len(found)} {found[-1]}", file=sys.stderr, flush=True)
    known = {"crowds": options.crowds, "first seed": options.seed}
    known |= {"measured": describe_machine()}
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print(format_table(found))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "found": [asdict(one) for one in found]}, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks careless", description=__doc__)
    parser.add_argument("--fits", default=";".join(DEFAULT_FITS), help=f"separated by semicolons, of {'; '.join(FITS)}")
    parser.add_argument("--worlds", default=",".join(WORLDS), help=f"of {', '.join(WORLDS)}")
    parser.add_argument("--crowds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    return parser
