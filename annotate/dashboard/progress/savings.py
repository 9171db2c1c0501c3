"""Reads what a project's policy saves by the measurement on its own answers."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer
from annotate.criteria import Criterion
from annotate.models import AskedBy, Label, MeasuredSaving, Policy

MIN_CONTROL = 500  # answers of the control arm from which a ratio is told though 1 is within its interval


@dataclass(frozen=True)
class Saving:
    """sentence: what the policy saves or costs, "" while it is too early.   ratios: as MeasuredSaving.figures."""

    policy: str
    n_control: int
    sentence: str
    ratios: dict[str, Any]

    @property
    def is_early(self) -> bool:
        return not self.sentence


def measured_saving(criterion: Criterion) -> Saving | None:
    """Return what is known; None where no policy chooses questions. Two queries."""
    project = criterion.project
    if not project.is_adaptive:
        return None
    control = Label.objects.filter(project=project, voided_at=None, presentation__asked_by=AskedBy.CONTROL).count()
    row = MeasuredSaving.objects.filter(project=project, criterion=criterion.number, policy=project.policy).first()
    figures = row.figures if row else {}
    ratio = figures.get("width" if project.policy == Policy.WHOLE else "loss")
    sentence = sentence_of(project.policy, ratio) if ratio and is_known(ratio, row.n_control if row else 0) else ""
    return Saving(project.policy, control, sentence, figures)


def is_known(figure: dict[str, Any], n_control: int) -> bool:
    """Tell whether 1 is outside the interval, or so many answers were compared that the interval itself says enough."""
    if figure["ratio"] is None:
        return False
    return figure["low"] > 1 or figure["high"] < 1 or n_control >= MIN_CONTROL


def sentence_of(policy: str, figure: dict[str, Any]) -> str:
    """Return the ratio in words, with its interval in per cent."""
    less = figure["ratio"] <= 1
    texts = {
        Policy.WHOLE: (
            _("the intervals are %(n)s%% narrower than after as many balanced answers (90%% interval: %(range)s)."),
            _("the intervals are %(n)s%% wider than after as many balanced answers (90%% interval: %(range)s)."),
        ),
        Policy.BEST: (
            _("%(n)s%% fewer mistakes about the best are expected than after as many balanced answers "
              "(90%% interval: %(range)s)."),
            _("%(n)s%% more mistakes about the best are expected than after as many balanced answers "
              "(90%% interval: %(range)s)."),
        ),
        Policy.CLASSES: (
            _("%(n)s%% fewer items are expected in a wrong class than after as many balanced answers "
              "(90%% interval: %(range)s)."),
            _("%(n)s%% more items are expected in a wrong class than after as many balanced answers "
              "(90%% interval: %(range)s)."),
        ),
    }  # fmt: skip
    text = texts[Policy(policy)][0 if less else 1]
    ends = sorted([figure["low"], figure["high"]], reverse=less)
    sign = 1 if less else -1
    low, high = (format_integer(round(100 * sign * (1 - end))) for end in ends)
    n = format_integer(round(100 * abs(1 - figure["ratio"])))
    return text % {"n": n, "range": _("%(low)s to %(high)s") % {"low": low, "high": high}}
