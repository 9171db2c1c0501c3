"""Whether an annotator may answer now: the project's hours, reading time, breaks and caps, and what counts."""

from datetime import datetime, timedelta

from django.db.models import Count, QuerySet

from annotate.core.errors import (
    AnnotatorExcluded,
    AnsweredTooSoon,
    CapReached,
    ProjectNotOpen,
    ScreenedOut,
    SittingCapReached,
)
from annotate.core.statements import Given, Statement
from annotate.labelling.requirements import AlreadyFinished, check_requirements
from annotate.models import Annotator, Label, Presentation, Project, Purpose

SITTING_GAP = timedelta(minutes=30)  # without an answer, after which the next one begins a new sitting


def check_open(project: Project, now: datetime) -> None:
    """Raise ProjectNotOpen outside the project's open state and hours."""
    if project.state != Project.State.OPEN:
        raise ProjectNotOpen(project.state)
    if project.opens_at and now < project.opens_at:
        raise ProjectNotOpen("early", project.opens_at)
    if project.closes_at and now >= project.closes_at:
        raise ProjectNotOpen("over", project.closes_at)


def check_can_answer(project: Project, annotator: Annotator, now: datetime) -> None:
    if annotator.excluded_at:
        raise AnnotatorExcluded
    if annotator.ended:
        raise AlreadyFinished
    if annotator.screened_out_at:
        raise ScreenedOut(annotator.screened_out_by)
    check_open(project, now)


def check_can_get_task(project: Project, annotator: Annotator, now: datetime) -> None:
    """Raise what keeps the annotator from the next task; an answer to the last one may still be stored."""
    check_can_answer(project, annotator, now)
    check_requirements(project, annotator)


def counted_labels(annotator: Annotator) -> QuerySet[Label]:
    """Return the answers of the annotator that count towards caps, breaks and the progress they see: all but practice.

    Gold questions, attention checks and repeats count, since a number that stood still would give them away.
    """
    labels = Label.objects.filter(annotator=annotator, voided_at=None)
    return labels.exclude(presentation__purpose=Purpose.PRACTICE) if annotator.practised else labels


n_valid_labels = Statement(  # the number as the only row, or no row
    lambda: (
        Label.objects.filter(annotator=Given("annotator", Label), voided_at=None)
        .values("annotator")
        .annotate(n=Count("pk"))
        .values_list("n", flat=True)
    )
)


def n_counted_labels(annotator: Annotator) -> int:
    """Return how many those are, without looking at what each was for."""
    return max(sum(n_valid_labels(annotator=annotator.pk)) - annotator.practised, 0)


def check_caps(annotator: Annotator, now: datetime, n_done: int | None = None) -> bool:
    """Raise CapReached or SittingCapReached; return whether the answer to come leaves room for another after it.

    n_done: how many answers count, where that is known.
    """
    project, another = annotator.project, True
    if project.cap is not None:
        n = n_counted_labels(annotator) if n_done is None else n_done
        if n >= project.cap:
            raise CapReached(project.cap)
        another = n + 1 < project.cap
    if project.sitting_cap is not None:
        another &= check_sitting(annotator, project.sitting_cap, now)
    return another


def check_sitting(annotator: Annotator, cap: int, now: datetime) -> bool:
    """Check the limit of a sitting, a run of answers without a gap of SITTING_GAP, as check_caps does."""
    times = list(counted_labels(annotator).order_by("-created_at").values_list("created_at", flat=True)[:cap])
    later, n = now, 0
    for at in times:
        if later - at >= SITTING_GAP:
            break
        later, n = at, n + 1
    if n >= cap:
        raise SittingCapReached(cap, times[0] + SITTING_GAP)
    return n + 1 < cap


def break_is_due(annotator: Annotator, n_done: int | None = None) -> bool:
    """Return whether the answer just given is the last before a pause is proposed."""
    every = annotator.project.break_every
    if not every:
        return False
    n = n_counted_labels(annotator) if n_done is None else n_done
    return n > 0 and n % every == 0


def remaining_reading_time(project: Project, presentation: Presentation, now: datetime) -> timedelta:
    """Return how much longer the items are to be read; nothing for those that undo has brought back."""
    if not project.min_seconds or presentation.reopens_id:
        return timedelta(0)
    return max(presentation.created_at + timedelta(seconds=project.min_seconds) - now, timedelta(0))


def check_reading_time(project: Project, presentation: Presentation, now: datetime) -> None:
    """Raise AnsweredTooSoon. Time runs by the server's clock from when the items were handed out."""
    left = remaining_reading_time(project, presentation, now)
    if left:
        raise AnsweredTooSoon(project.min_seconds, left)
