"""Tells pages that are kept whether items are named otherwise by now: titles are often people's names."""

from datetime import timedelta

from django.db.models import Max
from django.utils import timezone

from annotate.models import EventVerb, Project

CHANGES = (EventVerb.ITEM_TITLE_CHANGED, EventVerb.ITEMS_TRANSLATED)


def last_title_change(project: Project, within: timedelta) -> int | None:
    """Return a number that grows with each change of a title within this time; None where there was none.

    The time bounds what is read: what is kept longer than that would not notice.
    """
    recent = project.events.filter(verb__in=CHANGES, at__gt=timezone.now() - within)
    last: int | None = recent.aggregate(last=Max("pk"))["last"]
    return last
