"""Writing what annotators are never shown; what they have before them is taken back if it is among that."""

from collections.abc import Sequence
from datetime import datetime

from annotate.actions.events import note
from annotate.actions.labels import release_open
from annotate.checks import never_shown_to
from annotate.importing.never_shown import NewNeverShown
from annotate.locking import alone
from annotate.models import Annotator, NeverShown, Presentation, Project, User
from annotate.writing import writing


def never_show(*, project: Project, actor: User, rows: Sequence[NewNeverShown], now: datetime) -> int:
    """Adds these; how many were new. Labels given before stay: the owner excludes whom they don't trust."""
    with writing():
        alone(project.pk)
        people = {row.annotator for row in rows}
        known = set(NeverShown.objects.filter(annotator__in=people).values_list("annotator", "item", "tag"))
        new = [row for row in rows if tuple(row) not in known]
        NeverShown.objects.bulk_create(
            NeverShown(annotator_id=row.annotator, item_id=row.item, tag_id=row.tag) for row in new
        )
        Annotator.objects.filter(pk__in=people).update(has_never_shown=True)
        for annotator in Annotator.objects.filter(pk__in=people):
            open_one = annotator.presentations.filter(state=Presentation.State.OPEN)
            if open_one.filter(items__in=never_shown_to(annotator)).exists():
                release_open(annotator)
        if new:
            note(project, actor, "never shown added", now, rows=len(new), annotators=len(people))
    return len(new)


def show_again(*, entry: NeverShown, actor: User, now: datetime) -> None:
    with writing():
        annotator, what = entry.annotator, str(entry.item.key if entry.item else entry.tag)
        NeverShown.objects.filter(pk=entry.pk).delete()
        if not annotator.never_shown.exists():
            Annotator.objects.filter(pk=annotator.pk).update(has_never_shown=False)
        note(annotator.project, actor, "never shown removed", now, annotator=annotator, what=what)
