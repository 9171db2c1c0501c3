"""Measures on items left out whether features tell where an item stands; predictions_queue.py says when."""

from dataclasses import asdict
from typing import Any

from django.utils import timezone

from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.evaluation_job import finite_json
from annotate.fitting.features import known_items
from annotate.fitting.published import published_fit
from annotate.fitting.reading import Labels, read_labels
from annotate.fitting.run import SEED
from annotate.jobs.fit_requests import request_fit
from annotate.jobs.queues import Progress
from annotate.models import PredictionGain
from annotate.models.leased_jobs import LeaseLost
from models_engine.analysis.evaluation import sample_annotators
from models_engine.analysis.held_out_items import HeldOutGain, held_out_gain
from models_engine.errors import InsufficientData
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit

MAX_LABELS = 50_000  # with more, so many are drawn at random: of each of five fits


def work(row: PredictionGain, progress: Progress) -> None:
    """Measures and stores it; where it decides otherwise than before whether places are predicted, asks for a fit.

    Raises Cancelled and LeaseLost.
    """
    criterion = Criterion(row.project, row.criterion)
    fit, labels = published_fit(criterion), read_labels(criterion, machines=False)
    if fit is None or labels is None or fit.estimator not in ESTIMATORS:
        raise LeaseLost(str(row.project_id))
    found, before = measure_gain(criterion, fit, labels, progress), row.helps
    values: dict[str, Any] = {
        "n_labels": fit.n_labels,
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "figures": {} if found is None else finite_json(asdict(found)),
        "made_at": timezone.now(),
    }
    with write_transaction():
        row.complete(**values, gave_way=0, not_before=None, message="", crossings=0, given_up=None)
        after = PredictionGain(figures=values["figures"]).helps
        if row.project.predict_unseen and after != before:
            request_fit(row.project)


def measure_gain(criterion: Criterion, fit: Fit, labels: Labels, progress: Progress) -> HeldOutGain | None:
    """Return what features tell of items left out, by the fit's estimator; None where there is too little."""
    data = labels.data
    if data.item_features is None:
        return None
    if data.n_labels > MAX_LABELS:
        data = data.subset(sample_annotators(data, MAX_LABELS, seed=SEED))
    known = known_items(criterion.project, labels.item_ids)
    estimator = ESTIMATORS[fit.estimator].estimator()
    try:
        found, _where = fit_on_cluster(lambda: held_out_gain(data, estimator, known, seed=SEED, progress=progress))
    except InsufficientData:
        return None
    return found
