"""Tells owners when another estimator predicts unseen answers clearly better than the one in use; keeps their no."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer, format_percent
from annotate.criteria import Criterion
from annotate.fitting.estimator_choices import AUTOMATIC, ESTIMATORS
from annotate.models import Evaluation, Preregistration, Project

# By how much the mean log loss must be smaller, in nats: unseen answers get 2% more probability. Less hardly moves a
# ranking (docs/statistics.md, "Which estimator"), and is not worth other figures for what was published.
MIN_GAIN = 0.02
MIN_ERRORS = 2.0  # and by how many of its standard errors, paired over the same answers


@dataclass(frozen=True)
class Advice:
    """gain: how much smaller the log loss of `name` is than that of the estimator in use, in nats, with its standard
    error.   n: answers predicted.   is_frozen: a change would be listed as a deviation from a preregistration."""

    name: str
    in_use: str
    gain: float
    error: float
    n: int
    is_frozen: bool

    @property
    def sentence(self) -> str:
        text = _(
            "%(name)s predicts your answers clearly better than %(in_use)s, which is in use: on average it gave "
            "%(percent)s more probability to what people answered, on %(n)s answers that neither had seen."
        )
        percent = format_percent(math.expm1(self.gain))
        return text % {"name": self.name, "in_use": self.in_use, "percent": percent, "n": format_integer(self.n)}


def estimator_advice(criterion: Criterion) -> Advice | None:
    """Return what to tell who may change the estimator; None where nothing is clearly better, the estimator is chosen
    automatically, or the owner kept it since the latest evaluation."""
    project = criterion.project
    if project.estimator == AUTOMATIC or project.archived_at:
        return None
    found = Evaluation.objects.filter(
        project=project, criterion=criterion.number, estimator=project.estimator, dismissed_at=None
    ).exclude(made_at=None)
    row = found.first()
    better = [one for one in (row.figures if row else []) if is_clearly_better(one) and one["name"] in ESTIMATORS]
    if not better:
        return None
    best = max(better, key=lambda one: one["gain"])
    is_frozen = Preregistration.objects.filter(project=project).exists()
    return Advice(best["name"], project.estimator, best["gain"], best["gain_error"], best["n"], is_frozen)


def is_clearly_better(figures: dict[str, Any]) -> bool:
    gain, error = figures.get("gain"), figures.get("gain_error")
    return gain is not None and error is not None and gain >= max(MIN_GAIN, MIN_ERRORS * error)


def keep_estimator(project: Project, now: datetime) -> bool:
    """Tell of no better estimator until the next evaluation; False where nothing had been told."""
    evaluations = Evaluation.objects.filter(project=project, estimator=project.estimator, dismissed_at=None)
    return evaluations.exclude(made_at=None).update(dismissed_at=now) > 0
