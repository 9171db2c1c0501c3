"""Changes the roster: adding and removing people, joining by a personal link, sending links by e-mail."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from smtplib import SMTPException

from django.db.models import F
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import access
from annotate.accounts import mails
from annotate.annotators.roster.table import NewPerson
from annotate.audit import record_event
from annotate.core import rate_limits
from annotate.core.errors import RateLimited, UserError
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import (
    MAX_EXPECTED_PEOPLE,
    EventVerb,
    ExpectedConflict,
    ExpectedPerson,
    Project,
    User,
)

log = logging.getLogger(__name__)
MAX_MESSAGES = 100  # sent at a time


class RosterFull(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("The list would have %(n)d people; the limit is %(limit)d. Nothing was added. Remove some first.")
            % {"n": n, "limit": MAX_EXPECTED_PEOPLE}
        )


class RosterChanged(UserError):
    def __init__(self, name: str) -> None:
        super().__init__(
            _("Somebody has just put “%(name)s” or their address on the list, so nothing was added. Check it again.")
            % {"name": name}
        )


@dataclass(frozen=True)
class SentLink:
    """What became of one person's message; `ok` where it left."""

    person: ExpectedPerson
    told: str
    ok: bool = False


def add_people(*, project: Project, actor: User, rows: Sequence[NewPerson], now: datetime) -> int:
    """Put these people on the roster, all or none. Raises RosterFull and RosterChanged."""
    with write_transaction():
        lock_project(project.pk)
        there = list(project.expected_people.values_list("name", "email"))
        if len(there) + len(rows) > MAX_EXPECTED_PEOPLE:
            raise RosterFull(len(there) + len(rows))
        known = {value.casefold() for one in there for value in one if value}
        for row in rows:
            if {row.name.casefold(), row.email.casefold()} & known:
                raise RosterChanged(row.name)
        people = ExpectedPerson.objects.bulk_create(
            ExpectedPerson(
                project=project,
                name=row.name,
                email=row.email,
                organisation=row.organisation,
                tags=list(row.tags),
                added_at=now,
            )
            for row in rows
        )
        conflicts = []
        for person, row in zip(people, rows, strict=True):
            conflicts += [ExpectedConflict(person=person, item_id=item) for item in row.items]
            conflicts += [ExpectedConflict(person=person, tag_id=tag) for tag in row.item_tags]
        ExpectedConflict.objects.bulk_create(conflicts)
        if rows:
            record_event(project, actor, EventVerb.PEOPLE_EXPECTED, now, people=len(rows), conflicts=len(conflicts))
    return len(rows)


def remove_person(*, person: ExpectedPerson, actor: User, now: datetime) -> None:
    """Take a person off the roster: their link stops working; who has joined stays an annotator."""
    with write_transaction():
        ExpectedPerson.objects.filter(pk=person.pk).delete()
        record_event(person.project, actor, EventVerb.EXPECTED_PERSON_REMOVED, now)


def personal_link(request: HttpRequest, person: ExpectedPerson) -> str:
    return request.build_absolute_uri(reverse("personal", args=[person.token]))


def shown_link(request: HttpRequest, project: Project, person: ExpectedPerson) -> str:
    """Return the link for those who may see it: the owners; "" for managers, who may send it.

    Whoever has it can answer as this person.
    """
    return personal_link(request, person) if project.role in access.OWN else ""


def send_links(
    request: HttpRequest, project: Project, actor: User, people: Iterable[ExpectedPerson], words: str
) -> list[SentLink]:
    """Send each of these people their personal link, and note when; at most MAX_MESSAGES of them."""
    sent = [send_link(request, project, actor, person, words) for person in list(people)[:MAX_MESSAGES]]
    left = [one.person.pk for one in sent if one.ok]
    if left:
        now = timezone.now()
        ExpectedPerson.objects.filter(pk__in=left).update(invited_at=now, n_invitations=F("n_invitations") + 1)
        record_event(project, actor, EventVerb.ANNOTATORS_INVITED, now, sent=len(left))
    return sent


def send_link(request: HttpRequest, project: Project, actor: User, person: ExpectedPerson, words: str) -> SentLink:
    try:
        rate_limits.check_rate_limit(request, "invite-annotators", who=str(actor.pk))
        mails.send_personal_link(
            project=project,
            by=actor,
            name=person.name,
            address=person.email,
            link=personal_link(request, person),
            words=words,
        )
    except RateLimited as refusal:
        return SentLink(person, _("not sent. %(why)s") % {"why": refusal})
    except (SMTPException, OSError):
        log.exception("A personal link of project %s could not be sent", project.pk)
        return SentLink(person, _("not sent: the mail server refused it. Try this address again later."))
    return SentLink(person, _("on its way."), ok=True)
