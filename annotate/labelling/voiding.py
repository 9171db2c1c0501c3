"""Voids everything that one annotator answered, and gives their sets back to others."""

from datetime import datetime

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Random

from annotate.labelling.item_sets import TAKEN_STATES
from annotate.models import Annotator, Item, ItemSet, Label, Presentation, PresentedItem, Purpose, User


def void_answers(annotator: Annotator, reason: str, actor: User | None, now: datetime) -> int:
    """Void every unvoided label and return the open presentation's set to the pool; the number of labels voided.

    The caller's transaction holds the project alone (annotate.locks).
    """
    count_taken(annotator.presentations.all(), -1)
    presentations = Presentation.objects.filter(annotator=annotator)
    presentations.filter(state=Presentation.State.ANSWERED).update(state=Presentation.State.VOIDED)
    presentations.filter(state=Presentation.State.OPEN).update(state=Presentation.State.EXPIRED)
    return Label.objects.filter(annotator=annotator, voided_at=None).update(
        voided_at=now, voided_by=actor, void_reason=reason
    )


def count_taken(presentations: QuerySet[Presentation], sign: int) -> None:
    """Add (+1) or subtract (-1) the open and answered ordinary ones of them in the counts of assignment."""
    taken = presentations.filter(state__in=TAKEN_STATES, purpose=Purpose.ORDINARY)
    of_set = taken.filter(item_set=OuterRef("pk")).order_by().values("item_set").annotate(n=Count("pk")).values("n")
    ItemSet.objects.filter(pk__in=taken.values("item_set")).update(
        n_taken=F("n_taken") + sign * Subquery(of_set), shuffle=Random()
    )
    shown = PresentedItem.objects.filter(presentation__in=taken)
    of_item = shown.filter(item=OuterRef("pk")).order_by().values("item").annotate(n=Count("pk")).values("n")
    Item.objects.filter(pk__in=shown.values("item")).update(
        n_taken=F("n_taken") + sign * Subquery(of_item), shuffle=Random()
    )
