"""Writing the tags of annotators: putting some to many people, taking some from many."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime

from django.db.models import Count
from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.errors import Refusal
from annotate.locking import alone
from annotate.models import MOST_ANNOTATOR_TAGS, Annotator, AnnotatorTag, Project, User
from annotate.writing import writing

BATCH = 1000
Pair = tuple[int, str]  # an annotator's primary key and the name of a tag
TOLD = 100  # tags of people that the history names one by one


class TooManyTags(Refusal):
    def __init__(self, pseudonym: str, n: int) -> None:
        super().__init__(
            _("%(name)s would have %(n)d tags; the limit is %(limit)d. Nothing was changed: take some away first.")
            % {"name": pseudonym, "n": n, "limit": MOST_ANNOTATOR_TAGS}
        )


def tag_annotators(*, project: Project, actor: User, pairs: Collection[Pair], now: datetime) -> int:
    """Puts these tags to these annotators of the project; how many were new. Raises TooManyTags."""
    with writing():
        alone(project.pk)
        new = sorted(set(pairs) - tags_there(project, pairs))
        check_room(project, new)
        AnnotatorTag.objects.bulk_create(
            (AnnotatorTag(annotator_id=annotator, name=name) for annotator, name in new), batch_size=BATCH
        )
        note_tags(project, actor, "annotators tagged", new, now)
    return len(new)


def untag_annotators(*, project: Project, actor: User, pairs: Collection[Pair], now: datetime) -> int:
    """Takes these tags from these annotators; how many they had."""
    with writing():
        alone(project.pk)
        gone = sorted(set(pairs) & tags_there(project, pairs))
        for name in {name for _annotator, name in gone}:
            people = [annotator for annotator, tag in gone if tag == name]
            for start in range(0, len(people), BATCH):
                AnnotatorTag.objects.filter(name=name, annotator__in=people[start : start + BATCH]).delete()
        note_tags(project, actor, "annotators untagged", gone, now)
    return len(gone)


def tags_there(project: Project, pairs: Collection[Pair]) -> set[Pair]:
    """Which of these there are, and others of the same names."""
    rows = AnnotatorTag.objects.filter(annotator__project=project, name__in={name for _annotator, name in pairs})
    return set(rows.values_list("annotator_id", "name"))


def check_room(project: Project, new: Collection[Pair]) -> None:
    there = AnnotatorTag.objects.filter(annotator__project=project).order_by().values_list("annotator")
    counts = dict(there.annotate(n=Count("pk")))
    for annotator, n in Counter(annotator for annotator, _name in new).items():
        if n + counts.get(annotator, 0) > MOST_ANNOTATOR_TAGS:
            pseudonym = Annotator.objects.values_list("pseudonym", flat=True).get(pk=annotator)
            raise TooManyTags(pseudonym, n + counts.get(annotator, 0))


def note_tags(project: Project, actor: User, verb: str, pairs: Collection[Pair], now: datetime) -> None:
    """One line of history; who is meant is told by the keys of the first hundred."""
    if not pairs:
        return
    people = sorted({annotator for annotator, _name in pairs})
    keys = Annotator.objects.filter(pk__in=people[:TOLD]).order_by("pk").values_list("key", flat=True)
    tags = ", ".join(sorted({name for _annotator, name in pairs}))
    note(project, actor, verb, now, tags=tags, annotators=len(people), keys=list(map(str, keys)))
