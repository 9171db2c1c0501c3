"""“I know this one”: an item that an annotator knows is taken away and never comes again; undo brings it back."""

from datetime import datetime

from django.db.models import F
from django.db.models.functions import Random
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import InvalidAnswer
from annotate.core.transactions import write_transaction
from annotate.labelling import assignment
from annotate.labelling.actions import settle_practice
from annotate.labelling.eligibility import check_can_answer
from annotate.labelling.undo import undo_label
from annotate.locks import lock_annotator
from annotate.models import (
    Annotator,
    ConflictOfInterest,
    EventVerb,
    Item,
    ItemSet,
    Label,
    Presentation,
    Purpose,
)


def declare_known(*, presentation: Presentation, place: int, now: datetime) -> None:
    """Void the presentation and never show the item at this place (0 is A) to the annotator again; twice is once.

    Raises InvalidAnswer where the project does not ask for it or the task was answered, and what keeps the annotator
    from answering.
    """
    with write_transaction():
        annotator = lock_annotator(presentation.annotator)
        check_can_answer(annotator.project, annotator, now)
        if not annotator.project.known_button:
            raise InvalidAnswer(_("This project no longer asks which items you know. Go back and answer the task."))
        items = list(presentation.presented.values_list("item_id", flat=True))
        if not 0 <= place < len(items):
            raise InvalidAnswer(
                _("Item number %(value)d was not shown; there were %(n)d. Go back and choose one of them.")
                % {"value": place + 1, "n": len(items)}
            )
        if ConflictOfInterest.objects.filter(annotator=annotator, declared_in=presentation).exists():
            return
        void_unanswered(presentation, items)
        ConflictOfInterest.objects.get_or_create(
            annotator=annotator,
            item_id=items[place],
            tag=None,
            defaults={"declared_in": presentation, "declared_at": now},
        )
        annotator.has_never_shown = True
        annotator.save(update_fields=["has_never_shown"])
        presentation.annotator = annotator
        if presentation.purpose == Purpose.PRACTICE:
            settle_practice(annotator, now)
        key = Item.objects.values_list("key", flat=True).get(pk=items[place])
        record_event(annotator.project, None, EventVerb.ITEM_KNOWN, now, annotator=annotator, item=key)


def void_unanswered(presentation: Presentation, items: list[int]) -> None:
    """Take an open presentation back for good; one that was answered stays. Raises InvalidAnswer."""
    if Label.objects.filter(presentation=presentation).exists():
        raise InvalidAnswer(
            _("You have already answered that task. Undo the answer first, then say which one you know.")
        )
    same = Presentation.objects.filter(pk=presentation.pk)
    was_open = same.filter(state=Presentation.State.OPEN).update(state=Presentation.State.VOIDED)
    same.update(state=Presentation.State.VOIDED)
    if was_open and presentation.purpose == Purpose.ORDINARY:
        assignment.count_presentation(presentation.item_set_id, items, -1)


def undo_last(*, annotator: Annotator, now: datetime, token: str | None = None) -> None:
    """Undo what the annotator said last: of the presentation with this token, an answer or that they know an item."""
    declared = ConflictOfInterest.objects.filter(annotator=annotator, declared_in__token=token) if token else None
    if declared is not None and declared.exists():
        undo_known(annotator=annotator, token=str(token), now=now)
    else:
        undo_label(annotator=annotator, now=now, token=token)


def undo_known(*, annotator: Annotator, token: str, now: datetime) -> None:
    """Forget that an item is known and ask the same items again, where their set still has room."""
    with write_transaction():
        annotator = lock_annotator(annotator, exclusive=True)  # as many as three sets are counted
        check_can_answer(annotator.project, annotator, now)
        declared = ConflictOfInterest.objects.filter(annotator=annotator, declared_in__token=token)
        conflict = declared.select_related("item", "declared_in").first()
        if conflict is None or conflict.declared_in is None:
            return  # sent twice
        old, key = conflict.declared_in, str(conflict.item and conflict.item.key)
        conflict.delete()
        annotator.has_never_shown = annotator.never_shown.exists()
        annotator.save(update_fields=["has_never_shown"])
        assignment.release_open_presentation(annotator)
        record_event(annotator.project, None, EventVerb.ITEM_KNOWN_UNDONE, now, annotator=annotator, item=key)
        if old.purpose == Purpose.PRACTICE:
            return
        room = ItemSet.objects.filter(pk=old.item_set_id, n_taken__lt=annotator.project.overlap)
        n = int(old.purpose == Purpose.ORDINARY)
        if n and not room.update(n_taken=F("n_taken") + n, shuffle=Random()):
            return
        items = list(old.presented.values_list("item_id", flat=True))
        assignment.count_items(items, n)
        assignment.reopen_presentation(annotator=annotator, items=items, now=now, reopens=old, take=False)
