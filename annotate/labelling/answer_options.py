"""Answers that a task offers besides choosing an item, and the steps of a graded choice."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.labelling.outcomes import EXTRA_OUTCOMES, allowed_extra_outcomes
from annotate.models import Label, Project

Outcome = Label.Outcome


@dataclass(frozen=True)
class ExtraAnswer:
    """An answer other than choosing an item."""

    value: str
    words: str


@dataclass(frozen=True)
class GradeStep:
    """One step of the scale from A clearly to B clearly; `option` is empty for the tie in its middle."""

    value: str
    words: str
    place: str
    option: str


def extra_answers(project: Project) -> list[ExtraAnswer]:
    allowed = allowed_extra_outcomes(project)
    return [ExtraAnswer(outcome, str(Outcome(outcome).label)) for outcome in EXTRA_OUTCOMES if outcome in allowed]


def grade_steps(others: Sequence[ExtraAnswer]) -> list[GradeStep]:
    """Return what is pressed where it is asked how much better; a tie that is allowed is the middle."""
    steps = [("a_clearly", _("A clearly"), "a"), ("a_slightly", _("A slightly"), "a")]
    if any(other.value == Outcome.TIE for other in others):
        steps.append((Outcome.TIE.value, str(Outcome.TIE.label), ""))
    steps += [("b_slightly", _("B slightly"), "b"), ("b_clearly", _("B clearly"), "b")]
    return [GradeStep(value, words, str(place), option) for place, (value, words, option) in enumerate(steps, start=1)]
