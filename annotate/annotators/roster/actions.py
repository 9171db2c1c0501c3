"""Changes the roster: adding and removing people, joining by a personal link, sending links by e-mail."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from smtplib import SMTPException
from typing import Any

from django.db.models import F
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from annotate import access
from annotate.accounts import mails
from annotate.annotators.roster.queries import Group, to_write_to
from annotate.annotators.roster.table import NewPerson
from annotate.annotators.roster.unfinished import answers_asked
from annotate.audit import record_event
from annotate.core import rate_limits
from annotate.core.errors import RateLimited, UserError
from annotate.core.transactions import write_transaction
from annotate.locks import check_items_there, lock_project
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
    """Put these people on the roster, all or none. Raises RosterFull, RosterChanged and ItemsDeleted."""
    with write_transaction():
        lock_project(project.pk)
        check_items_there(project, {item for row in rows for item in row.items})
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
        lock_project(person.project_id)  # somebody who joins by the link is let finish
        if not ExpectedPerson.objects.filter(pk=person.pk).delete()[0]:
            return
        record_event(person.project, actor, EventVerb.EXPECTED_PERSON_REMOVED, now)


def personal_link(request: HttpRequest, person: ExpectedPerson) -> str:
    return request.build_absolute_uri(reverse("personal", args=[person.token]))


def shown_link(request: HttpRequest, project: Project, person: ExpectedPerson) -> str:
    """Return the link for those who may see it: the owners; "" for managers, who may send it.

    Whoever has it can answer as this person.
    """
    return personal_link(request, person) if project.role in access.OWN else ""


def send_links(
    request: HttpRequest, project: Project, actor: User, to: Group, words: str, now: datetime
) -> list[SentLink]:
    """Send the group's people their personal links, and note when; at most MAX_MESSAGES of them. Raises CannotGoOn."""
    people = to_write_to(project, to, now)[:MAX_MESSAGES]
    number = answers_asked(project) if to == Group.UNFINISHED else None
    letter = Letter(project, actor, to, words, number)
    sent = [send_link(request, letter, person, now) for person in people]
    if n := sum(one.ok for one in sent):
        verb = EventVerb.ANNOTATORS_REMINDED if to == Group.UNFINISHED else EventVerb.ANNOTATORS_INVITED
        record_event(project, actor, verb, now, sent=n)
    return sent


@dataclass(frozen=True)
class Letter:
    """What all messages of one sending share.   number: how many answers a reminder says are asked of each."""

    project: Project
    by: User
    to: Group
    words: str
    number: int | None

    def send(self, person: ExpectedPerson, link: str) -> None:
        given: dict[str, Any] = {"project": self.project, "by": self.by, "words": self.words, "link": link}
        given |= {"name": person.name, "address": person.email}
        if self.to == Group.UNFINISHED:
            n: int = person.n_answered  # type: ignore[attr-defined]  # annotated by unfinished
            mails.send_reminder(**given, n_answered=n, number=self.number)
        else:
            mails.send_personal_link(**given)


def send_link(request: HttpRequest, letter: Letter, person: ExpectedPerson, now: datetime) -> SentLink:
    try:
        rate_limits.check_rate_limit(request, "invite-annotators", who=str(letter.by.pk))
    except RateLimited as refusal:
        return SentLink(person, _("not sent. %(why)s") % {"why": refusal})
    mine = ExpectedPerson.objects.filter(pk=person.pk, invited_at=person.invited_at)
    if not mine.update(invited_at=now, n_invitations=F("n_invitations") + 1):
        return SentLink(person, _("not sent: somebody else has just written to them."))
    try:
        letter.send(person, personal_link(request, person))
    except (SMTPException, OSError):
        log.exception("A personal link of project %s could not be sent", letter.project.pk)
        noted = ExpectedPerson.objects.filter(pk=person.pk, invited_at=now)
        noted.update(invited_at=person.invited_at, n_invitations=F("n_invitations") - 1)
        return SentLink(person, _("not sent: the mail server refused it. Try this address again later."))
    return SentLink(person, _("on its way."), ok=True)
