"""Tells pages that are kept whether items are named otherwise by now: titles are often people's names."""

from datetime import timedelta

from django.db.models import Sum
from django.utils import timezone

from annotate.models import EventVerb, Project

CHANGES = (EventVerb.ITEM_TITLE_CHANGED, EventVerb.ITEMS_TRANSLATED)


def title_version(project: Project, within: timedelta) -> int | None:
    """Return a number that differs after each change of a title within this time; None where there was none.

    The sum of the changes' keys, since of two at once the one with the lower key may be stored last. The time bounds
    what is read: what is kept longer than that would not notice.
    """
    recent = project.events.filter(verb__in=CHANGES, at__gt=timezone.now() - within)
    keys: int | None = recent.aggregate(sum=Sum("pk"))["sum"]
    return keys
