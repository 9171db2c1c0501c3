"""What people did to a project lately, each event as a sentence."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotate.models import Entry, Event, Project

# The verbs told to owners; annotators' own events are left to the export.
SENTENCES = {
    "project created": gettext_lazy("created the project"),
    "project opened": gettext_lazy("opened the project"),
    "project paused": gettext_lazy("paused the project"),
    "project resumed": gettext_lazy("let the project go on"),
    "project closed": gettext_lazy("closed the project"),
    "project reopened": gettext_lazy("reopened the project"),
    "project archived": gettext_lazy("archived the project"),
    "project brought back": gettext_lazy("brought the project back from the archive"),
    "project cloned": gettext_lazy("made the project “%(clone)s” as a clone"),
    "project made as a clone": gettext_lazy("made this project as a clone of “%(source)s”"),
    "settings changed": gettext_lazy("changed %(changes)s"),
    "entry changed": gettext_lazy("changed who may take part: %(fields)s"),
    "fields changed": gettext_lazy("changed the questionnaire"),
    "platform link replaced": gettext_lazy("replaced the platform link"),
    "annotators invited": gettext_lazy("invited %(sent)s people by e-mail to take part"),
    "code used": gettext_lazy("marked the code %(code)s as used"),
    "join link replaced": gettext_lazy("replaced the join link"),
    "items imported": gettext_lazy("imported %(items)s items (%(source)s)"),
    "comparisons imported": gettext_lazy("imported %(labels)s labels from %(rows)s rows (%(source)s)%(refusals)s"),
    "import asked for": gettext_lazy("uploaded “%(source)s” to be imported"),
    "import went on": gettext_lazy("let the import of “%(source)s” go on"),
    "import stopped": gettext_lazy("stopped the import of “%(source)s” after %(written)s rows"),
    "features imported": gettext_lazy("imported features of %(items)s items (%(source)s)"),
    "item retired": gettext_lazy("retired the item “%(key)s”"),
    "item brought back": gettext_lazy("brought back the item “%(key)s”"),
    "webhook added": gettext_lazy("added the webhook %(url)s"),
    "webhook removed": gettext_lazy("removed the webhook %(url)s"),
    "webhook switched on": gettext_lazy("switched on the webhook %(url)s"),
    "webhook switched off": gettext_lazy("switched off the webhook %(url)s"),
    "webhook's secret replaced": gettext_lazy("replaced the secret of the webhook %(url)s"),
    "item's tags changed": gettext_lazy("changed the tags of the item “%(key)s” (%(tags)s)"),
    "items tagged": gettext_lazy("tagged %(items)s items: %(tags)s"),
    "items untagged": gettext_lazy("took tags from %(items)s items: %(tags)s"),
    "items retired": gettext_lazy("retired %(items)s items"),
    "items brought back": gettext_lazy("brought back %(items)s items"),
    "captions changed": gettext_lazy("changed the captions of “%(key)s”"),
    "item deleted": gettext_lazy("deleted the item “%(key)s”"),
    "export taken": gettext_lazy("exported %(table)s (%(file_format)s)"),
    "access token made": gettext_lazy("made the access token “%(name)s” (%(scopes)s), which reaches this project"),
    "access token revoked": gettext_lazy("revoked the access token “%(name)s”"),
    "results link made": gettext_lazy("published the ranking by the results link %(link)s"),
    "results link revoked": gettext_lazy("revoked the results link %(link)s"),
    "run record asked for": gettext_lazy("asked for a run record"),
    "cohorts compared": gettext_lazy("asked for a comparison of two cohorts"),
    "member invited": gettext_lazy("invited %(address)s"),
    "member added": gettext_lazy("added %(member)s (%(role)s)"),
    "member's role changed": gettext_lazy("changed the role of %(member)s (%(role)s)"),
    "member removed": gettext_lazy("removed %(member)s (%(role)s)"),
    "annotator excluded": gettext_lazy("excluded %(annotator)s; %(labels)s labels voided. %(reason)s"),
    "seen as an annotator": gettext_lazy("looked at the pages of %(annotator)s as they see them"),
    "annotator erased": gettext_lazy("erased an annotator and %(labels)s labels for good"),
    "retention changed": gettext_lazy("changed for how long annotators' data are kept (%(days)s)"),
    "retention applied": gettext_lazy("forgot the names of %(annotators)s annotators, as promised"),
    "right answers added": gettext_lazy("added %(sets)s sets with a right answer (%(purposes)s)"),
    "right answer changed": gettext_lazy("changed what is told after practice (%(purpose)s)"),
    "right answer removed": gettext_lazy("removed a set with a right answer (%(purpose)s)"),
    "never shown added": gettext_lazy("kept items from annotators (%(rows)s lines)"),
    "never shown removed": gettext_lazy("no longer keeps an item or tag from %(annotator)s"),
    "annotator let in": gettext_lazy("let %(annotator)s in, who had failed the practice"),
    "annotators tagged": gettext_lazy("tagged %(annotators)s annotators: %(tags)s"),
    "annotators untagged": gettext_lazy("took tags from %(annotators)s annotators: %(tags)s"),
    "annotator readmitted": gettext_lazy(
        "re-admitted %(annotator)s; %(restored)s labels restored, %(kept_voided)s stay voided"
    ),
}

# What the log offers to choose from; the rest of each sentence is of one event.
NAMES = {
    "project created": gettext_lazy("Project: created"),
    "project opened": gettext_lazy("Project: opened"),
    "project paused": gettext_lazy("Project: paused"),
    "project resumed": gettext_lazy("Project: resumed"),
    "project closed": gettext_lazy("Project: closed"),
    "project reopened": gettext_lazy("Project: reopened"),
    "project archived": gettext_lazy("Project: archived"),
    "project brought back": gettext_lazy("Project: brought back from the archive"),
    "project cloned": gettext_lazy("Project: cloned"),
    "project made as a clone": gettext_lazy("Project: made as a clone"),
    "settings changed": gettext_lazy("Settings"),
    "entry changed": gettext_lazy("Who may take part"),
    "fields changed": gettext_lazy("Questionnaire"),
    "platform link replaced": gettext_lazy("Link: platform link replaced"),
    "join link replaced": gettext_lazy("Link: join link replaced"),
    "results link made": gettext_lazy("Link: results link made"),
    "results link revoked": gettext_lazy("Link: results link revoked"),
    "annotators invited": gettext_lazy("Annotators: invited"),
    "annotator excluded": gettext_lazy("Annotators: excluded"),
    "annotator readmitted": gettext_lazy("Annotators: re-admitted"),
    "seen as an annotator": gettext_lazy("Annotators: seen as one"),
    "annotator erased": gettext_lazy("Annotators: erased"),
    "retention changed": gettext_lazy("Data protection: changed"),
    "retention applied": gettext_lazy("Data protection: names dropped"),
    "annotator let in": gettext_lazy("Annotators: let in"),
    "annotators tagged": gettext_lazy("Annotators: tagged"),
    "annotators untagged": gettext_lazy("Annotators: tags taken"),
    "never shown added": gettext_lazy("Annotators: items kept from them"),
    "never shown removed": gettext_lazy("Annotators: items no longer kept from them"),
    "code used": gettext_lazy("Annotators: code used"),
    "items imported": gettext_lazy("Items: imported"),
    "comparisons imported": gettext_lazy("Labels: imported"),
    "features imported": gettext_lazy("Items: features imported"),
    "import asked for": gettext_lazy("Imports: asked for"),
    "import went on": gettext_lazy("Imports: gone on with"),
    "import stopped": gettext_lazy("Imports: stopped"),
    "item retired": gettext_lazy("Items: retired"),
    "item brought back": gettext_lazy("Items: brought back"),
    "items tagged": gettext_lazy("Items: many tagged"),
    "items untagged": gettext_lazy("Items: tags taken from many"),
    "items retired": gettext_lazy("Items: many retired"),
    "items brought back": gettext_lazy("Items: many brought back"),
    "item deleted": gettext_lazy("Items: deleted"),
    "item's tags changed": gettext_lazy("Items: tags changed"),
    "captions changed": gettext_lazy("Items: captions changed"),
    "right answers added": gettext_lazy("Right answers: added"),
    "right answer changed": gettext_lazy("Right answers: words changed"),
    "right answer removed": gettext_lazy("Right answers: removed"),
    "member invited": gettext_lazy("Members: invited"),
    "member added": gettext_lazy("Members: added"),
    "member's role changed": gettext_lazy("Members: role changed"),
    "member removed": gettext_lazy("Members: removed"),
    "webhook added": gettext_lazy("Webhooks: added"),
    "webhook removed": gettext_lazy("Webhooks: removed"),
    "webhook switched on": gettext_lazy("Webhooks: switched on"),
    "webhook switched off": gettext_lazy("Webhooks: switched off"),
    "webhook's secret replaced": gettext_lazy("Webhooks: secret replaced"),
    "access token made": gettext_lazy("Access tokens: made"),
    "access token revoked": gettext_lazy("Access tokens: revoked"),
    "export taken": gettext_lazy("Exports: taken"),
    "run record asked for": gettext_lazy("Exports: run record asked for"),
    "cohorts compared": gettext_lazy("Cohorts: compared"),
}
OFTEN = {"export taken"}  # left to the log

MOST_REFUSALS = 5  # told of one import


@dataclass(frozen=True)
class Told:
    at: datetime
    who: str
    what: str


def recent_events(project: Project, limit: int = 20) -> list[Told]:
    """The latest first, without those that come often."""
    events = Event.objects.filter(project=project, verb__in=SENTENCES.keys() - OFTEN).select_related(
        "actor", "annotator"
    )
    return [told(event) for event in events.order_by("-at", "-pk")[:limit]]


def told(event: Event) -> Told:
    who = event.actor.email or event.actor.username if event.actor else _("Somebody")
    details = {name: before_and_after(value) for name, value in event.details.items()}
    details["annotator"] = str(event.annotator or _("an annotator"))
    if event.verb == "settings changed":
        # Sorted, as PostgreSQL keeps the keys of JSON in an order of its own.
        details["changes"] = ", ".join(sorted(changed(name, value) for name, value in event.details.items()))
    if event.verb == "entry changed":
        names = event.details.get("fields", event.details)  # once, only the names were kept
        fields = (Entry._meta.get_field(name) for name in names)
        details["fields"] = ", ".join(str(getattr(field, "verbose_name", field)) for field in fields)
    if event.verb == "comparisons imported":
        details["refusals"] = refusals(event.details["refusals"])
    sentence = str(SENTENCES.get(event.verb, event.verb.replace("%", "%%")))
    return Told(event.at, who, (sentence % Blank(details)).strip())


class Blank(dict[str, str]):
    """Details that an event does not have read as "?"."""

    def __missing__(self, name: str) -> str:
        return "?"


def refusals(rows: list[tuple[int, str]]) -> str:
    """Which rows were not imported and why, the first few of them."""
    if not rows:
        return ""
    text = ngettext("; %(n)d row was refused:", "; %(n)d rows were refused:", len(rows)) % {"n": len(rows)}
    reasons = [_("row %(row)d: %(reason)s") % {"row": row, "reason": reason} for row, reason in rows[:MOST_REFUSALS]]
    return " ".join([text, *reasons, *(["…"] if len(rows) > MOST_REFUSALS else [])])


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
    """A detail as people read it."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        value = ", ".join(str(one["name"]) if isinstance(one, dict) and "name" in one else str(one) for one in value)
    return "–" if value in (None, "") else str(value)
