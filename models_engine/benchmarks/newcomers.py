"""New people without answers, predicted from what they say of themselves: held-out log loss of their pairs, nats.

Sushi: people rank ten sushi; features are gender, age, East or West in childhood and now, moved. tricot: farmers name
the best and worst of three bean varieties; features are night temperature, position, planting day and season.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.crowd_data import found_file, read_columns, read_numbers
from models_engine.benchmarks.joint_gp import JointGP, JointPosterior
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.sushi_data import read_sushi
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.estimators.choosing import paired_difference
from models_engine.estimators.collaborative.gp import CollaborativeGP

__all__ = [
    "MODELS",
    "SETS",
    "NewcomerRow",
    "People",
    "draw_pairs",
    "main",
    "measure",
    "read_sushi_people",
    "read_tricot",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
BASELINE = "one ranking"
N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class People:
    """rankings (n, k): of each person, items best first. features (n, e).   n_items."""

    rankings: Ints
    features: Floats
    n_items: int


@dataclass(frozen=True)
class NewcomerRow:
    """loss: nats a pair of new people. difference: from one ranking's, with its standard error over people."""

    model: str
    loss: float
    difference: float
    error: float
    cpu_s: float
    converged: bool


def read_sushi_people(folder: Path) -> People:
    """Read the 5,000 rankings of ten sushi and what the people said of themselves."""
    data = read_sushi(folder)
    return People(data.rankings_a, data.users, 10)


def read_tricot(folder: Path) -> People:
    """Read 842 farmers' rankings of three of ten bean varieties (van Etten et al. 2019), best, other, worst.

    folder, or its subfolder tricot_beans, holds rankings.csv.gz. A season is an indicator each. Raises InvalidData.
    """
    table = read_columns(found_file(folder, "tricot_beans", "rankings.csv.gz"))
    shown = np.column_stack([read_numbers(table[f"item_{letter}"]) for letter in "abc"])
    best, worst = (np.array([["abc".index(one)] for one in table[name]]) for name in ("best", "worst"))
    rankings = np.take_along_axis(shown, np.hstack([best, 3 - best - worst, worst]), axis=1)
    measured = [np.array(table[name], dtype=np.float64) for name in ("max_night_temp_c", "lon_1dp", "lat_1dp")]
    day = np.array(table["planting_day"], dtype="datetime64[D]").astype(np.float64)
    season, which = np.unique(table["season"], return_inverse=True)
    return People(rankings, np.column_stack([*measured, day, np.eye(len(season))[which.ravel()]]), 10)


SETS: dict[str, Callable[[Path], People]] = {"sushi": read_sushi_people, "tricot": read_tricot}
MODELS: dict[str, tuple[Callable[[], Any], bool]] = {  # an estimator, and whether it is given the features
    BASELINE: (CollaborativeGP, False),
    "regression": (CollaborativeGP, True),
    "joint GP-u": (lambda: JointGP(features=False), False),
    "joint GP": (JointGP, True),
}


def draw_pairs(rankings: Ints, n_pairs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw n_pairs different pairs of each ranking (n, k); return winners and losers, (n, n_pairs) each."""
    better, worse = np.triu_indices(rankings.shape[1], 1)
    chosen = np.argsort(rng.random((len(rankings), len(better))), axis=1)[:, :n_pairs]
    return np.take_along_axis(rankings, better[chosen], axis=1), np.take_along_axis(rankings, worse[chosen], axis=1)


def measure(people: People, n_known: int, n_pairs: int, models: Sequence[str], seed: int = 0) -> list[NewcomerRow]:
    """Fit n_pairs pairs of each of n_known people; predict those of the others, all in five folds.

    n_known: people known in each fold (at most four fifths); the other fifth is new.
    """
    n = len(people.rankings)
    fold = np.random.default_rng([seed, 1]).permutation(n) % N_FOLDS
    losses: dict[str, list[Floats]] = {name: [] for name in models}
    seconds, converged, who = dict.fromkeys(models, 0.0), dict.fromkeys(models, True), []
    for k in range(N_FOLDS):
        rng = np.random.default_rng([seed, 2, k])
        known = rng.permutation(np.flatnonzero(fold != k))[:n_known]
        new = np.flatnonzero(fold == k)[:n_known]
        used = np.concatenate([known, new])
        winner, loser = draw_pairs(people.rankings[used], n_pairs, rng)
        n_train = len(known) * winner.shape[1]
        annotator = np.repeat(np.arange(len(used)), winner.shape[1])
        who.append(used[annotator[n_train:]])
        for name in models:
            build, has_features = MODELS[name]
            train = Comparisons.from_pairs(
                winner.ravel()[:n_train],
                loser.ravel()[:n_train],
                np.ones(n_train),
                annotator[:n_train],
                n_items=people.n_items,
                n_annotators=len(used),
                annotator_features=people.features[used] if has_features else None,
            )
            began = time.process_time()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", NotConverged)
                posterior = build().fit(train)
            seconds[name] += time.process_time() - began
            converged[name] &= not any(issubclass(one.category, NotConverged) for one in caught)
            losses[name].append(_losses(posterior, winner, loser, people.features[used], len(known), has_features))
            print(f"fold {k + 1}, {name}: {losses[name][-1].mean():.4f}", file=sys.stderr, flush=True)
    every = {name: np.concatenate(each) for name, each in losses.items()}
    rows = []
    for name, own in every.items():
        difference, error = paired_difference(own, every[models[0]], np.concatenate(who))
        rows.append(NewcomerRow(name, float(own.mean()), difference, error, seconds[name], converged[name]))
    return rows


def _losses(posterior: Any, winner: Ints, loser: Ints, features: Floats, n_known: int, has_features: bool) -> Floats:
    """Return -log P of the pairs of everybody from n_known on, person by person."""
    result = []
    for person in range(n_known, len(winner)):
        if isinstance(posterior, JointPosterior):
            chance = posterior.pairwise_probabilities(winner[person], loser[person], person)
        else:
            own = posterior.for_annotator(None, features=features[person] if has_features else None)
            chance = own.pairwise_probabilities(winner[person], loser[person])
        result.append(-np.log(chance))
    return np.concatenate(result)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks newcomers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with sushi and tricot_beans")
    parser.add_argument("--set", choices=list(SETS), default="tricot")
    parser.add_argument("--known", type=int, default=5_000, help="most people known in each of five folds")
    parser.add_argument("--pairs", type=int, default=3, help="of each person")
    parser.add_argument("--models", default=f"{BASELINE},regression", help=f"by commas: {', '.join(MODELS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args(arguments)
    names = options.models.split(",")
    if unknown := [name for name in names if name not in MODELS]:
        raise InvalidSetting(f"there is no model {unknown[0]!r}; choose from {', '.join(MODELS)}.")
    rows = measure(SETS[options.set](options.data), options.known, options.pairs, names, options.seed)
    print(describe_machine())
    print(f"{'model':<24}{'nats':>9}{'from first':>12}{'s.e.':>9}{'CPU s':>9}")
    for row in rows:
        note = "" if row.converged else "  not converged"
        print(f"{row.model:<24}{row.loss:>9.4f}{row.difference:>+12.4f}{row.error:>9.4f}{row.cpu_s:>9.1f}{note}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0
