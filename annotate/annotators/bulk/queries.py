"""Counts what an exclusion by time, session or tag would take, and lists those made."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotate.models import Annotator, BulkExclusion, Label, Project, Purpose

MAX_LISTED = 50


@dataclass(frozen=True)
class Choice:
    """What to exclude. since, until: of a span, the end not included. value: the session or the tag."""

    by: str
    since: datetime | None = None
    until: datetime | None = None
    value: str = ""

    @property
    def text(self) -> str:
        """Return what the log says of it; moments by the site's clock."""
        return chosen_text(self.since, self.until, self.value)


@dataclass(frozen=True)
class Counted:
    labels: int
    annotators: int
    all_labels: int


def chosen_text(since: datetime | None, until: datetime | None, value: str) -> str:
    if since is None or until is None:
        return value
    start, end = timezone.localtime(since), timezone.localtime(until)
    return f"{start:%Y-%m-%d %H:%M} – {end:%Y-%m-%d %H:%M %Z}"


def chosen_labels(project: Project, choice: Choice) -> QuerySet[Label]:
    """Return the labels that count now and are chosen; practice counts in no fit and stays as it is."""
    labels = Label.objects.filter(project=project, voided_at=None).exclude(presentation__purpose=Purpose.PRACTICE)
    if choice.by == BulkExclusion.By.SPAN:
        return labels.filter(created_at__gte=choice.since, created_at__lt=choice.until)
    if choice.by == BulkExclusion.By.SESSION:
        by_platform = Q(annotator__platform_session=choice.value) | Q(annotator__platform_study=choice.value)
        return labels.filter(Q(session=choice.value) | by_platform)
    return labels.filter(annotator__in=chosen_annotators(project, choice))


def chosen_annotators(project: Project, choice: Choice) -> QuerySet[Annotator]:
    """Return those with the tag who are not excluded; an answer of theirs is not needed."""
    return project.annotators.filter(tags__name=choice.value, excluded_at=None)


def count_chosen(project: Project, choice: Choice) -> Counted:
    labels = chosen_labels(project, choice)
    is_tag = choice.by == BulkExclusion.By.TAG
    people = chosen_annotators(project, choice) if is_tag else labels.values("annotator").distinct()
    everything = Label.objects.filter(project=project, voided_at=None)
    return Counted(labels.count(), people.count(), everything.count())


def bulk_exclusions(project: Project) -> list[BulkExclusion]:
    """Return the latest first."""
    return list(project.bulk_exclusions.order_by("-at")[:MAX_LISTED])
