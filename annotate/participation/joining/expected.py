"""Joining as somebody whom the owner expects: by a personal link, or from the course of a learning platform."""

from datetime import datetime
from itertools import count

from django.db.models import Q
from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.labelling.eligibility import check_open
from annotate.locks import lock_project
from annotate.models import (
    Annotator,
    AnnotatorTag,
    ConflictOfInterest,
    ExpectedPerson,
    LtiLearner,
    Project,
    Tag,
    new_token,
)
from annotate.participation.consent.actions import give_consent


class NotExpected(UserError):
    status = 410

    def __init__(self) -> None:
        super().__init__(_("This link is no longer valid. Ask whoever sent it to you for a new one."))


def join_as_expected(*, person: ExpectedPerson, version: str, now: datetime) -> Annotator:
    """Return the annotator of a personal link, made the first time: named, tagged and with their conflicts.

    The place is theirs whatever the project's places are. Raises ProjectNotOpen and NotExpected.
    """
    with write_transaction():
        project = lock_project(person.project_id)
        found = ExpectedPerson.objects.select_related("annotator").filter(pk=person.pk).first()
        if found is None:
            raise NotExpected
        if found.annotator:
            return found.annotator
        check_open(project, now)
        annotator = Annotator.objects.create(
            project=project,
            pseudonym=free_name(project, found.name),
            source=Annotator.Source.LINK,
            resume_token=new_token(),
        )
        found.annotator = annotator
        found.save(update_fields=["annotator"])
        apply_roster(found, annotator)
        if found.platform_id and found.subject:
            LtiLearner.objects.create(
                annotator=annotator,
                platform_id=found.platform_id,
                subject=found.subject,
                lineitem=found.lineitem,
                not_before=now,
            )
        if version:
            give_consent(annotator=annotator, version=version, now=now)
    return annotator


def free_name(project: Project, name: str) -> str:
    """Return the name, with a number behind it where an annotator has it already."""
    taken = {one.casefold() for one in Annotator.everyone.filter(project=project).values_list("pseudonym", flat=True)}
    names = (name if n == 1 else f"{name} {n}" for n in count(1))
    return next(one for one in names if one.casefold() not in taken)


def apply_roster(person: ExpectedPerson, annotator: Annotator) -> None:
    """Give a new annotator the tags and conflicts of interest that the roster says."""
    AnnotatorTag.objects.bulk_create(AnnotatorTag(annotator=annotator, name=name) for name in person.tags)
    pairs: set[tuple[int | None, int | None]] = set(person.conflicts.values_list("item", "tag"))
    pairs |= {(None, tag) for tag in matching_tag_ids(person)}
    ConflictOfInterest.objects.bulk_create(
        ConflictOfInterest(annotator=annotator, item_id=item, tag_id=tag) for item, tag in pairs
    )
    if pairs:
        annotator.has_never_shown = True
        annotator.save(update_fields=["has_never_shown"])


def matching_tag_ids(person: ExpectedPerson) -> list[int]:
    """Return the item tags that name the person's organisation or the domain of their address."""
    if not (names := person.matching_tags):
        return []
    prefixed = Tag.objects.filter(project=person.project_id).filter(
        Q(name__istartswith="domain:") | Q(name__istartswith="organisation:")
    )
    return [pk for pk, name in prefixed.values_list("pk", "name") if without_spaces(name) in names]


def without_spaces(name: str) -> str:
    kind, _colon, value = name.partition(":")
    return f"{kind.strip()}:{value.strip()}".casefold()
