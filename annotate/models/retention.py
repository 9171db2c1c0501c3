"""For how long what annotators said of themselves is kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Max, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotate.models.event_verbs import EventVerb
from annotate.models.events import Event
from annotate.models.projects import Project

MAX_RETENTION_DAYS = 3650  # days


class Retention(models.Model):
    """A project's promise to its annotators; one without this row has the site's (settings.RETENTION_DAYS)."""

    class Drops(models.TextChoices):
        PERSONAL = "personal", _("Personal data only: answers stay, without names")
        LABELS = "labels", _("Everything: also the answers and the results computed from them")

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="retention")
    # Days from closing; 0 keeps everything, null is what the site does.
    days = models.PositiveIntegerField(null=True, blank=True)
    drops = models.CharField(max_length=10, choices=Drops, default=Drops.PERSONAL)
    # The closing for which it was done; reopened and closed again, the project is due again.
    done_for = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.project_id}: {self.days}"


Drops = Retention.Drops


@dataclass(frozen=True)
class RetentionRule:
    """days: from closing; 0 keeps everything.   own: whether the project's owner has chosen it."""

    days: int
    drops: str
    own: bool


def retention_rule(project: Project) -> RetentionRule:
    row = Retention.objects.filter(project=project).first()
    if row is None or row.days is None:
        return RetentionRule(settings.RETENTION_DAYS, settings.RETENTION_SCOPE, own=False)
    return RetentionRule(row.days, row.drops, own=True)


def retention_notice(project: Project) -> str:
    """Return what annotators are told; "" where everything is kept."""
    return notice_text(retention_rule(project))


def notice_text(rule: RetentionRule) -> str:
    if not rule.days:
        return ""
    if rule.drops == Drops.LABELS:
        text = ngettext(
            "Your answers and all other data about you are erased %(n)d day after this project has closed.",
            "Your answers and all other data about you are erased %(n)d days after this project has closed.",
            rule.days,
        )
    else:
        text = ngettext(
            "Your name, what you said about yourself, your comments and your ID on a platform are erased %(n)d "
            "day after this project has closed. Your answers stay, but nobody can tell that they were yours.",
            "Your name, what you said about yourself, your comments and your ID on a platform are erased %(n)d "
            "days after this project has closed. Your answers stay, but nobody can tell that they were yours.",
            rule.days,
        )
    return text % {"n": rule.days}


def closed_at(project: Project, now: datetime) -> datetime | None:
    """Return when the project closed, by its owner or by its hours; None while it may still take answers."""
    if project.state == Project.State.CLOSED:
        # Archiving closes what is open or paused; of a project that was closed before it puts nothing off.
        by_archiving = Q(
            verb=EventVerb.PROJECT_ARCHIVED, details__state__0__in=[Project.State.OPEN, Project.State.PAUSED]
        )
        closings = Event.objects.filter(Q(verb=EventVerb.PROJECT_CLOSED) | by_archiving, project=project)
        return closings.aggregate(last=Max("at"))["last"] or project.created_at
    if project.closes_at and project.closes_at <= now and project.state != Project.State.DRAFT:
        return project.closes_at
    return None


def retention_due_since(project: Project, now: datetime) -> datetime | None:
    """Return the closing for which the promise has fallen due and is not kept yet; None for no such."""
    rule, closed = retention_rule(project), closed_at(project, now)
    if not rule.days or closed is None or closed + timedelta(days=rule.days) > now:
        return None
    done = Retention.objects.filter(project=project, done_for=closed).exists()
    return None if done else closed
