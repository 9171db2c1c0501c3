"""Adds, switches and removes webhooks, replaces secrets, and enqueues the messages to be delivered."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import ANSWER_EVENTS, EventVerb, Project, User, Webhook, WebhookDelivery
from annotate.models.webhooks import new_webhook_secret

MAX_WEBHOOKS = 10
TEST = "test"
# Fits of a busy project come several times a second: a webhook gets the latest, this long after the first.
FIT_EVENT_DELAY = timedelta(seconds=5)
NO_DELAY = timedelta(0)


class TooManyWebhooks(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(_("This project already has %(n)d webhooks, which is the limit. Remove one first.") % {"n": n})


def add_webhook(*, project: Project, actor: User, url: str, events: list[str], now: datetime) -> Webhook:
    """Raise TooManyWebhooks."""
    with write_transaction():
        lock_project(project.pk)
        n = project.webhooks.count()
        if n >= MAX_WEBHOOKS:
            raise TooManyWebhooks(n)
        webhook = Webhook.objects.create(project=project, url=url, events=events, created_at=now)
        update_notes_answers(project)
        record_event(project, actor, EventVerb.WEBHOOK_ADDED, now, url=url, events=", ".join(events))
    return webhook


def switch_webhook(*, webhook: Webhook, actor: User, on: bool, now: datetime) -> int:
    """Switch on or off; off, the messages that wait are dropped. Return how many."""
    n_dropped = 0
    with write_transaction():
        lock_project(webhook.project_id)
        if Webhook.objects.filter(pk=webhook.pk, active=not on).update(active=on):
            update_notes_answers(webhook.project)
            verb = EventVerb.WEBHOOK_SWITCHED_ON if on else EventVerb.WEBHOOK_SWITCHED_OFF
            record_event(webhook.project, actor, verb, now, url=webhook.url, active=[not on, on])
            n_dropped = 0 if on else drop_waiting(webhook, now)
    return n_dropped


def drop_waiting(webhook: Webhook, now: datetime) -> int:
    """End the messages that wait, but for tests, and return how many.

    What happens while a webhook is off is never sent; nor is what happened before, which would be old news by then.
    """
    waiting = webhook.deliveries.filter(state=WebhookDelivery.State.WAITING).exclude(event=TEST)
    return waiting.update(state=WebhookDelivery.State.DROPPED, done_at=now)


def replace_secret(*, webhook: Webhook, actor: User, now: datetime) -> str:
    """Replace the secret and return the new one; every later message is signed with it. Raises Webhook.DoesNotExist."""
    secret = new_webhook_secret()
    with write_transaction():
        lock_project(webhook.project_id)
        if not Webhook.objects.filter(pk=webhook.pk).update(secret=secret):
            raise Webhook.DoesNotExist
        record_event(webhook.project, actor, EventVerb.WEBHOOK_SECRET_REPLACED, now, url=webhook.url)
    return secret


def remove_webhook(*, webhook: Webhook, actor: User, now: datetime) -> None:
    with write_transaction():
        lock_project(webhook.project_id)
        if Webhook.objects.filter(pk=webhook.pk).delete()[0]:
            record_event(webhook.project, actor, EventVerb.WEBHOOK_REMOVED, now, url=webhook.url)
            update_notes_answers(webhook.project)


def update_notes_answers(project: Project) -> None:
    """Store in the project whether some active webhook is told of answers; call while the project is locked."""
    wanted = project.webhooks.filter(active=True).values_list("events", flat=True)
    notes = any(not ANSWER_EVENTS.isdisjoint(events) for events in wanted)
    Project.objects.filter(pk=project.pk).update(notes_answers=notes)


def enqueue_event(
    *, project_id: UUID, event: str, data: dict[str, Any], now: datetime, delay: timedelta = NO_DELAY
) -> None:
    """Enqueues a message for every webhook with this event; call in the transaction that makes it happen.

    With `delay`, a message that has not been tried yet is replaced rather than followed by another.
    """
    for webhook in Webhook.objects.filter(project=project_id, active=True):
        if event in webhook.events:
            enqueue_delivery(webhook, event, data, now, delay)


def send_test(*, webhook: Webhook, now: datetime) -> WebhookDelivery:
    """Enqueues a test message, also where the webhook is switched off. Raises Webhook.DoesNotExist."""
    with write_transaction():
        lock_project(webhook.project_id)
        return enqueue_delivery(Webhook.objects.get(pk=webhook.pk), TEST, {}, now, NO_DELAY)


def enqueue_delivery(
    webhook: Webhook, event: str, data: dict[str, Any], now: datetime, delay: timedelta
) -> WebhookDelivery:
    message = {"type": event, "timestamp": now.isoformat(), "data": {"project": str(webhook.project_id), **data}}
    body = json.dumps(message, ensure_ascii=False, allow_nan=False)
    untried = WebhookDelivery.objects.filter(
        webhook=webhook, event=event, state=WebhookDelivery.State.WAITING, attempts=0
    )
    if delay and untried.update(body=body):
        return untried.first() or WebhookDelivery(webhook=webhook, event=event, body=body)
    return WebhookDelivery.objects.create(
        webhook=webhook, event=event, body=body, not_before=now + delay, created_at=now
    )
