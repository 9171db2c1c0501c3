"""The published fit's posterior once more, for what is asked of it after the fit: as stored, or fitted again."""

import warnings
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from annotate.core.stored_messages import NotEnoughData
from annotate.criteria import Criterion
from annotate.fitting.arrays import from_bytes, restore_covariances, warm_start
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.reading import Labels, read_labels
from annotate.fitting.stored_columns import SITE
from annotate.jobs.queues import Progress
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.base import EstimatorEntry
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior

Ints = NDArray[np.int64]
ONE_RANKING = gettext_noop(
    "%(estimator)s finds one shared ranking for everybody. To see each person's own ranking, turn on groups on the "
    "Tastes page."
)


@dataclass(frozen=True, eq=False)
class FittedTastes:
    """item_ids (n_items,), annotator_ids (n_annotators,): primary keys in the posterior's order."""

    item_ids: Ints
    annotator_ids: Ints
    posterior: CollaborativePosterior


def load_tastes(fit: Fit, criterion: Criterion, progress: Progress) -> FittedTastes:
    """Return the tastes of a fit that has components. Raises InsufficientData where no label is left.

    A fit of more than about 650 items was too large to store its tastes; it is fitted again, from where it ended, to
    the labels of today.
    """
    arrays = from_bytes(bytes(fit.arrays)) if fit.arrays else {}
    entry = ESTIMATORS[fit.estimator]
    if any(name.startswith("tastes/") for name in arrays) and str(arrays[SITE + "version"]) == settings.VERSION:
        kept = {name: array for name, array in arrays.items() if not name.startswith(SITE)}
        posterior: BasePosterior = entry.posterior.from_arrays(restore_covariances(kept))
        items, annotators = arrays[SITE + "items"], arrays[SITE + "annotators"]
    else:
        labels = require_labels(criterion)
        posterior = fit_posterior(entry, labels.data, fit.seed, progress, warm_start(fit, entry, labels))
        items, annotators = labels.item_ids, labels.annotator_ids
    if not isinstance(posterior, CollaborativePosterior):
        raise NotEnoughData(ONE_RANKING, estimator=fit.estimator)
    return FittedTastes(items, annotators, posterior)


def require_labels(criterion: Criterion, *, machines: bool | None = None) -> Labels:
    """Return the labels; machines: as in read_labels. Raises NotEnoughData where there are none."""
    labels = read_labels(criterion, machines=machines)
    if labels is None or not labels.data.n_labels:
        raise NotEnoughData(gettext_noop("There are no answers that count yet. Try again when there are some."))
    return labels


def fit_posterior(
    entry: EstimatorEntry, data: Comparisons, seed: int, progress: Progress, start: BasePosterior | None = None
) -> BasePosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return fit_on_cluster(
            lambda: entry.estimator().fit(data, start=start, rng=np.random.default_rng(seed), progress=progress)
        )[0]


def main_part_rows(fit: Fit, item_ids: Ints) -> Ints:
    """Return rows of the items that the published ranking's largest connected part holds."""
    shown = Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0).values_list("item_id", flat=True)
    return np.flatnonzero(np.isin(item_ids, np.fromiter(shown, dtype=np.int64)))
