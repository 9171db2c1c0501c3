"""Compares fits of graded answers with fits of the winners alone: held-out log loss, intervals' width and coverage."""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.benchmarks.crowd_data import found_file, read_columns, read_numbers
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.base import Estimator
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.choosing import assign_folds, paired_difference
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.estimators.gppl import GPPL
from models_engine.posterior import BasePosterior
from models_engine.simulate import Crowd, simulate_crowd

__all__ = ["CRITERIA", "ESTIMATORS", "Row", "main", "read_tournesol", "read_two_peoples_videos", "run", "simulate"]

Floats = NDArray[np.float64]
CRITERIA = ("largely_recommended", "importance")
STEPS = (0, 3, 6, 10)  # of the scale from -10 to 10: a tie, slightly, better, clearly
TWO_PEOPLE = (1, 3)  # numbers of annotators
CUTS = (0.3, 1.2)  # of the simulated answers: a tie, slightly, clearly
ESTIMATORS: dict[str, tuple[Estimator, Estimator]] = {  # counting grades, and winners alone
    "BradleyTerry": (
        BradleyTerry(prior_sd=None, inference="auto"),
        BradleyTerry(prior_sd=None, inference="auto", grades="ignore"),
    ),
    "CrowdBT": (CrowdBT(), CrowdBT(grades="ignore")),
    "CrowdBT(map)": (CrowdBT(inference="map"), CrowdBT(inference="map", grades="ignore")),
    "CrowdBTOnline": (CrowdBTOnline(), CrowdBTOnline(grades="ignore")),
    "GPPL": (GPPL(), GPPL(grades="ignore")),
    "CollaborativeGP": (CollaborativeGP(), CollaborativeGP(grades="ignore")),
    "CrowdGPPL": (CrowdGPPL(), CrowdGPPL(grades="ignore")),
}
# The simulated crowd of each: that of its own model.
CROWDS: dict[str, Callable[[np.random.Generator, int], Crowd]] = {
    "BradleyTerry": lambda rng, n: simulate_crowd(rng, n, 20, utility_sd=1.5),
    "CrowdBT": lambda rng, n: simulate_crowd(rng, n, 20, utility_sd=1.5, reliability=(8.5, 1.5)),
    "CrowdBT(map)": lambda rng, n: simulate_crowd(rng, n, 20, utility_sd=1.5, reliability=(8.5, 1.5)),
    "CrowdBTOnline": lambda rng, n: simulate_crowd(rng, n, 20, utility_sd=1.5, reliability=(8.5, 1.5)),
    "GPPL": lambda rng, n: simulate_crowd(rng, n, 20, link="probit"),
    "CollaborativeGP": lambda rng, n: simulate_crowd(rng, n, 20, taste_sd=0.7, link="probit"),
    "CrowdGPPL": lambda rng, n: simulate_crowd(rng, n, 20, taste_sd=0.7, link="probit"),
}
# Hold matrices over all items, so that they take the answers about some of the videos: so many, None for all that
# `read_two_peoples_videos` finds.
FEW_ITEMS: dict[str, int | None] = {"GPPL": None, "CollaborativeGP": 200, "CrowdGPPL": 200}
MIN_SHOWN = 3  # comparisons of an item that is kept: those of items compared less tell of the prior


@dataclass(frozen=True)
class Row:
    """Both fits on one set. loss: nats a held-out graded outcome; the fit of winners predicts the grade by its share
    among the winners. difference: graded minus winners, with its standard error.   width: mean of 90% intervals over
    the utilities' standard deviation (their scales differ).   coverage: of the true utilities, nan where not known.
    """

    data: str
    estimator: str
    n_labels: int
    n_items: int
    loss: float = float("nan")
    loss_winners: float = float("nan")
    difference: float = float("nan")
    error: float = float("nan")
    width: float = float("nan")
    width_winners: float = float("nan")
    coverage: float = float("nan")
    coverage_winners: float = float("nan")
    seconds: float = 0.0


def read_tournesol(folder: Path, criterion: str, steps: Sequence[int] = STEPS) -> Comparisons:
    """Read how much better one of two videos is (Hoang et al. 2021), items shown MIN_SHOWN times or more.

    `folder`, or its subfolder tournesol_tiny, holds comparisons.csv.gz (user, item_a, item_b, criterion, score).
    steps: upper ends of the absolute scores of a tie and of each grade.
    """
    columns = read_columns(found_file(folder, "tournesol_tiny", "comparisons.csv.gz"))
    kept = np.array(columns["criterion"]) == criterion
    user, left, right, score = (read_numbers(columns[name])[kept] for name in ("user", "item_a", "item_b", "score"))
    inside = np.ones(len(user), dtype=bool)
    while True:  # leaving out an item leaves out comparisons of others
        shown = np.bincount(left[inside], minlength=10_000) + np.bincount(right[inside], minlength=10_000)
        rare = inside & ((shown[left] < MIN_SHOWN) | (shown[right] < MIN_SHOWN))
        if not rare.any():
            break
        inside &= ~rare
    items, places = np.unique(np.concatenate([left[inside], right[inside]]), return_inverse=True)
    a, b = np.split(places, 2)
    grade = np.searchsorted(steps, np.abs(score[inside]))
    outcome = np.where(grade == 0, 0.5, score[inside] < 0)  # below 0: item_a is better
    counts = {"n_items": len(items), "n_grades": len(steps) - 1}
    return Comparisons.from_pairs(a, b, outcome, user[inside], grades=grade, **counts)


def read_two_peoples_videos(folder: Path, criterion: str, most: int | None = None) -> Comparisons:
    """Read the answers of everybody about the videos that two of the five people compared, the second and the fourth:
    few enough for the models that hold a matrix over all items. most: only so many of them, those shown most often in
    these answers. See `read_tournesol`."""
    pairs = read_tournesol(folder, criterion).pairs()
    theirs = np.isin(pairs.annotator, TWO_PEOPLE)
    videos = np.unique([pairs.left[theirs], pairs.right[theirs]])
    if most is not None:
        among = np.isin(pairs.left, videos) & np.isin(pairs.right, videos)
        shown = np.bincount(np.concatenate([pairs.left[among], pairs.right[among]]))
        videos = np.sort(np.argsort(-shown, kind="stable")[:most])
    kept = np.isin(pairs.left, videos) & np.isin(pairs.right, videos)
    left, right = (np.searchsorted(videos, side[kept]) for side in (pairs.left, pairs.right))
    grades = None if pairs.grade is None else pairs.grade[kept]
    counts = {"n_items": len(videos), "n_grades": len(STEPS) - 1}
    return Comparisons.from_pairs(left, right, pairs.outcome[kept], pairs.annotator[kept], grades=grades, **counts)


def grade_shares(data: Comparisons) -> Floats:
    """Return log of the share of each grade among graded answers, (n_grades + 1,); 0 for none."""
    count = np.bincount(data.grades if data.grades is not None else [], minlength=data.n_grades + 1) + 0.5
    shares = np.log(count / count[1:].sum())
    shares[0] = 0.0
    return shares


def compare(name: str, data: Comparisons, estimator: str = "BradleyTerry", seed: int = 0) -> Row:
    """Fit four fifths of the labels both ways, predict the others; width of intervals by all labels."""
    out, started = assign_folds(data, seed) == 0, time.process_time()
    train, test = data.subset(~out), data.subset(out)
    graded, winners = ESTIMATORS[estimator]
    losses = -graded.fit(train).log_predictive(test)
    by_winners = -winners.fit(train).log_predictive(test)
    if test.grades is not None:
        by_winners -= grade_shares(train)[test.grades]
    difference, error = paired_difference(losses, by_winners, test.annotators)
    whole: list[BasePosterior] = [one.fit(data) for one in (graded, winners)]
    return Row(
        name,
        estimator,
        data.n_labels,
        data.n_items,
        float(losses.mean()),
        float(by_winners.mean()),
        difference,
        error,
        relative_width(whole[0]),
        relative_width(whole[1]),
        seconds=time.process_time() - started,
    )


def relative_width(posterior: BasePosterior) -> float:
    """Return the mean width of 90% intervals over the standard deviation of the utilities."""
    return mean_width(posterior) / float(posterior.utilities().std())


def run(folder: Path, estimators: Sequence[str] = tuple(ESTIMATORS), seed: int = 0) -> list[Row]:
    """Compare on each criterion of the Tournesol extract, FEW_ITEMS on what `read_two_peoples_videos` reads."""
    rows = []
    for name in estimators:
        for one in CRITERIA:
            few = name in FEW_ITEMS
            data = read_two_peoples_videos(folder, one, FEW_ITEMS[name]) if few else read_tournesol(folder, one)
            rows.append(compare(f"Tournesol, {one}", data, name, seed))
    return rows


def simulate(
    n_crowds: int, estimator: str = "BradleyTerry", n_items: int = 60, n_labels: int = 600, seed: int = 0
) -> Row:
    """Return means over simulated crowds of the estimator's own model, whose utilities are known."""
    found, losses = [], []
    for number in range(n_crowds):
        rng = np.random.default_rng([seed, number])
        crowd = CROWDS[estimator](rng, n_items)
        data = crowd.graded(n_labels, CUTS, rng)
        one = compare("simulated", data, estimator, seed)
        losses.append((one.loss, one.loss_winners, one.difference))
        both: list[BasePosterior] = [one.fit(data) for one in ESTIMATORS[estimator]]
        found.append([*map(relative_width, both), *(coverage(posterior, crowd.utilities) for posterior in both)])
    loss, loss_winners, difference = np.mean(losses, axis=0).tolist()
    width, width_winners, hit, hit_winners = np.mean(found, axis=0).tolist()
    error = float(np.std([one[2] for one in losses], ddof=1) / np.sqrt(n_crowds)) if n_crowds > 1 else float("nan")
    name = "simulated, 0.3 and 1.2"
    return Row(
        name,
        estimator,
        n_labels,
        n_items,
        loss,
        loss_winners,
        difference,
        error,
        width,
        width_winners,
        hit,
        hit_winners,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the table on stdout."""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks grades", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the Tournesol data; left out, with the reason, if absent")
    parser.add_argument("--crowds", type=int, default=8, help="number of simulated crowds (default 8)")
    parser.add_argument("--estimators", nargs="+", choices=list(ESTIMATORS), default=list(ESTIMATORS))
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    rows = [simulate(options.crowds, name) for name in options.estimators] if options.crowds else []
    if options.data is None:
        print("Tournesol: left out, as no --data names its folder.")
    else:
        try:
            rows += run(options.data, options.estimators)
        except InvalidData as error:
            print(f"Tournesol: left out. {error}")
    head = f"{'':<32}{'estimator':<16}{'labels':>8}{'items':>7}{'log loss':>18}{'difference':>19}{'width':>14}"
    print(f"{head}{'coverage':>14}")
    for row in rows:
        change = f"{row.difference:.4f} ± {row.error:.4f}"
        print(
            f"{row.data:<32}{row.estimator:<16}{row.n_labels:>8}{row.n_items:>7}{row.loss:>9.4f}{row.loss_winners:>9.4f}{change:>19}"
            f"{row.width:>7.2f}{row.width_winners:>7.2f}{row.coverage:>7.3f}{row.coverage_winners:>7.3f}"
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0
