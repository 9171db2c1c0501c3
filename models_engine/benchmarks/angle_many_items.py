"""Xu, Alvo & Yu, Figures 11 and 12: a hundred sushi of which each person ranked ten, by region and by groups."""

import sys
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.sushi_data import SushiData
from models_engine.data import Comparisons
from models_engine.estimators.angle_based import AngleBased
from models_engine.estimators.angle_mixture import AngleBasedMixture
from models_engine.estimators.base import Estimator
from models_engine.estimators.choosing import paired_difference
from models_engine.estimators.plackett_luce import PlackettLuce

__all__ = ["PRIOR_SD", "BestItems", "HeldOutRow", "best_ten", "hold_out"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
EAST_OR_WEST = 2  # column of SushiData.users: where somebody lived longest until 15
REGIONS = ("East", "West")
READINGS = ("given", "best ten")
# As 3 for ten items: log odds are utilities times a distance of places that falls as the root of the items' number.
PRIOR_SD = 10.0
TOLERANCE = 1e-5


@dataclass(frozen=True)
class BestItems:
    """The ten items of smallest theta: items, mean and sd of theta; n people, kappa.

    reading: "given", of the ten sushi that each person was given; "best ten", as the paper takes them, the ten best
    of all hundred.
    """

    region: str
    reading: str
    n: int
    kappa: float
    items: list[int]
    mean: list[float]
    sd: list[float]
    converged: bool


@dataclass(frozen=True)
class HeldOutRow:
    """loss: nats a held-out ranking of ten. difference: from Plackett-Luce's, with its standard error. cpu_s: a fit."""

    model: str
    loss: float
    difference: float
    error: float
    cpu_s: float
    converged: bool


def read_as(rankings: Ints, reading: str) -> Comparisons:
    """Return rankings (n, 10) of a hundred items, an annotator each, by this reading."""
    people = np.arange(len(rankings))
    if reading == "given":
        return Comparisons.from_rankings(rankings, people, n_items=100)
    shown = np.broadcast_to(np.arange(100), (len(rankings), 100))
    return Comparisons.from_top(rankings, shown, people, n_items=100)


def best_ten(data: SushiData, people: int | None = None) -> list[BestItems]:
    """Fit each region by each reading; of the first `people` of the data, all where None."""
    rankings, users = data.rankings_b[:people], data.users[:people]
    rows = []
    for reading in READINGS:
        for code, region in enumerate(REGIONS):
            labels = read_as(rankings[users[:, EAST_OR_WEST] == code], reading)
            posterior = AngleBased(prior_sd=PRIOR_SD, inference="laplace").fit(labels)
            kappa = posterior.concentrations()
            theta = -posterior.draws / kappa[:, None]
            mean, sd = theta.mean(axis=0), theta.std(axis=0, ddof=1)
            best = np.argsort(mean)[:10]
            figures = (best.tolist(), mean[best].tolist(), sd[best].tolist())
            converged = posterior.diagnostics.converged
            rows.append(BestItems(region, reading, labels.n_labels, float(kappa.mean()), *figures, converged))
    return rows


def hold_out(
    rankings: Ints, n_items: int, seed: int, groups: tuple[int, ...], prior_sd: float = 3.0
) -> list[HeldOutRow]:
    """Hold out a fifth of the people of rankings (n, k), best first; predict theirs by one order and by groups.

    Of some items of many a group's mode takes a second, so that groups stop where their bound rises by less than one
    part in 100,000.
    """
    people = len(rankings)
    held_out = np.random.default_rng([seed, 2]).permutation(people) < people // 5
    train = Comparisons.from_rankings(rankings[~held_out], np.arange(int((~held_out).sum())), n_items=n_items)
    who = np.full(int(held_out.sum()), train.n_annotators)
    test = Comparisons.from_rankings(rankings[held_out], who, n_items=n_items)
    inference: Literal["laplace", "sir"] = "laplace" if rankings.shape[1] < n_items else "sir"
    models: dict[str, Estimator] = {
        "Plackett-Luce": PlackettLuce(),
        "one angle": AngleBased(prior_sd=prior_sd, inference=inference),
    }
    tolerance = TOLERANCE if rankings.shape[1] < n_items else AngleBasedMixture.tolerance
    for size in groups:
        models[f"{size} groups"] = AngleBasedMixture(size, prior_sd=prior_sd, n_restarts=2, tolerance=tolerance)
    losses: dict[str, Floats] = {}
    rows = []
    for name, model in models.items():
        began = time.process_time()
        posterior = model.fit(train)
        seconds = time.process_time() - began
        print(f"{name}: {seconds:.1f} CPU s", file=sys.stderr, flush=True)
        losses[name] = -posterior.log_predictive(test)
        difference, error = paired_difference(losses[name], losses["Plackett-Luce"], np.arange(len(who)))
        converged = posterior.diagnostics.converged
        rows.append(HeldOutRow(name, float(losses[name].mean()), difference, error, seconds, converged))
    return rows
