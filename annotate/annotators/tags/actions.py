"""Adds tags to many annotators at once and removes them."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime

from django.db.models import Count
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import MAX_ANNOTATOR_TAGS, Annotator, AnnotatorTag, EventVerb, Project, User

BATCH = 1000
Pair = tuple[int, str]  # an annotator's primary key and the name of a tag
MAX_NAMES_IN_EVENT = 100  # annotators whose keys an event lists


class TooManyTags(UserError):
    def __init__(self, pseudonym: str, n: int) -> None:
        super().__init__(
            _("%(name)s would have %(n)d tags; the limit is %(limit)d. Nothing was changed. Remove some tags first.")
            % {"name": pseudonym, "n": n, "limit": MAX_ANNOTATOR_TAGS}
        )


def tag_annotators(*, project: Project, actor: User, pairs: Collection[Pair], now: datetime) -> int:
    """Add these tags to these annotators and return how many were new. Raises TooManyTags."""
    with write_transaction():
        lock_project(project.pk)
        new = sorted(set(pairs) - existing_tags(project, pairs))
        check_room(project, new)
        AnnotatorTag.objects.bulk_create(
            (AnnotatorTag(annotator_id=annotator, name=name) for annotator, name in new), batch_size=BATCH
        )
        record_tag_events(project, actor, EventVerb.ANNOTATORS_TAGGED, new, now)
    return len(new)


def untag_annotators(*, project: Project, actor: User, pairs: Collection[Pair], now: datetime) -> int:
    """Remove these tags from these annotators and return how many they had."""
    with write_transaction():
        lock_project(project.pk)
        gone = sorted(set(pairs) & existing_tags(project, pairs))
        for name in {name for _annotator, name in gone}:
            people = [annotator for annotator, tag in gone if tag == name]
            for start in range(0, len(people), BATCH):
                AnnotatorTag.objects.filter(name=name, annotator__in=people[start : start + BATCH]).delete()
        record_tag_events(project, actor, EventVerb.ANNOTATORS_UNTAGGED, gone, now)
    return len(gone)


def existing_tags(project: Project, pairs: Collection[Pair]) -> set[Pair]:
    """Return which of these pairs exist, and others of the same tag names."""
    rows = AnnotatorTag.objects.filter(annotator__project=project, name__in={name for _annotator, name in pairs})
    return set(rows.values_list("annotator_id", "name"))


def check_room(project: Project, new: Collection[Pair]) -> None:
    there = AnnotatorTag.objects.filter(annotator__project=project).order_by().values_list("annotator")
    counts = dict(there.annotate(n=Count("pk")))
    for annotator, n in Counter(annotator for annotator, _name in new).items():
        if n + counts.get(annotator, 0) > MAX_ANNOTATOR_TAGS:
            pseudonym = Annotator.objects.values_list("pseudonym", flat=True).get(pk=annotator)
            raise TooManyTags(pseudonym, n + counts.get(annotator, 0))


def record_tag_events(project: Project, actor: User, verb: EventVerb, pairs: Collection[Pair], now: datetime) -> None:
    """Record one event, with the keys of the first hundred annotators."""
    if not pairs:
        return
    people = sorted({annotator for annotator, _name in pairs})
    keys = Annotator.objects.filter(pk__in=people[:MAX_NAMES_IN_EVENT]).order_by("pk").values_list("key", flat=True)
    tags = ", ".join(sorted({name for _annotator, name in pairs}))
    record_event(project, actor, verb, now, tags=tags, annotators=len(people), keys=list(map(str, keys)))
