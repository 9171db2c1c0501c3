"""Delivering what webhooks are to be told: claims, signs, sends, tries again; run by every engine process."""

import base64
import hashlib
import hmac
import logging
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.models import QuerySet
from django.utils import timezone

from annotate.models import WebhookDelivery
from annotate.outgoing import Unreachable, post

logger = logging.getLogger(__name__)
State = WebhookDelivery.State
POLL = 1.0  # seconds between two looks
# A try not heard of for this long is lost: its process was killed.
LEASE = timedelta(minutes=1)
# How long after each failed try the next one waits; after the last there is none.
PAUSES = [timedelta(seconds=n) for n in (10, 60, 300, 1800, 7200, 6 * 3600, 24 * 3600)]
KEPT = timedelta(days=30)


@dataclass(frozen=True)
class Outcome:
    """What came of one try."""

    status: int | None
    error: str = ""

    @property
    def arrived(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def keep_delivering(stopping: threading.Event) -> None:
    """Delivers what is due until told to stop; for a thread of its own, so that slow receivers hold up nothing."""
    try:
        while not stopping.is_set():
            try:
                busy = deliver_next(timezone.now())
            except DatabaseError:
                logger.exception("The database did not answer; trying again.")
                connections.close_all()
                busy = False
            if not busy:
                stopping.wait(POLL)
    finally:
        connections.close_all()


def deliver_next(now: datetime) -> bool:
    """Tries the delivery that has waited longest; False where none is due."""
    delivery = claim(now)
    if delivery is None:
        return False
    settle(delivery, attempt(delivery, now), timezone.now())
    return True


def due(now: datetime) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(state=State.WAITING, not_before__lte=now)


def claim(now: datetime) -> WebhookDelivery | None:
    """The delivery is this process's for a minute: the row is changed only if nobody was faster."""
    for found in due(now).order_by("not_before", "pk")[:5]:
        mine = due(now).filter(pk=found.pk, attempts=found.attempts)
        if mine.update(attempts=found.attempts + 1, not_before=now + LEASE):
            return WebhookDelivery.objects.select_related("webhook").get(pk=found.pk)
    return None


def attempt(delivery: WebhookDelivery, now: datetime) -> Outcome:
    body = delivery.body.encode()
    try:
        status = post(delivery.webhook.url, body, headers_of(delivery, body, now))
    except Unreachable as error:
        return Outcome(None, error.stored)
    return Outcome(status)


def headers_of(delivery: WebhookDelivery, body: bytes, now: datetime) -> dict[str, str]:
    """As Standard Webhooks has it: HMAC-SHA256 of “id.timestamp.body”; the id is the same at every try."""
    name, stamp = f"msg_{delivery.pk}", str(int(now.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Crowdrank/{settings.VERSION}",
        "webhook-id": name,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{signature(delivery.webhook.secret, name, stamp, body)}",
    }


def signature(secret: str, name: str, stamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([name.encode(), stamp.encode(), body])
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def settle(delivery: WebhookDelivery, outcome: Outcome, now: datetime) -> None:
    """Notes what came of the try and when the next one is; forgets what is long done."""
    values: dict[str, Any] = {"last_status": outcome.status, "last_error": outcome.error}
    if outcome.arrived:
        values |= {"state": State.DELIVERED, "done_at": now}
    elif delivery.attempts > len(PAUSES):
        values |= {"state": State.FAILED, "done_at": now}
    else:
        values["not_before"] = now + PAUSES[delivery.attempts - 1]
    WebhookDelivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts).update(**values)
    WebhookDelivery.objects.filter(webhook=delivery.webhook_id, created_at__lt=now - KEPT).delete()
