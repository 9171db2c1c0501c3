"""Chooses which message is sent next, so that a receiver that is slow or gone keeps nobody else's messages waiting.

Calls are made one after another, and one may take fifteen seconds. Of the projects with messages due, that goes first
whose calls took least time lately; a webhook that gave no answer is asked again by one message, the others wait for it.
"""

import time
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import Min, Q, QuerySet

from annotate.models import WebhookDelivery
from annotate.webhooks.actions import TEST

State = WebhookDelivery.State
LOOKED_AT = 5  # projects that may be tried before another worker was faster with each
# After so many tries without an answer another message asks: pauses get longer than a receiver that is back may wait.
MAX_PROBES = 3


class TimeTaken:
    """How long the calls of each project took lately in this process, halved every minute."""

    HALF_LIFE = 60.0
    FORGOTTEN = 0.001
    MOST = 10_000

    def __init__(self) -> None:
        self.taken: dict[UUID, tuple[float, float]] = {}

    def seconds(self, project: UUID, now: float) -> float:
        seconds, at = self.taken.get(project, (0.0, now))
        return seconds * 0.5 ** ((now - at) / self.HALF_LIFE)

    def add(self, project: UUID, seconds: float, now: float) -> None:
        self.taken[project] = (self.seconds(project, now) + seconds, now)
        if len(self.taken) > self.MOST:
            self.taken = {one: kept for one, kept in self.taken.items() if self.seconds(one, now) > self.FORGOTTEN}


TAKEN = TimeTaken()


def claim_next(now: datetime) -> WebhookDelivery | None:
    """Claim the message that is next; None where none is due, or others were faster, or it has been deleted since."""
    due = WebhookDelivery.is_free(now)
    for delivery in candidates(now):
        if delivery.claim(due & Q(attempts=delivery.attempts), owner="", now=now):
            return WebhookDelivery.objects.select_related("webhook").filter(pk=delivery.pk).first()
    return None


def candidates(now: datetime) -> Iterator[WebhookDelivery]:
    """Yield one message of each of the first projects, in their turn."""
    due = WebhookDelivery.objects.filter(WebhookDelivery.is_free(now))
    open_now = due.filter(Q(event=TEST) | ~Q(webhook__in=silent_webhooks(now)))
    waiting = open_now.order_by().values_list("webhook__project").annotate(first=Min("not_before"))
    moment = time.monotonic()
    in_turn = sorted(waiting, key=lambda row: (TAKEN.seconds(row[0], moment), row[1]))
    for project, _first in in_turn[:LOOKED_AT]:
        oldest = open_now.filter(webhook__project=project).order_by("not_before", "pk").first()
        if oldest:
            probes = unanswered(due.filter(webhook=oldest.webhook_id)).order_by("-attempts", "pk")
            yield oldest if oldest.event == TEST else probes.first() or oldest


def silent_webhooks(now: datetime) -> list[int]:
    """Return the webhooks that gave no answer lately and are to be asked again later."""
    paused = WebhookDelivery.objects.filter(state=State.WAITING, not_before__gt=now)
    return list(unanswered(paused).order_by().values_list("webhook", flat=True).distinct())


def unanswered(messages: QuerySet[WebhookDelivery]) -> QuerySet[WebhookDelivery]:
    """Return those by which it is found out whether their receiver is back: tried, and no status came."""
    tried = messages.filter(attempts__gt=0, attempts__lte=MAX_PROBES, last_status=None)
    return tried.exclude(last_error="").exclude(event=TEST)
