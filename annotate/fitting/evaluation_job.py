"""Evaluates the estimators on held-out labels; evaluation_queue.py says when."""

from dataclasses import asdict
from typing import Any

import numpy as np
from django.utils import timezone

from annotate.core.stored_messages import store_engine_message
from annotate.criteria import Criterion
from annotate.fitting.answers import RULES
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.fitting.reliability import measure_halves
from annotate.fitting.run import SEED
from annotate.jobs.queues import Progress
from annotate.models import AskedBy, Evaluation
from annotate.models.leased_jobs import LeaseLost
from models_engine.analysis.evaluation import evaluate_estimators, sample_annotators
from models_engine.estimators.choosing import candidate_names
from models_engine.estimators.table import ESTIMATORS

# With more labels four more fits take too long for a background job: so many are drawn at random then.
MAX_LABELS = 200_000


def work(row: Evaluation, progress: Progress) -> None:
    """Evaluate every estimator that suits the labels and the one in use, and rank halves of the labels apart.

    Raises Cancelled and LeaseLost.
    """
    criterion = Criterion(row.project, row.criterion)
    fit, labels = published_fit(criterion), read_labels(criterion, machines=False)
    if fit is None or labels is None:
        raise LeaseLost(str(row.project_id))
    data, fair = labels.data, labels.rules != RULES[AskedBy.ADAPTIVE]
    if data.n_labels > MAX_LABELS:
        drawn = sample_annotators(data, MAX_LABELS, seed=SEED)
        data, fair = data.subset(drawn), fair[drawn]
    names = candidate_names(data)
    if fit.estimator in ESTIMATORS and fit.estimator not in names:
        names.append(fit.estimator)
    candidates = {name: ESTIMATORS[name].estimator() for name in names}
    found, _ = fit_on_cluster(
        lambda: evaluate_estimators(data, candidates, reference=fit.estimator, fair=fair, seed=SEED, progress=progress)
    )
    values: dict[str, Any] = {
        "n_labels": fit.n_labels,
        "n_drawn": data.n_labels if data.n_labels < labels.data.n_labels else None,
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "split_half": measure_halves(labels, progress),
        "figures": [finite_json(asdict(one)) | {"failed": store_engine_message(one.failed)} for one in found],
        "made_at": timezone.now(),
        "dismissed_at": None,
    }
    row.complete(**values, gave_way=0, due_since=None, not_before=None, message="", crossings=0, given_up=None)


def finite_json(value: Any) -> Any:
    """Return JSON with None for what is not known."""
    if isinstance(value, dict):
        return {name: finite_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
