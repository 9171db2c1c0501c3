"""Who may take part: changing the rules, taking a place, agreeing to the consent text."""

import hashlib
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q

from annotate import pseudonyms
from annotate.actions.annotators import create, join
from annotate.actions.events import note, told
from annotate.entering import JoinLinkOff, NoPlaceLeft
from annotate.errors import Erased
from annotate.locking import alone
from annotate.models import Annotator, Completion, Consent, ConsentText, Entry, Label, Project, User, new_token
from annotate.writing import writing

HIDDEN = "•••"
# Codes are worth money on a platform: the history says that one changed, not what to.
CODES = ("complete_code", "screened_out_code", "quota_full_code", "no_consent_code")
BY_LINK = [Annotator.Source.LINK, Annotator.Source.PLATFORM]


@dataclass(frozen=True)
class Visit:
    """What a platform's link says of who comes."""

    participant: str
    study: str = ""
    session: str = ""


def entry_of(project: Project) -> Entry:
    """The project's rules, those of a project without any where none were saved."""
    return Entry.objects.filter(project=project).first() or Entry(project=project)


def change_entry(*, project: Project, actor: User, values: dict[str, Any], now: datetime) -> list[str]:
    """Sets these fields of Entry; the names of those that changed."""
    with writing():
        project = alone(project.pk)
        entry = entry_of(project)
        changes = {name: [getattr(entry, name), value] for name, value in values.items()}
        changes = {name: both for name, both in changes.items() if both[0] != both[1]}
        if not changes:
            return []
        for name in changes:
            setattr(entry, name, values[name])
        entry.save()
        project.consent_version = keep_consent_text(project, entry.consent, now)
        project.has_ending = has_ending(project, entry)
        project.save(update_fields=["consent_version", "has_ending"])
        note(project, actor, "entry changed", now, **told(without_codes(changes)))
    return [*changes]


def without_codes(changes: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [value and HIDDEN for value in both] if name in CODES else both for name, both in changes.items()}


def has_ending(project: Project, entry: Entry) -> bool:
    return bool(entry.codes != Entry.Codes.NONE or entry.thanks or entry.platform or project.fields_after)


def replace_platform_link(*, project: Project, actor: User, now: datetime) -> None:
    """The old link leads nowhere from now on; who came by it stays."""
    with writing():
        Entry.objects.filter(project=project).update(platform_token=new_token())
        note(project, actor, "platform link replaced", now)


def keep_consent_text(project: Project, text: str, now: datetime) -> str:
    """The version of the text, which is kept as it is; "" of no text."""
    if not text.strip():
        return ""
    version = hashlib.sha256(text.encode()).hexdigest()
    ConsentText.objects.get_or_create(project=project, version=version, defaults={"text": text, "at": now})
    return version


def agree(*, annotator: Annotator, version: str, now: datetime) -> bool:
    """Stores that the annotator agreed to this text; False if it is not the project's text any more."""
    with writing():
        project = alone(annotator.project_id)
        if version != project.consent_version:
            return False
        if not Annotator.objects.filter(pk=annotator.pk).exists():
            raise Erased
        text = ConsentText.objects.get(project=project, version=version)
        Consent.objects.get_or_create(annotator=annotator, text=text, defaults={"at": now})
        Annotator.objects.filter(pk=annotator.pk).update(consent_version=version)
        annotator.consent_version = version
    return True


def join_by_link(*, project: Project, pseudonym: str, resume_token: str, version: str, now: datetime) -> Annotator:
    """The annotator of a join link's form, who agreed to the text of this version.

    Raises NotOpen, PseudonymTaken, JoinLinkOff and NoPlaceLeft.
    """
    with writing():
        if not Annotator.objects.filter(project=project, resume_token=resume_token).exists():
            entry = take_place(project, now)
            if not entry.open_link:
                raise JoinLinkOff
        annotator = join(project=project, pseudonym=pseudonym, resume_token=resume_token)
        if version:
            agree(annotator=annotator, version=version, now=now)
    return annotator


def join_by_platform(
    *, project: Project, visit: Visit, version: str, now: datetime, rng: random.Random
) -> tuple[Annotator, bool]:
    """The annotator with the platform's id and whether it is new. Raises NotOpen and NoPlaceLeft."""
    with writing():
        entry = take_place(project, now, besides=visit.participant)
        annotator = Annotator.objects.filter(project=project, platform_id=visit.participant).first()
        if annotator:
            return annotator, False
        own = {
            "platform_id": visit.participant,
            "platform_study": visit.study,
            "platform_session": visit.session,
        }
        annotator = create(entry.project, pseudonyms.suggest(project, rng), Annotator.Source.PLATFORM, own)
        if version:
            agree(annotator=annotator, version=version, now=now)
    return annotator, True


def take_place(project: Project, now: datetime, besides: str | None = None) -> Entry:
    """The project's rules, held alone until the transaction ends; raises NoPlaceLeft where all places are taken.

    A platform's participant of the id `besides` who is in already needs no place.
    """
    project = alone(project.pk)
    entry = entry_of(project)
    entry.project = project
    is_in = besides and project.annotators.filter(platform_id=besides).exists()
    if not is_in:
        check_places(entry, now)
    return entry


def check_places(entry: Entry, now: datetime) -> None:
    """Raises NoPlaceLeft where all places are taken."""
    if entry.places is not None and n_places_taken(entry, now) >= entry.places:
        raise NoPlaceLeft(entry.places)


def n_places_taken(entry: Entry, now: datetime) -> int:
    """Participants by links who are neither excluded nor screened out, nor left an unfinished part for too long."""
    people = Annotator.objects.filter(
        project_id=entry.project_id, source__in=BY_LINK, excluded_at=None, screened_out_at=None
    )
    people = people.exclude(ended__in=[Completion.Kind.SCREENED_OUT, Completion.Kind.QUOTA_FULL])
    if entry.place_minutes is not None:
        since = now - timedelta(minutes=entry.place_minutes)
        active = Exists(Label.objects.filter(annotator=OuterRef("pk"), created_at__gte=since))
        people = people.filter(Q(ended=Completion.Kind.COMPLETE) | Q(joined_at__gte=since) | active)
    return people.count()
