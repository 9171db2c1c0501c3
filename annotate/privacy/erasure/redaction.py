"""Takes a person's names out of rows that stay: projects' history, answers kept for the API, webhooks' messages."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from annotate.models import Annotator, BulkExclusion, Event, ExpectedPerson, StoredResponse, Webhook, WebhookDelivery

REMOVED = "(erased)"
REFUSALS = "refusals"  # in an event's details: why rows of an import were left out
NUMBERS = frozenset({"labels", "restored", "kept_voided", "version"})  # that say nothing of a person


@dataclass(frozen=True)
class NamesToRedact:
    """What a person is called.

    addresses: e-mail addresses, ids and secrets, which mean nobody else wherever they stand.   pseudonyms: may be
    ordinary words, and mean the person where they stand alone or in quotation marks.
    """

    addresses: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()

    @classmethod
    def of_annotators(cls, annotators: Iterable[Annotator]) -> "NamesToRedact":
        people = list(annotators)
        ids: list[tuple[str, ...]] = [
            (one.platform_id, one.platform_session, str(one.key), one.resume_token) for one in people
        ]
        expected = ExpectedPerson.objects.filter(annotator__in=[one.pk for one in people])
        named = [*chain.from_iterable(ids), *chain.from_iterable(expected.values_list("token", "email"))]
        return cls(tuple(filter(None, named)), tuple(one.pseudonym for one in people))

    @property
    def pattern(self) -> re.Pattern[str]:
        anywhere = name_pattern_parts(self.addresses)
        alone = "|".join(rf"^{re.escape(name)}$|(?<=“){re.escape(name)}(?=”)" for name in self.pseudonyms)
        return re.compile("|".join(filter(None, (anywhere, alone))) or r"(?!)", re.IGNORECASE)

    @property
    def in_sentences(self) -> re.Pattern[str]:
        """Pseudonyms wherever they stand, for sentences about rows of a file, in whatever language they are."""
        return re.compile(name_pattern_parts((*self.addresses, *self.pseudonyms)) or r"(?!)", re.IGNORECASE)


def name_pattern_parts(names: Iterable[str]) -> str:
    return "|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in names)


def redact(value: Any, pattern: re.Pattern[str]) -> Any:
    """Return the JSON value with every such name in it replaced."""
    if isinstance(value, str):
        return pattern.sub(REMOVED, value)
    if isinstance(value, dict):
        return {name: redact(one, pattern) for name, one in value.items()}
    if isinstance(value, list):
        return [redact(one, pattern) for one in value]
    return value


def rows_naming(rows: QuerySet, column: str, names: NamesToRedact) -> QuerySet:
    """Return the rows whose column holds one of the names; JSON columns spell letters that are not ASCII in
    two ways."""
    found = Q(pk__in=[])
    for name in (*names.addresses, *names.pseudonyms):
        for spelled in {name, json.dumps(name)[1:-1]}:
            found |= Q(text__icontains=spelled)
    return rows.annotate(text=Cast(column, TextField())).filter(found)


def clear_event_details(events: QuerySet[Event]) -> None:
    """Clear details of events; what happened, when and by whom stays, with how many labels it was about and the
    version of the data, by which fits before and after are found."""
    emptied = list(events)
    for event in emptied:
        event.details = {name: value if name in NUMBERS else REMOVED for name, value in event.details.items()}
    Event.objects.bulk_update(emptied, ["details"], batch_size=200)


def redact_events(events: QuerySet[Event], names: NamesToRedact) -> None:
    pattern, in_sentences, changed = names.pattern, names.in_sentences, []
    for event in rows_naming(events, "details", names):
        details = {
            name: redact(value, in_sentences if name == REFUSALS else pattern) for name, value in event.details.items()
        }
        if details != event.details:
            event.details = details
            changed.append(event)
    Event.objects.bulk_update(changed, ["details"], batch_size=200)


def redact_stored_responses(names: NamesToRedact) -> None:
    """Answers kept for a request sent again go as a whole: sent again, it is a new request."""
    pattern = names.pattern
    found = rows_naming(StoredResponse.objects.all(), "body", names).values_list("pk", "body")
    about_them = [pk for pk, body in found if redact(content := json.loads(body), pattern) != content]
    StoredResponse.objects.filter(pk__in=about_them).delete()


def delete_webhook_messages(annotators: Iterable[Annotator]) -> None:
    """Delete sent and waiting messages of webhooks about these annotators: each has the key of its annotator.

    Of a message about answers of several people only theirs go.
    """
    for one in annotators:
        deliveries = WebhookDelivery.objects.filter(webhook__project=one.project_id, body__contains=str(one.key))
        about_one = [
            *(Webhook.Event.FLAG_RAISED, Webhook.Event.ANNOTATOR_GONE),
            *(Webhook.Event.FINISHED, Webhook.Event.IDEA_SUBMITTED),
        ]
        deliveries.filter(event__in=about_one).delete()
        for message in deliveries.filter(event__in=[Webhook.Event.ANSWER_GIVEN, Webhook.Event.ANSWER_UNDONE]):
            remove_answers_of(one, message)


def redact_bulk_exclusions(annotators: Iterable[Annotator]) -> None:
    """Take these annotators' sessions out of exclusions by session; call while their labels are there."""
    for one in annotators:
        sessions = {one.platform_session, *one.labels.order_by().values_list("session", flat=True).distinct()}
        made = BulkExclusion.objects.filter(project=one.project_id, by=BulkExclusion.By.SESSION)
        named = list(made.filter(value__in=sessions - {""}).values_list("pk", flat=True))
        for event in Event.objects.filter(project=one.project_id, details__exclusion__in=named):
            event.details = {name: REMOVED if name == "chosen" else value for name, value in event.details.items()}
            event.save(update_fields=["details"])
        BulkExclusion.objects.filter(pk__in=named).update(value=REMOVED)


def remove_answers_of(annotator: Annotator, message: WebhookDelivery) -> None:
    body = json.loads(message.body)
    answers = [answer for answer in body["data"]["answers"] if answer["annotator"] != str(annotator.key)]
    if not answers:
        message.delete()
        return
    body["data"]["answers"] = answers
    message.body = json.dumps(body, ensure_ascii=False, allow_nan=False)
    message.save(update_fields=["body"])


def names_in_lower_case(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name.lower() for name in names if name}))
