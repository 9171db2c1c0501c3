"""Measures what a policy saves on a project's own answers, against its control arm; savings_queue.py says when."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray
from scipy.special import stdtrit

from annotate.criteria import Criterion
from annotate.fitting.answers import RULES
from annotate.fitting.published import published_fit
from annotate.fitting.reading import Labels, read_labels
from annotate.fitting.run import SEED
from annotate.fitting.savings_queue import MIN_LABELS
from annotate.fitting.suggestions import aim_of
from annotate.jobs.queues import Progress
from annotate.models import AskedBy, MeasuredSaving, Project
from annotate.models.leased_jobs import LeaseLost
from models_engine.acquisition import Aim, expected_loss
from models_engine.analysis.scores import common_unit
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.errors import EngineError, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_THINNINGS = 20
MAX_LABELS = 5_000  # compared with as many: more are drawn at random
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class Arms:
    """control, all: numbers of the control arm's labels, and of all that a policy's rules asked for."""

    labels: Labels
    control: Ints
    all: Ints


def work(row: MeasuredSaving, progress: Progress) -> None:
    """Compare the arms and store what came of it. Raises Cancelled and LeaseLost."""
    criterion = Criterion(row.project, row.criterion)
    fit, labels = published_fit(criterion), read_labels(criterion, machines=False)
    if fit is None or labels is None or fit.estimator not in ESTIMATORS:
        raise LeaseLost(str(row.project_id))
    arms = Arms(labels, *arms_of(labels))
    enough = min(len(arms.control), len(arms.all) - len(arms.control)) >= MIN_LABELS
    figures = measure_savings(row.project, arms, fit, progress) if enough else {}
    values: dict[str, Any] = {
        "n_labels": fit.n_labels,
        "n_control": len(arms.control),
        "fit_number": fit.number,
        "policy": row.project.policy,
        "figures": figures,
        "made_at": timezone.now(),
    }
    row.complete(**values, gave_way=0, not_before=None, message="", crossings=0, given_up=None)


def arms_of(labels: Labels) -> tuple[Ints, Ints]:
    """Return the numbers of the control arm's labels, and of these with the adaptive ones; of labels of people."""
    return np.flatnonzero(labels.rules == RULES[AskedBy.CONTROL]), np.flatnonzero(labels.rules > 0)


def measure_savings(project: Project, arms: Arms, fit: Fit, progress: Progress) -> dict[str, Any]:
    """Return MeasuredSaving.figures: what thinned answers of both rules leave open, to what the control arm does."""
    rng = np.random.default_rng(SEED)
    data, n = arms.labels.of_people, min(len(arms.control), MAX_LABELS)
    control = rng.choice(arms.control, n, replace=False)
    estimator: Estimator = ESTIMATORS[fit.estimator].estimator()
    try:
        alone = open_after(project, data.subset(np.sort(control)), arms.labels, estimator, progress)
        thinned = [
            open_after(
                project,
                data.subset(np.sort(rng.choice(arms.all, n, replace=False))),
                arms.labels,
                estimator,
                progress,
            )
            for _ in range(N_THINNINGS)
        ]
    except EngineError:
        return {}
    share = n / len(arms.all)
    names = [name for name in alone if all(name in one for one in thinned)]
    return {name: ratio_of(alone[name], np.array([one[name] for one in thinned]), share) for name in names}


def open_after(
    project: Project, data: Comparisons, labels: Labels, estimator: Estimator, progress: Progress
) -> dict[str, float]:
    """Return what these labels leave open, by the project's estimator: the mean width of the intervals and the
    expected loss of what the policy is for, both in or from logits of an average answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = estimator.fit(data, rng=np.random.default_rng(SEED), progress=progress)
    own = posterior.restrict(np.flatnonzero(labels.ranked))
    unit = common_unit(own)
    means, deviations = unit * own.utilities(), unit * own.standard_deviations()
    found = {"width": float(2 * Z90 * deviations.mean())}
    aim: Aim | None = aim_of(project, means)
    if aim is not None and aim.kind != "whole":
        found["loss"] = expected_loss(means, deviations, aim, margin=project.tie_margin)
    return found


def ratio_of(alone: float, thinned: Floats, share: float) -> dict[str, float | None]:
    """Return the ratio of the thinned figures to the control arm's, with its 90% interval.

    The control arm is one draw of as many labels as each thinning has, and varies as these do; thinnings that hold
    `share` of all labels vary less than draws of new ones, by the factor 1 - share of their variance. On the logarithm,
    by Student's t with one degree less than there are thinnings.
    """
    if not (alone > 0 and np.all(thinned > 0)):
        return {"ratio": None, "low": None, "high": None}
    logs = np.log(thinned)
    middle = float(logs.mean() - np.log(alone))
    spread = float(logs.std(ddof=1)) / np.sqrt(max(1 - share, 1e-6))
    reach = float(stdtrit(len(logs) - 1, (1 + LEVEL) / 2)) * spread * np.sqrt(1 + 1 / len(logs))
    return {
        "ratio": float(np.exp(middle)),
        "low": float(np.exp(middle - reach)),
        "high": float(np.exp(middle + reach)),
    }
