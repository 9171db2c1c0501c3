"""Writing sets with a right answer: adding them, taking one away, letting in who failed the practice."""

from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.labelling.item_sets import set_key
from annotate.labelling.plan.actions import draw_plan
from annotate.labelling.special_tasks import by_place
from annotate.locks import check_items_there, lock_project
from annotate.models import Annotator, EventVerb, GoldSet, Item, ItemSet, Project, User
from annotate.quality.gold.table import NewGoldSet


class NotScreenedOut(UserError):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(_("%(name)s can already answer.") % {"name": pseudonym})


def add_gold_sets(
    *, project: Project, actor: User, rows: Sequence[NewGoldSet], only_for_checks: bool, now: datetime
) -> int:
    """Add these or, where the purpose has the set already, replace its right answer; the number of sets.

    only_for_checks: their items are retired, so that no ordinary task shows them and the ranking leaves them out.
    """
    with write_transaction():
        lock_project(project.pk)
        check_items_there(project, {item for row in rows for item in row.items})
        for row in rows:
            item_set, _made = ItemSet.objects.get_or_create(project=project, key=set_key(row.items))
            former = GoldSet.objects.filter(
                project=project, purpose=row.purpose, item_set=item_set, retired_at=None
            ).first()
            if former:
                retire_gold_set(former, now)
            known = GoldSet.objects.create(
                project=project,
                purpose=row.purpose,
                item_set=item_set,
                outcome=row.outcome,
                named=list(row.named),
                shared=list(row.shared),
                why=row.why,
            )
            known.items.set(row.items)
        if only_for_checks:
            used = {item for row in rows for item in row.items}
            Item.objects.filter(project=project, pk__in=used, retired_at=None).update(retired_at=now)
        draw_plan(project)
        if rows:
            purposes = ", ".join(sorted({row.purpose for row in rows}))
            record_event(
                project,
                actor,
                EventVerb.RIGHT_ANSWERS_ADDED,
                now,
                sets=len(rows),
                purposes=purposes,
                retired=only_for_checks,
            )
    return len(rows)


def change_gold_set(*, known: GoldSet, actor: User, row: NewGoldSet, only_for_checks: bool, now: datetime) -> None:
    """Put this set in the place of the other; what was answered to that one stays held against what was right then.

    Where only the words told after practice differ, it stays the same set. Raises GoldSet.DoesNotExist where it has
    been removed.
    """
    with write_transaction():
        lock_project(known.project_id)
        known = GoldSet.objects.select_related("project").get(pk=known.pk, retired_at=None)
        same = (known.purpose, set(known.items.values_list("pk", flat=True))) == (row.purpose, set(row.items))
        before, after = (known.outcome, known.named, known.shared), (row.outcome, [*row.named], [*row.shared])
        if same and before == after and not only_for_checks:
            GoldSet.objects.filter(pk=known.pk).update(why=row.why)
            record_event(
                known.project,
                actor,
                EventVerb.RIGHT_ANSWER_CHANGED,
                now,
                purpose=known.purpose,
                why=[known.why, row.why],
            )
            return
        retire_gold_set(known, now)
        add_gold_sets(project=known.project, actor=actor, rows=[row], only_for_checks=only_for_checks, now=now)


def remove_gold_set(*, known: GoldSet, actor: User, now: datetime) -> None:
    """Show the set for its purpose no more; what was answered stays held against it."""
    with write_transaction():
        project = lock_project(known.project_id)  # nobody is shown it meanwhile
        found = GoldSet.objects.filter(pk=known.pk, retired_at=None).first()
        if found is None:
            return
        keys = dict(found.items.values_list("pk", "key"))
        items = ", ".join(keys.values())
        places = by_place(found.named, found.shared)
        answer = " > ".join(" = ".join(keys.get(pk, "?") for pk in sorted(one)) for one in places) or found.outcome
        retire_gold_set(found, now)
        draw_plan(project)
        record_event(
            project,
            actor,
            EventVerb.RIGHT_ANSWER_REMOVED,
            now,
            purpose=found.purpose,
            items=items,
            answer=answer,
        )


def retire_gold_set(known: GoldSet, now: datetime) -> None:
    if known.presentations.exists():
        known.retired_at = now
        known.save(update_fields=["retired_at"])
    else:
        known.delete()


class ScreenedOutByRule(UserError):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(
            _(
                "%(name)s was screened out by a rule that is the same for everybody, so nobody can be admitted by "
                "hand. Only people who failed the practice can."
            )
            % {"name": pseudonym}
        )


def admit_annotator(*, annotator: Annotator, actor: User, now: datetime) -> None:
    """Lets somebody go on who failed the practice. Raises NotScreenedOut, and ScreenedOutByRule for other rules."""
    with write_transaction():
        failed = Annotator.objects.filter(pk=annotator.pk, screened_out_at__isnull=False)
        if failed.exclude(screened_out_by__in=["", Annotator.ScreeningRule.PRACTICE]).exists():
            raise ScreenedOutByRule(annotator.pseudonym)
        if not failed.update(screened_out_at=None, screened_out_by="", practice_over_at=now):
            raise NotScreenedOut(annotator.pseudonym)
        record_event(
            annotator.project, actor, EventVerb.ANNOTATOR_LET_IN, now, annotator=annotator, screened_out=[True, False]
        )
