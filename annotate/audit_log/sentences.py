"""Describes events as sentences: who did what to a project."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.stored_messages import render_message
from annotate.models import Event, EventVerb, ParticipationRules, Project

# What owners are shown of recently; exports come often and are left to the log.
RECENT = [verb for verb in EventVerb if verb.sentence and verb != EventVerb.EXPORT_TAKEN]
BY_ANNOTATORS = (EventVerb.ITEM_KNOWN, EventVerb.ITEM_KNOWN_UNDONE)
MAX_REFUSALS = 5  # shown of one import


@dataclass(frozen=True)
class DescribedEvent:
    at: datetime
    who: str
    what: str


def recent_events(project: Project, limit: int = 20) -> list[DescribedEvent]:
    """Return the latest first, without those that come often."""
    events = Event.objects.filter(project=project, verb__in=RECENT).select_related("actor", "annotator")
    return [describe_event(event) for event in events.order_by("-at", "-pk")[:limit]]


def describe_event(event: Event) -> DescribedEvent:
    who = event.actor.email or event.actor.username if event.actor else _("Somebody")
    if event.verb in BY_ANNOTATORS:
        who = str(event.annotator or _("an annotator"))
    if event.verb in (EventVerb.JOB_STOPPED, EventVerb.PROJECT_PAUSED_AT_GOAL):
        who = _("The engine")
    details: dict[str, Any] = {
        name: value if type(value) is int else Words(before_and_after(value)) for name, value in event.details.items()
    }
    details["annotator"] = str(event.annotator or _("an annotator"))
    if event.verb == EventVerb.JOB_STOPPED:
        details["message"] = render_message(str(event.details.get("message", "")))
    if event.verb == EventVerb.SETTINGS_CHANGED:
        # Sorted, as PostgreSQL keeps the keys of JSON in an order of its own.
        details["changes"] = ", ".join(sorted(changed(name, value) for name, value in event.details.items()))
    if event.verb == EventVerb.ENTRY_CHANGED:
        names = event.details.get("fields", event.details)  # once, only the names were kept
        fields = (ParticipationRules._meta.get_field(name) for name in names)
        details["fields"] = ", ".join(str(getattr(field, "verbose_name", field)) for field in fields)
    if event.verb == EventVerb.COMPARISONS_IMPORTED:
        details["refusals"] = refusals(event.details["refusals"])
    verb = EventVerb.parse(event.verb)
    sentence = verb.sentence if verb and verb.sentence else event.verb.replace("%", "%%")
    return DescribedEvent(event.at, who, str(sentence % Blank(details)).strip())


class Words(int):
    """Words that count as many where a sentence depends on a number, such as “(erased)”."""

    def __new__(cls, text: str) -> Self:
        words = super().__new__(cls, 2)
        words.text = text
        return words

    text: str

    def __str__(self) -> str:
        return self.text


class Blank(dict[str, Any]):
    """Details that an event does not have read as "?"."""

    def __missing__(self, name: str) -> Words:
        return Words("?")


def refusals(rows: list[tuple[int, str]]) -> str:
    """Return which rows were not imported and why, the first few of them."""
    if not rows:
        return ""
    text = ngettext("; %(n)d row was refused:", "; %(n)d rows were refused:", len(rows)) % {"n": len(rows)}
    reasons = [_("row %(row)d: %(reason)s") % {"row": row, "reason": reason} for row, reason in rows[:MAX_REFUSALS]]
    return " ".join([text, *reasons, *(["…"] if len(rows) > MAX_REFUSALS else [])])


def changed(field: str, value: Any) -> str:
    name = getattr(Project._meta.get_field(field), "verbose_name", field)
    return f"{name} ({before_and_after(value)})"


def before_and_after(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2:
        return " → ".join(shortened(one) for one in value)
    return shortened(value)


def shortened(value: Any) -> str:
    text = shown_value(value)
    return text if len(text) <= 60 else text[:59] + "…"


def shown_value(value: Any) -> str:
    """Return a detail as people read it."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        value = ", ".join(str(one["name"]) if isinstance(one, dict) and "name" in one else str(one) for one in value)
    return "–" if value in (None, "") else str(value)
