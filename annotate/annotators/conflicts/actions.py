"""Adds and removes conflicts of interest; an open task that holds such an item is withdrawn."""

from collections.abc import Sequence
from datetime import datetime

from annotate.annotators.conflicts.table import NewNeverShown
from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.labelling.actions import release_open_presentation
from annotate.labelling.special_tasks import conflicting_items
from annotate.locks import lock_project
from annotate.models import Annotator, ConflictOfInterest, EventVerb, Presentation, Project, User


def add_conflicts(*, project: Project, actor: User, rows: Sequence[NewNeverShown], now: datetime) -> int:
    """Adds these; how many were new. Labels given before stay: the owner excludes whom they don't trust."""
    with write_transaction():
        lock_project(project.pk)
        people = {row.annotator for row in rows}
        known = set(ConflictOfInterest.objects.filter(annotator__in=people).values_list("annotator", "item", "tag"))
        new = [row for row in rows if tuple(row) not in known]
        ConflictOfInterest.objects.bulk_create(
            ConflictOfInterest(annotator_id=row.annotator, item_id=row.item, tag_id=row.tag) for row in new
        )
        Annotator.objects.filter(pk__in=people).update(has_never_shown=True)
        for annotator in Annotator.objects.filter(pk__in=people):
            open_one = annotator.presentations.filter(state=Presentation.State.OPEN)
            if open_one.filter(items__in=conflicting_items(annotator)).exists():
                release_open_presentation(annotator)
        if new:
            record_event(project, actor, EventVerb.NEVER_SHOWN_ADDED, now, rows=len(new), annotators=len(people))
    return len(new)


def remove_conflict(*, entry: ConflictOfInterest, actor: User, now: datetime) -> None:
    with write_transaction():
        annotator, what = entry.annotator, str(entry.item.key if entry.item else entry.tag)
        ConflictOfInterest.objects.filter(pk=entry.pk).delete()
        if not annotator.never_shown.exists():
            Annotator.objects.filter(pk=annotator.pk).update(has_never_shown=False)
        record_event(annotator.project, actor, EventVerb.NEVER_SHOWN_REMOVED, now, annotator=annotator, what=what)
