"""Places of a study: how many are taken, and taking one."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from annotate.labelling.requirements import NoPlaceLeft
from annotate.locks import lock_project
from annotate.models import Annotator, Completion, Label, ParticipationRules, Project
from annotate.participation.rules import participation_rules

BY_LINK = [Annotator.Source.LINK, Annotator.Source.PLATFORM]


def claim_place(project: Project, now: datetime, besides: str | None = None) -> ParticipationRules:
    """Return the project's rules, held alone until the transaction ends; raises NoPlaceLeft where all places are taken.

    A platform's participant of the id `besides` who is in already needs no place.
    """
    project = lock_project(project.pk)
    entry = participation_rules(project)
    entry.project = project
    is_in = besides and project.annotators.filter(platform_id=besides).exists()
    if not is_in:
        check_places(entry, now)
    return entry


def check_places(entry: ParticipationRules, now: datetime) -> None:
    """Raise NoPlaceLeft where all places are taken."""
    if entry.places is not None and n_places_taken(entry, now) >= entry.places:
        raise NoPlaceLeft(entry.places)


def n_places_taken(entry: ParticipationRules, now: datetime) -> int:
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
