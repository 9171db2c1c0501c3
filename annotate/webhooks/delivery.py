"""Delivers webhook messages: signs, sends, retries. Every worker process runs it."""

import base64
import hashlib
import hmac
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from annotate.jobs.sending import repeat_until
from annotate.models import WebhookDelivery
from annotate.webhooks.actions import TEST
from annotate.webhooks.answers import enqueue_answer_events
from annotate.webhooks.claiming import TAKEN, claim_next
from annotate.webhooks.http_client import Unreachable, post

State = WebhookDelivery.State
POLL_SECONDS = 1.0  # seconds between two looks
# How long after each failed try the next one waits; after the last there is none.
RETRY_PAUSES = [timedelta(seconds=n) for n in (10, 60, 300, 1800, 7200, 6 * 3600, 24 * 3600)]
MAX_AGE = timedelta(days=30)


@dataclass(frozen=True)
class DeliveryResult:
    """The result of one attempt: the HTTP status, or why there was none."""

    status: int | None
    error: str = ""

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def deliver_until(stopping: threading.Event) -> None:
    """Delivers what is due until told to stop; runs in a thread of the worker process."""
    repeat_until(stopping, lambda: deliver_due(timezone.now()), POLL_SECONDS)


def deliver_due(now: datetime) -> bool:
    """Queues what answers there are to tell, and attempts one delivery; returns False where there was neither."""
    enqueued = enqueue_answer_events(now)
    return deliver_next(timezone.now()) or enqueued


def deliver_next(now: datetime) -> bool:
    """Attempt the delivery that is next, or drop it; return False where none is due."""
    delivery = claim_next(now)
    if delivery is None:
        return False
    if not delivery.webhook.active and delivery.event != TEST:  # queued by a process that read the webhook as still on
        delivery.release(state=State.DROPPED, done_at=now, attempts=delivery.attempts - 1)
        return True
    started = time.monotonic()
    record_result(delivery, send_delivery(delivery, now), timezone.now())
    ended = time.monotonic()
    TAKEN.add(delivery.webhook.project_id, ended - started, ended)
    return True


def send_delivery(delivery: WebhookDelivery, now: datetime) -> DeliveryResult:
    body = delivery.body.encode()
    try:
        status = post(delivery.webhook.url, body, signed_headers(delivery, body, now))
    except Unreachable as error:
        return DeliveryResult(None, error.stored)
    return DeliveryResult(status)


def signed_headers(delivery: WebhookDelivery, body: bytes, now: datetime) -> dict[str, str]:
    """Return the headers of Standard Webhooks: HMAC-SHA256 of “id.timestamp.body”; the id never changes."""
    name, stamp = f"msg_{delivery.pk}", str(int(now.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Crowdrank/{settings.VERSION}",
        "webhook-id": name,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{sign(delivery.webhook.secret, name, stamp, body)}",
    }


def sign(secret: str, name: str, stamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([name.encode(), stamp.encode(), body])
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def record_result(delivery: WebhookDelivery, result: DeliveryResult, now: datetime) -> None:
    """Record the result and when to retry; delete the webhook's old deliveries."""
    values: dict[str, Any] = {"last_status": result.status, "last_error": result.error}
    if result.succeeded:
        delivery.release(**values, state=State.DELIVERED, done_at=now)
    elif delivery.attempts > len(RETRY_PAUSES):
        delivery.release(**values, state=State.FAILED, done_at=now)
    else:
        delivery.retry(at=now + RETRY_PAUSES[delivery.attempts - 1], **values)
    WebhookDelivery.objects.filter(webhook=delivery.webhook_id, created_at__lt=now - MAX_AGE).delete()
