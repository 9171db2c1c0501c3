"""Writing sets with a right answer: adding them, taking one away, letting in who failed the practice."""

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.actions.planning import draw_plan
from annotate.assigning import set_key
from annotate.errors import Refusal
from annotate.importing.known import NewKnownSet
from annotate.locking import alone
from annotate.models import Annotator, Item, ItemSet, KnownSet, Project, User
from annotate.writing import writing


class NotScreenedOut(Refusal):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(_("%(name)s may answer already.") % {"name": pseudonym})


def add_known_sets(
    *, project: Project, actor: User, rows: Sequence[NewKnownSet], only_for_checks: bool, now: datetime
) -> int:
    """Adds these or, where the purpose has the set already, replaces its right answer; the number of sets.

    only_for_checks: their items are retired, so that no ordinary task shows them and the ranking leaves them out.
    """
    with writing():
        alone(project.pk)
        for row in rows:
            item_set, _made = ItemSet.objects.get_or_create(project=project, key=set_key(row.items))
            former = KnownSet.objects.filter(
                project=project, purpose=row.purpose, item_set=item_set, retired_at=None
            ).first()
            if former:
                take_away(former, now)
            known = KnownSet.objects.create(
                project=project,
                purpose=row.purpose,
                item_set=item_set,
                outcome=row.outcome,
                named=list(row.named),
                why=row.why,
            )
            known.items.set(row.items)
        if only_for_checks:
            used = {item for row in rows for item in row.items}
            Item.objects.filter(project=project, pk__in=used, retired_at=None).update(retired_at=now)
        draw_plan(project)
        if rows:
            purposes = ", ".join(sorted({row.purpose for row in rows}))
            note(project, actor, "right answers added", now, sets=len(rows), purposes=purposes, retired=only_for_checks)
    return len(rows)


def change_known_set(*, known: KnownSet, actor: User, row: NewKnownSet, only_for_checks: bool, now: datetime) -> None:
    """Puts this set in the place of the other; what was answered to that one stays held against what was right then.

    Where only the words told after practice differ, it stays the same set.
    """
    with writing():
        same = (known.purpose, set(known.items.values_list("pk", flat=True))) == (row.purpose, set(row.items))
        if same and (known.outcome, known.named) == (row.outcome, list(row.named)) and not only_for_checks:
            KnownSet.objects.filter(pk=known.pk).update(why=row.why)
            note(known.project, actor, "right answer changed", now, purpose=known.purpose, why=[known.why, row.why])
            return
        take_away(known, now)
        add_known_sets(project=known.project, actor=actor, rows=[row], only_for_checks=only_for_checks, now=now)


def remove_known_set(*, known: KnownSet, actor: User, now: datetime) -> None:
    """Shows the set for its purpose no more; what was answered stays held against it."""
    with writing():
        if known.retired_at is None:
            keys = dict(known.items.values_list("pk", "key"))
            items = ", ".join(keys.values())
            answer = " > ".join(keys.get(pk, "?") for pk in known.named) or known.outcome
            take_away(known, now)
            draw_plan(known.project)
            note(known.project, actor, "right answer removed", now, purpose=known.purpose, items=items, answer=answer)


def take_away(known: KnownSet, now: datetime) -> None:
    if known.presentations.exists():
        known.retired_at = now
        known.save(update_fields=["retired_at"])
    else:
        known.delete()


def let_in(*, annotator: Annotator, actor: User, now: datetime) -> None:
    """Lets somebody go on who failed the practice. Raises NotScreenedOut."""
    with writing():
        failed = Annotator.objects.filter(pk=annotator.pk, screened_out_at__isnull=False)
        if not failed.update(screened_out_at=None, practice_over_at=now):
            raise NotScreenedOut(annotator.pseudonym)
        note(annotator.project, actor, "annotator let in", now, annotator=annotator, screened_out=[True, False])
