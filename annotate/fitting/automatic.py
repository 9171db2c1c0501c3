"""The project setting Automatic: which estimator a fit uses, chosen anew when the labels have grown by half.

Choosing takes many fits. Before it, a fit of all labels by the estimator chosen last (else the simplest) is published;
its diagnostics have "choosing": True.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from annotate.core.stored_messages import store_engine_message
from annotate.criteria import Criterion
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.reading import Labels, read_labels
from annotate.models import Label
from models_engine.constants import MIN_LABELS_TO_CHOOSE
from models_engine.estimators import choosing
from models_engine.estimators.choosing import AUTOMATIC, SIMPLEST_FIRST, Choice, Trial, candidate_names
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit
from models_engine.progress import Progress

KeptChoice = dict[str, Any]
GROWTH = 1.5


def reusable_choice(former: Fit | None, n_labels: int) -> KeptChoice | None:
    """Return the choice an earlier fit was made by, where the labels are not half as many again, nor a third fewer."""
    choice = last_choice(former)
    if choice is None:
        return None
    return choice if choice["n_labels"] / GROWTH < n_labels < GROWTH * choice["n_labels"] else None


def last_choice(former: Fit | None) -> KeptChoice | None:
    """Return the choice that an earlier fit was made by, however old."""
    choice: KeptChoice | None = former.diagnostics.get("choice") if former else None
    return choice if choice and choice["estimator"] in ESTIMATORS else None


def quick_estimator(former: Fit | None) -> str:
    choice = last_choice(former)
    return str(choice["estimator"]) if choice else SIMPLEST_FIRST[0]


def needs_quick_fit(criterion: Criterion, former: Fit | None) -> bool:
    """Tell whether the next fit compares estimators, and none of these labels is published yet."""
    if criterion.project.estimator != AUTOMATIC:
        return False
    n_stored = Label.objects.filter(project=criterion.project, voided_at=None).count()
    if n_stored < MIN_LABELS_TO_CHOOSE or reusable_choice(former, n_stored):
        return False
    labels = read_labels(criterion)  # some stored labels say nothing of the items
    if labels is None or labels.data.n_labels < MIN_LABELS_TO_CHOOSE or reusable_choice(former, labels.data.n_labels):
        return False
    is_published = former is not None and former.diagnostics.get("choosing")
    return not (is_published and former is not None and former.data_hash == labels.data.data_hash())


def choose_estimator(
    labels: Labels, former: Fit | None, seed: int, progress: Progress
) -> tuple[KeptChoice, dict[str, Any]]:
    """Return the earlier choice, or a new one, as it is kept in the diagnostics of a fit; and where it was computed, as
    fit_on_cluster tells it."""
    data = labels.data
    earlier = reusable_choice(former, data.n_labels)
    if earlier is not None:
        return earlier, {}
    candidates = {name: ESTIMATORS[name].estimator() for name in candidate_names(data)}
    choice, where = fit_on_cluster(lambda: choosing.choose_estimator(data, candidates, seed=seed, progress=progress))
    return choice_as_json(choice, data.n_labels), where


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
    kept = {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in asdict(trial).items()
    }
    return kept | {"failed": store_engine_message(trial.failed)}
