"""Rankings from counts: whether intervals hold on simulated crowds, and plays held out against simple rules."""

import argparse
import csv
import gzip
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.count_losses import negative_binomial_loss
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.plays_thesis import PARTS as THESIS_PARTS
from models_engine.benchmarks.plays_thesis import print_thesis
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.estimators.count_factorization import CountFactorization
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.factorization import CountModel
from models_engine.linalg import sum_by_group

__all__ = [
    "WORLDS",
    "NatsRow",
    "PlaysRow",
    "World",
    "held_out",
    "main",
    "measure_world",
    "predicted",
    "simulate",
]

Floats = NDArray[np.float64]
N_ITEMS, N_ANNOTATORS = 60, 200
HELD_OUT = 0.2
MIN_LISTENERS = 5  # of an artist, below which it is left out
Z90 = 1.6448536269514722


@dataclass(frozen=True)
class World:
    """How counts are drawn. factors: of taste, each of standard deviation .8; rho: of a negative binomial."""

    name: str
    factors: int = 0
    rho: float = np.inf
    seen: float = 0.1


WORLDS = (
    World("Poisson"),
    World("rho 1.5", rho=1.5),
    World("one taste", factors=1, seen=0.3),
    World("two tastes", factors=2, seen=0.3),
    World("three tastes", factors=3),
)


def simulate(world: World, seed: int) -> tuple[CountCells, Floats, Floats]:
    """Return counts, the items' effects, and the logs of what the crowd counts of them on average, both (n_items,)."""
    rng = np.random.default_rng(seed)
    b, a = rng.normal(0, 0.6, N_ITEMS), rng.normal(0, 0.5, N_ANNOTATORS)
    taste = rng.normal(0, 0.8, (N_ITEMS, world.factors)) @ rng.normal(0, 0.8, (world.factors, N_ANNOTATORS))
    item, who = np.nonzero(rng.random(taste.shape) < world.seen)
    exposure = rng.uniform(0.5, 2.0, len(item))
    rate = exposure * np.exp(0.5 + b[item] + a[who] + taste[item, who])
    if np.isfinite(world.rho):
        rate = rate * rng.gamma(world.rho, 1 / world.rho, len(item))
    sizes = {"n_items": N_ITEMS, "n_annotators": N_ANNOTATORS}
    cells = CountCells.from_rows(item, who, rng.poisson(rate), exposure, **sizes)
    return cells, b, b + np.log(np.exp(taste).mean(axis=1))


@dataclass(frozen=True)
class WorldRow:
    """Shares of items whose 90% interval holds the truth: the ranking's utilities, what the crowd counts on average;
    item effects beside as many factors as there are, the effect of the average taste (nan without tastes)."""

    world: str
    utilities: float
    beside_factors: float
    n_seeds: int


def measure_world(world: World, n_seeds: int) -> WorldRow:
    """Fit n_seeds crowds of this world."""
    own, other = [], []
    for seed in range(n_seeds):
        cells, effect, average = simulate(world, seed)
        found = CountFactorization().fit(cells)
        own.append(held(found.utilities(), average, found.standard_deviations()))
        if world.factors:
            fitted = CountModel(world.factors, "poisson").fit(cells)
            other.append(held(fitted.item_effects, effect, np.sqrt(fitted.item_spread().variances())))
    return WorldRow(world.name, float(np.mean(own)), float(np.mean(other)) if other else float("nan"), n_seeds)


def held(found: Floats, truth: Floats, deviation: Floats) -> float:
    error = found - found.mean() - (truth - truth.mean())
    return float((np.abs(error) < Z90 * deviation).mean())


@dataclass(frozen=True)
class PlaysRow:
    """Share of pairs of held-out counts of one listener, in whose order a ranking of all puts them, over listeners.

    sd: standard error over listeners of the difference to CountFactorization, 0 for itself.
    """

    ranking: str
    right: float
    behind: float
    sd: float
    cpu_s: float


def read_plays(path: Path, min_listeners: int = MIN_LISTENERS) -> CountCells:
    """Read user, artist, plays; artists of fewer than min_listeners listeners are left out."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        table = np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    _, item, n = np.unique(table[:, 1], return_inverse=True, return_counts=True)
    kept = n[item] >= min_listeners
    items, users = (np.unique(column[kept], return_inverse=True)[1] for column in (table[:, 1], table[:, 0]))
    return CountCells.from_rows(items, users, table[kept, 2])


def held_out(cells: CountCells, seed: int = 0) -> list[PlaysRow]:
    """Rank items by four fifths of the counts and compare with pairs of the others."""
    out = np.random.default_rng(seed).random(cells.n_cells) < HELD_OUT
    train, test = cells.subset(~out), cells.subset(out)
    began = time.process_time()
    fitted = CountFactorization().fit(train).utilities()
    seconds = time.process_time() - began
    total = sum_by_group(train.items, train.counts, cells.n_items)
    listeners = np.maximum(train.n_comparisons(), 1)
    logs = sum_by_group(train.items, np.log1p(train.counts), cells.n_items)
    rankings = {"CountFactorization": fitted, "total": total, "mean": total / listeners, "mean log": logs / listeners}
    by_listener = {name: share_right(test, scores) for name, scores in rankings.items()}
    own = by_listener["CountFactorization"]
    rows = []
    for name, shares in by_listener.items():
        behind = own - shares
        error = float(behind.std(ddof=1) / np.sqrt(len(behind)))
        rows.append(PlaysRow(name, float(shares.mean()), float(behind.mean()), error, 0.0))
    rows[0] = PlaysRow(rows[0].ranking, rows[0].right, 0.0, 0.0, seconds)
    return rows


def share_right(test: CountCells, scores: Floats) -> Floats:
    """Return, for each annotator with two different counts, the share of such pairs that the scores order alike."""
    found = []
    for rows in np.split(np.argsort(test.annotators, kind="stable"), np.cumsum(np.bincount(test.annotators))[:-1]):
        left, right = np.triu_indices(len(rows), 1)
        counted = np.sign(test.counts[rows[left]] - test.counts[rows[right]])
        ranked = np.sign(scores[test.items[rows[left]]] - scores[test.items[rows[right]]])
        differ = counted != 0
        if differ.any():
            found.append(((1 + counted * ranked) / 2)[differ].mean())
    return np.array(found)


@dataclass(frozen=True)
class NatsRow:
    """Mean minus log probability of a held-out count, in nats; behind: how much more than by effects of both, with its
    standard error sd over listeners."""

    rule: str
    nats: float
    behind: float
    sd: float


def predicted(cells: CountCells, seed: int = 0) -> list[NatsRow]:
    """Predict a fifth of the counts by negative binomials: one mean, each item's own mean, effects of both."""
    out = np.random.default_rng(seed).random(cells.n_cells) < HELD_OUT
    train, test = cells.subset(~out), cells.subset(out)
    fitted = CountModel(0, "negative binomial", n_prior=2.0).fit(train)
    overall = np.full(cells.n_items, train.counts.sum() / train.exposures.sum())
    exposure = np.bincount(train.items, train.exposures, cells.n_items)
    by_item = (np.bincount(train.items, train.counts, cells.n_items) + overall) / (exposure + 1)
    loss = {
        "effects of both": -fitted.log_predictive(test.items, test.annotators, test.counts, test.exposures),
        "each item's mean": negative_binomial_loss(train, test, by_item),
        "one mean": negative_binomial_loss(train, test, overall),
    }
    n = np.bincount(test.annotators, minlength=cells.n_annotators)
    rows = []
    for rule, values in loss.items():
        behind = np.bincount(test.annotators, values - loss["effects of both"], cells.n_annotators)[n > 0]
        mean = behind.sum() / n.sum()
        error = float(np.sqrt(((behind - mean * n[n > 0]) ** 2).sum()) / n.sum())
        rows.append(NatsRow(rule, float(values.mean()), float(mean), error))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks plays", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with lastfm_plays.csv.gz (user, artist, plays)")
    parser.add_argument("--seeds", type=int, default=20, help="crowds of each world")
    parser.add_argument("--thesis", type=int, metavar="SPLITS", help="only Ko's thesis, so many splits")
    parser.add_argument("--parts", help=f"of --thesis, separated by commas: {', '.join(THESIS_PARTS)}; default: table")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.thesis:
        if options.data is None:
            raise InvalidSetting("--thesis needs the plays; give --data the folder of lastfm_plays.csv.gz.")
        return print_thesis(read_plays(options.data / "lastfm_plays.csv.gz", 1), options)
    if options.parts:
        raise InvalidSetting("--parts are of Ko's thesis; give --thesis the number of splits too.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        worlds = []
        for world in WORLDS:
            print(f"{world.name} ...", file=sys.stderr, flush=True)
            worlds.append(measure_world(world, options.seeds))
        cells = read_plays(options.data / "lastfm_plays.csv.gz") if options.data else None
        plays = [] if cells is None else held_out(cells)
        nats = [] if cells is None else predicted(cells)
    if options.json:
        tables = {"worlds": [asdict(row) for row in worlds], "plays": [asdict(row) for row in plays]}
        tables |= {"nats": [asdict(row) for row in nats]}
        print(json.dumps({"machine": describe_machine(), **tables}, indent=2))
        return 0
    print(f"{'world':<16}{'utilities':>10}{'beside factors':>16}")
    for row in worlds:
        print(f"{row.world:<16}{row.utilities:>10.3f}{row.beside_factors:>16.3f}")
    for one in plays:
        print(f"{one.ranking:<20}{one.right:>8.4f}{one.behind:>9.4f} ± {one.sd:.4f}{one.cpu_s:>8.1f} s")
    for other in nats:
        print(f"{other.rule:<20}{other.nats:>8.3f}{other.behind:>9.3f} ± {other.sd:.3f} nats")
    return 0
