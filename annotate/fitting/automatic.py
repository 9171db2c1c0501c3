"""The project setting Automatic: which estimator a fit uses, chosen anew when the labels have grown by half."""

from dataclasses import asdict
from typing import Any

import numpy as np

from annotate.fitting.reading import Labels
from models_engine.estimators import choosing
from models_engine.estimators.choosing import Choice, Trial, candidate_names
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit
from models_engine.progress import Progress

KeptChoice = dict[str, Any]
GROWTH = 1.5


def reusable_choice(former: Fit | None, n_labels: int) -> KeptChoice | None:
    """Return the choice an earlier fit was made by, where the labels are not half as many again, nor a third fewer."""
    choice: KeptChoice | None = former.diagnostics.get("choice") if former else None
    if choice is None or choice["estimator"] not in ESTIMATORS:
        return None
    return choice if choice["n_labels"] / GROWTH < n_labels < GROWTH * choice["n_labels"] else None


def choose_estimator(labels: Labels, former: Fit | None, seed: int, progress: Progress) -> KeptChoice:
    """Return the earlier choice, or a new one, as it is kept in the diagnostics of a fit."""
    data = labels.data
    earlier = reusable_choice(former, data.n_labels)
    if earlier is not None:
        return earlier
    candidates = {name: ESTIMATORS[name].estimator() for name in candidate_names(data)}
    return choice_as_json(choosing.choose_estimator(data, candidates, seed=seed, progress=progress), data.n_labels)


def choice_as_json(choice: Choice, n_labels: int) -> KeptChoice:
    """Return JSON without infinities, None for what is not known."""
    return {
        "estimator": choice.name,
        "best": min((one for one in choice.trials if not one.failed), key=lambda one: one.loss).name
        if choice.trials
        else choice.name,
        "reason": choice.reason,
        "n_labels": n_labels,
        "n_held_out": choice.n_held_out,
        "trials": [trial_as_json(one) for one in choice.trials],
    }


def trial_as_json(trial: Trial) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in asdict(trial).items()
    }
