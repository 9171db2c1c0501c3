"""The log of a project: every event, filtered and page by page, each with what was there before and after."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.audit_log.sentences import DescribedEvent, describe_event, shown_value
from annotate.models import Event, EventVerb, ParticipationRules, Project

PAGE_SIZE = 50
COLUMNS = ["at", "who", "annotator", "event", "details"]
# Events that name the version of the data they made, so that the fits before and after them are known.
CHANGES_OF_DATA = (
    EventVerb.ANNOTATOR_EXCLUDED,
    EventVerb.ANNOTATOR_READMITTED,
    EventVerb.BULK_EXCLUDED,
    EventVerb.BULK_EXCLUSION_UNDONE,
)
# Lists of two that are no before and after.
NO_CHANGES = {"keys", "refusals"}


@dataclass(frozen=True)
class LogFilter:
    """`who`: a user's primary key; `what`: a verb; None and "" stand for all."""

    who: int | None = None
    what: str = ""
    since: date | None = None


@dataclass(frozen=True)
class Change:
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Line:
    event: DescribedEvent
    changes: list[Change]
    compare: int | None = None  # the event by which the rankings before and after it are compared


def events_of(project: Project, log_filter: LogFilter) -> QuerySet[Event]:
    """Return the latest first. Import checkpoints are not user events and are left out."""
    events = Event.objects.filter(project=project).exclude(verb=EventVerb.COMPARISONS_STORED)
    if log_filter.who is not None:
        events = events.filter(actor=log_filter.who)
    if log_filter.what:
        events = events.filter(verb=log_filter.what)
    if log_filter.since:
        start = datetime.combine(log_filter.since, time.min, tzinfo=timezone.get_current_timezone())
        events = events.filter(at__gte=start)
    return events.select_related("actor", "annotator").order_by("-at", "-pk")


def log_page(project: Project, log_filter: LogFilter, number: str | None) -> tuple[Page, list[Line]]:
    page = Paginator(events_of(project, log_filter), PAGE_SIZE).get_page(number)
    return page, [Line(describe_event(event), changes_of(event), compared_by(event)) for event in page]


def compared_by(event: Event) -> int | None:
    return event.pk if event.verb in CHANGES_OF_DATA and "version" in event.details else None


def changes_of(event: Event) -> list[Change]:
    """Return what was before and after, field by field."""
    return [
        Change(field_name(event.verb, name), shown_value(value[0]), shown_value(value[1]))
        for name, value in event.details.items()
        if isinstance(value, list) and len(value) == 2 and name not in NO_CHANGES
    ]


def field_name(verb: str, name: str) -> str:
    models: dict[str, Any] = {EventVerb.SETTINGS_CHANGED: Project, EventVerb.ENTRY_CHANGED: ParticipationRules}
    model = models.get(verb)
    if model and name in {field.name for field in model._meta.get_fields()}:
        return str(getattr(model._meta.get_field(name), "verbose_name", name))
    known = {"state": _("State"), "role": _("Role"), "tags": _("Tags"), "fields": _("Questionnaire")}
    return known.get(name, name.replace("_", " "))


def rows(project: Project, log_filter: LogFilter) -> Iterator[list[Any]]:
    """Yield the log as a table; read in pieces, so that any length can be taken away."""
    for event in events_of(project, log_filter).iterator(chunk_size=500):
        who = event.actor.email or event.actor.username if event.actor else None
        yield [event.at, who, event.annotator and event.annotator.pseudonym, event.verb, event.details]
