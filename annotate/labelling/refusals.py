"""Says why an annotator gets no task now, or no next one."""

from datetime import datetime

from annotate.core.errors import AnnotatorExcluded, ProjectNotOpen, ScreenedOut, UserError
from annotate.labelling import choosing, eligibility, special_tasks
from annotate.labelling.requirements import StepRequired
from annotate.models import Annotator


def refusal_of_task(annotator: Annotator, now: datetime) -> UserError | None:
    try:
        eligibility.check_can_get_task(annotator.project, annotator, now)
    except (AnnotatorExcluded, ProjectNotOpen, ScreenedOut, StepRequired) as refusal:
        return refusal
    return None


def refusal_of_next_task(annotator: Annotator, n_done: int, now: datetime) -> UserError | None:
    """Return what asking for a next presentation would say; it only looks."""
    try:
        eligibility.check_caps(annotator, now, n_done)
        if special_tasks.next_special_task(annotator):
            return None
        choosing.choose_items(annotator.project, annotator)
    except UserError as refusal:
        return refusal
    return None
