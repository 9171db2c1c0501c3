"""Making annotators and keeping their settings; one form sent twice makes one annotator."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError

from annotate.audit import record_event
from annotate.core.errors import ProjectNotOpen, PseudonymTaken
from annotate.core.transactions import write_transaction
from annotate.labelling.requirements import JoinLinkDisabled
from annotate.models import Annotator, Event, EventVerb, Project, User
from annotate.participation.consent.actions import give_consent
from annotate.participation.joining import pseudonyms
from annotate.participation.places import claim_place


def join(*, project: Project, pseudonym: str, resume_token: str) -> Annotator:
    """Return the annotator of a join link's form; `resume_token` is the form's own, by which a form sent again finds
    its own.

    Raises ProjectNotOpen and PseudonymTaken.
    """
    own = {"resume_token": resume_token}
    return find_annotator(project, own) or create_annotator(project, pseudonym, Annotator.Source.LINK, own)


def join_with_account(*, project: Project, pseudonym: str, user: User) -> Annotator:
    """Return the annotator of a member of the project. Raises ProjectNotOpen and PseudonymTaken."""
    own = {"user": user}
    return find_annotator(project, own) or create_annotator(project, pseudonym, Annotator.Source.ACCOUNT, own)


def find_annotator(project: Project, own: Mapping[str, User | str]) -> Annotator | None:
    return Annotator.objects.filter(project=project, **own).first()


def create_annotator(
    project: Project, pseudonym: str, source: Annotator.Source, own: Mapping[str, User | str]
) -> Annotator:
    if project.state != Project.State.OPEN:
        raise ProjectNotOpen(project.state)
    if pseudonyms.is_taken(project, pseudonym):
        raise PseudonymTaken(pseudonym)
    try:
        with write_transaction():
            return Annotator.objects.create(project=project, pseudonym=pseudonym, source=source, **own)
    except IntegrityError:
        twin = find_annotator(project, own)  # the same form, sent twice at once
        if twin is None:
            raise PseudonymTaken(pseudonym) from None
        return twin


@dataclass(frozen=True)
class PlatformVisit:
    """What a platform's link says of who comes."""

    participant: str
    study: str = ""
    session: str = ""


def join_by_link(*, project: Project, pseudonym: str, resume_token: str, version: str, now: datetime) -> Annotator:
    """Return the annotator of a join link's form, who agreed to the text of this version.

    Raises ProjectNotOpen, PseudonymTaken, JoinLinkOff and NoPlaceLeft.
    """
    with write_transaction():
        if not Annotator.objects.filter(project=project, resume_token=resume_token).exists():
            entry = claim_place(project, now)
            if not entry.open_link:
                raise JoinLinkDisabled
        annotator = join(project=project, pseudonym=pseudonym, resume_token=resume_token)
        if version:
            give_consent(annotator=annotator, version=version, now=now)
    return annotator


def record_refused_browser(annotator: Annotator, now: datetime) -> None:
    """Log that another browser came with this participant's id and was turned away; once a day."""
    known = Event.objects.filter(annotator=annotator, verb=EventVerb.OTHER_BROWSER_REFUSED)
    if not known.filter(at__gt=now - timedelta(days=1)).exists():
        record_event(annotator.project, None, EventVerb.OTHER_BROWSER_REFUSED, now, annotator=annotator)


def join_by_platform(
    *, project: Project, visit: PlatformVisit, version: str, now: datetime, rng: random.Random
) -> tuple[Annotator, bool]:
    """Return the annotator with the platform's id and whether it is new. Raises ProjectNotOpen and NoPlaceLeft."""
    with write_transaction():
        entry = claim_place(project, now, besides=visit.participant)
        annotator = Annotator.objects.filter(project=project, platform_id=visit.participant).first()
        if annotator:
            return annotator, False
        own = {
            "platform_id": visit.participant,
            "platform_study": visit.study,
            "platform_session": visit.session,
        }
        annotator = create_annotator(entry.project, pseudonyms.suggest(project, rng), Annotator.Source.PLATFORM, own)
        if version:
            give_consent(annotator=annotator, version=version, now=now)
    return annotator, True
