"""Counts the labels that a goal still needs: what the fit forecast, less what came since."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer
from annotate.criteria import Criterion
from annotate.labelling.label_rows import labels_by_criterion
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import Label
from models_engine.models import Fit


@dataclass(frozen=True)
class Needed:
    """Labels still needed until the goal: middle and range, from the labels given by now; None: nobody knows."""

    low: int
    middle: int
    high: int | None

    @property
    def words(self) -> str:
        if self.high is None:
            return _("%(low)s or more") % {"low": format_integer(self.low)}
        if self.low == self.high:
            return ""
        return _("%(low)s to %(high)s") % {"low": format_integer(self.low), "high": format_integer(self.high)}


def current_goal(criterion: Criterion, fit: Fit | None) -> dict[str, Any] | None:
    """Return what the fit found of the goal; None where it found nothing of the goal as it is now."""
    project, kept = criterion.project, (fit.diagnostics.get("goal") or {}) if fit else {}
    return kept if (kept.get("kind"), kept.get("value")) == (project.goal, project.goal_value) else None


def remaining_labels(kept: list[Any] | None, since: int) -> Needed | None:
    """Return what the fit forecast, less the labels that came since."""
    if not kept or kept[1] is None:
        return None
    low, middle, high = (None if value is None else max(value - since, 0) for value in kept)
    return Needed(low or 0, max(middle or 0, 1), high)


def n_labels_since(criterion: Criterion, fit: Fit) -> int:
    """Return labels given since the fit began that the next one will count: the forecast is in those, skips bring it no
    nearer."""
    return informative_labels(criterion).filter(created_at__gt=fit.started_at).count()


def informative_labels(criterion: Criterion) -> QuerySet[Label]:
    """Return labels that say something of the items and reach the engine."""
    project = criterion.project
    labels = Label.objects.filter(project=project, voided_at=None, presentation__purpose__in=project.counted_purposes)
    return labels_by_criterion(criterion, labels, outcomes=INFORMATIVE)
