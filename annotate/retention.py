"""When a project's promise to forget its annotators falls due, and how it is told to them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max
from django.utils.translation import ngettext

from annotate.models import Event, Project, Retention

Drops = Retention.Drops


@dataclass(frozen=True)
class Rule:
    """days: from closing; 0 keeps everything.   own: whether the project's owner has chosen it."""

    days: int
    drops: str
    own: bool


def rule_of(project: Project) -> Rule:
    row = Retention.objects.filter(project=project).first()
    if row is None or row.days is None:
        return Rule(settings.RETENTION_DAYS, settings.RETENTION_DROPS, own=False)
    return Rule(row.days, row.drops, own=True)


def promise(project: Project) -> str:
    """What annotators are told; "" where everything is kept."""
    return in_words(rule_of(project))


def in_words(rule: Rule) -> str:
    if not rule.days:
        return ""
    if rule.drops == Drops.LABELS:
        text = ngettext(
            "%(n)d day after this project has closed, your answers and everything else about you are erased.",
            "%(n)d days after this project has closed, your answers and everything else about you are erased.",
            rule.days,
        )
    else:
        text = ngettext(
            "%(n)d day after this project has closed, your name, what you said about yourself, your comments and what "
            "a platform calls you are erased. Your answers stay, but nobody can tell that they were yours.",
            "%(n)d days after this project has closed, your name, what you said about yourself, your comments and what "
            "a platform calls you are erased. Your answers stay, but nobody can tell that they were yours.",
            rule.days,
        )
    return text % {"n": rule.days}


def closed_at(project: Project, now: datetime) -> datetime | None:
    """When the project closed, by its owner or by its hours; None while it may still take answers."""
    if project.state == Project.State.CLOSED:
        closings = Event.objects.filter(project=project, verb__in=["project closed", "project archived"])
        return closings.aggregate(last=Max("at"))["last"] or project.created_at
    if project.closes_at and project.closes_at <= now and project.state != Project.State.DRAFT:
        return project.closes_at
    return None


def due_since(project: Project, now: datetime) -> datetime | None:
    """The closing for which the promise has fallen due and is not kept yet; None for no such."""
    rule, closed = rule_of(project), closed_at(project, now)
    if not rule.days or closed is None or closed + timedelta(days=rule.days) > now:
        return None
    done = Retention.objects.filter(project=project, done_for=closed).exists()
    return None if done else closed
