"""Small data sets for the engine's tests, and per estimator the settings that keep its tests quick."""

from typing import Any

import numpy as np

from models_engine.data import Comparisons
from models_engine.estimators.base import Estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.simulate import Crowd, simulate_crowd

N_ITEMS, N_ANNOTATORS = 8, 5

# Settings for tests only, where an estimator's defaults are too slow for small data. One line each.
QUICK: dict[str, dict[str, Any]] = {
    "AngleBased": {"n_draws": 400},
    "AngleBasedMixture": {"n_groups": 1, "n_draws": 400},  # groups have tests of their own, and DIC finds one here
    "CrowdGPPL": {"n_components": 4, "max_steps": 20},
    "FeaturePlackettLuce": {"max_iterations": 150},
}

# The crowd an estimator believes in: keywords of `simulate.crowd`, where they differ from those in `own_crowd`.
OWN_MODELS: dict[str, dict[str, Any]] = {
    "BradleyTerry": {"utility_sd": 1.5},
    "CollaborativeGP": {"taste_sd": 0.7, "reliability": (4.9, 0.1), "link": "probit"},
    "CrowdBT": {"utility_sd": 1.5, "reliability": (8.5, 1.5)},
    "CrowdBTOnline": {"utility_sd": 1.5, "reliability": (8.5, 1.5)},
    "CrowdGPPL": {"taste_sd": 0.7, "reliability": (4.9, 0.1), "link": "probit"},
    "GPPL": {"link": "probit"},
}


def quick(name: str) -> Estimator:
    """The estimator of that name with quick settings."""
    return ESTIMATORS[name].estimator(**QUICK.get(name, {}))


def features(rng: np.random.Generator, n_items: int = N_ITEMS, n_annotators: int = N_ANNOTATORS) -> dict[str, Any]:
    """Features for everybody: estimators that have no use for them must not mind."""
    return {
        "item_features": rng.standard_normal((n_items, 3)),
        "annotator_features": rng.standard_normal((n_annotators, 2)),
    }


def some_pairs(seed: int = 0, n_labels: int = 160, *, tie: float = 0.0) -> Comparisons:
    """Pairs over 8 items by 5 annotators, with features."""
    rng = np.random.default_rng(seed)
    data = simulate_crowd(rng, N_ITEMS, N_ANNOTATORS, utility_sd=1.0, tie=tie).pairs(n_labels, rng)
    return with_features(data, rng)


def with_features(data: Comparisons, rng: np.random.Generator) -> Comparisons:
    """The same labels with random features."""
    extra = features(rng, data.n_items, data.n_annotators)
    none = Comparisons.from_pairs([], [], [], [], n_items=data.n_items, n_annotators=data.n_annotators, **extra)
    return Comparisons.concatenate([data, none])


def labels_of_every_kind(seed: int = 0) -> Comparisons:
    """Pairs with ties, choices, tops, best-worst and rankings over 8 items by 5 annotators, with features."""
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, N_ITEMS, N_ANNOTATORS, tie=0.5)
    parts = [
        people.pairs(60, rng),
        people.choices(20, 4, rng),
        people.top(20, 5, 2, rng),
        people.best_worst(20, 4, rng),
        people.rankings(20, 4, rng),
    ]
    return with_features(Comparisons.concatenate(parts), rng)


def own_crowd(name: str, rng: np.random.Generator, n_items: int, n_annotators: int) -> Crowd:
    """A crowd drawn from the estimator's own model at its default prior."""
    return simulate_crowd(rng, n_items, n_annotators, **{"utility_sd": 1.0, **OWN_MODELS.get(name, {})})


def make_chain(n_items: int, n_answers: int) -> Comparisons:
    """Return answers about each item and the next one alone, by as many people as answers, who all prefer the first."""
    first, who = np.divmod(np.arange((n_items - 1) * n_answers), n_answers)
    return Comparisons.from_pairs(first, first + 1, np.ones(len(first)), who, n_items=n_items, n_annotators=n_answers)
