"""Screens out whoever failed as many checks as the project's rules allow, the same for all, as soon as it happens."""

from datetime import datetime

from annotate.labelling.special_tasks import correctness
from annotate.labelling.voiding import void_answers
from annotate.models import Annotator, Event, EventVerb, Label, Presentation, Project, Purpose

Rule = Annotator.ScreeningRule
LIMITS = {Purpose.ATTENTION.value: "attention_fails", Purpose.GOLD.value: "gold_fails"}


def limit_of(project: Project, purpose: str) -> int | None:
    """Return how many failed checks of this purpose screen out; None where the project has no such rule."""
    limit: int | None = getattr(project, LIMITS[purpose]) if purpose in LIMITS else None
    return limit


def may_screen_out(presentation: Presentation) -> bool:
    """Return whether the answer to this presentation may be the one that screens its annotator out."""
    return limit_of(presentation.annotator.project, presentation.purpose) is not None


def apply_rule(annotator: Annotator, purpose: str, now: datetime) -> bool:
    """Screen the annotator out where the rule for this purpose says so; True if it does.

    The project is held alone (annotate.locks) where it may happen. Where answers of those screened out do not count,
    all of theirs are voided.
    """
    limit = limit_of(annotator.project, purpose)
    if limit is None or annotator.screened_out_at:
        return False
    checks = Label.objects.filter(annotator=annotator, voided_at=None, presentation__purpose=purpose)
    n_failed = sum(not is_right for is_right in correctness(checks).values())
    if n_failed < limit:
        return False
    annotator.screened_out_at, annotator.screened_out_by = now, Rule(purpose)
    annotator.save(update_fields=["screened_out_at", "screened_out_by"])
    counts = annotator.project.count_screened_out
    n_voided = 0 if counts else void_answers(annotator, Label.VoidReason.SCREENED_OUT, None, now)
    Event.objects.create(
        project=annotator.project,
        annotator=annotator,
        verb=EventVerb.ANNOTATOR_SCREENED_OUT,
        details={"rule": purpose, "failed": n_failed, "limit": limit, "labels": n_voided},
        at=now,
    )
    return True
