"""The project setting Automatic: which estimator a fit uses, chosen anew when the labels have grown by half."""

from dataclasses import asdict
from typing import Any

import numpy as np

from annotate.fitting_rows import Labels
from models_engine.estimators.choosing import Choice, Trial, choose, names_for
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit
from models_engine.progress import Progress

Remembered = dict[str, Any]
GROWTH = 1.5


def remembered(former: Fit | None, n_labels: int) -> Remembered | None:
    """The choice an earlier fit was made by, where the labels are not half as many again, nor a third fewer."""
    choice: Remembered | None = former.diagnostics.get("choice") if former else None
    if choice is None or choice["estimator"] not in ESTIMATORS:
        return None
    return choice if choice["n_labels"] / GROWTH < n_labels < GROWTH * choice["n_labels"] else None


def choose_for(labels: Labels, former: Fit | None, seed: int, progress: Progress) -> Remembered:
    """The earlier choice, or a new one, as it is kept in the diagnostics of a fit."""
    data = labels.data
    earlier = remembered(former, data.n_labels)
    if earlier is not None:
        return earlier
    candidates = {name: ESTIMATORS[name].estimator() for name in names_for(data)}
    return to_keep(choose(data, candidates, seed=seed, progress=progress), data.n_labels)


def to_keep(choice: Choice, n_labels: int) -> Remembered:
    """JSON: without infinities, None for what is not known."""
    return {
        "estimator": choice.name,
        "best": min((one for one in choice.trials if not one.failed), key=lambda one: one.loss).name
        if choice.trials
        else choice.name,
        "reason": choice.reason,
        "n_labels": n_labels,
        "n_held_out": choice.n_held_out,
        "trials": [figures(one) for one in choice.trials],
    }


def figures(trial: Trial) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in asdict(trial).items()
    }
