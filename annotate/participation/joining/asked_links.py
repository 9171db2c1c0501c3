"""Sends somebody's own link to the address that is known for a name, for who asks on the join page.

Whoever asks is told the same whether or not there is such a name or an address, and never sees the address.
"""

import hashlib
import logging
import threading
from dataclasses import dataclass
from datetime import datetime
from smtplib import SMTPException

from django.db.models import F, Q
from django.http import HttpRequest
from django.urls import reverse

from annotate.accounts import mails
from annotate.audit import record_event
from annotate.core.rate_limits import check_rate_limit
from annotate.core.transactions import write_transaction
from annotate.labelling.navigation import link_outside
from annotate.models import Annotator, EventVerb, ExpectedPerson, Project

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KnownAddress:
    """To whom a link may be sent, and which: of somebody on the roster, or of an account's annotator."""

    address: str
    path: str
    person: ExpectedPerson | None = None
    annotator: Annotator | None = None


def send_asked_link(request: HttpRequest, project: Project, name: str, now: datetime) -> None:
    """Send the link of this name, if an address is known for it, and log that. Raises RateLimited."""
    who = hashlib.sha256(f"{project.pk}/{name.casefold()}".encode()).hexdigest()
    check_rate_limit(request, "personal-links")
    check_rate_limit(request, "personal-link", who)
    found = known_address(project, name)
    if found is None:
        return
    with write_transaction():
        if found.person:
            sent = ExpectedPerson.objects.filter(pk=found.person.pk)
            sent.update(invited_at=now, n_invitations=F("n_invitations") + 1)
        record_event(project, None, EventVerb.PERSONAL_LINK_ASKED, now, annotator=found.annotator)
    link = link_outside(request, found.path)
    # Sending takes as long as the mail server likes: waiting for it would tell that there is an address.
    threading.Thread(target=send, args=(project, name, found.address, link), name="sends a link", daemon=True).start()


def send(project: Project, name: str, address: str, link: str) -> None:
    try:
        mails.send_asked_link(project=project, name=name, address=address, link=link)
    except (SMTPException, OSError):
        log.exception("A personal link of project %s could not be sent", project.pk)


def known_address(project: Project, name: str) -> KnownAddress | None:
    """Return where the owner of the name can be written to: as the roster says, or to their account's address."""
    named = Q(name__iexact=name, annotator=None) | Q(annotator__pseudonym__iexact=name)
    people = project.expected_people.exclude(email="").select_related("annotator")
    if person := people.filter(named).first():
        return KnownAddress(person.email, reverse("personal", args=[person.token]), person, person.annotator)
    members = Annotator.objects.filter(project=project, pseudonym__iexact=name, user__isnull=False)
    annotator = members.exclude(user__email="").select_related("user").first()
    if annotator and annotator.user:
        return KnownAddress(annotator.user.email, reverse("label", args=[project.pk]), annotator=annotator)
    return None
