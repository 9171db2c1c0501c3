"""Webhooks of a project: adding, switching, replacing the secret, removing; and noting what they are to be told."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.errors import Refusal
from annotate.locking import alone
from annotate.models import Project, User, Webhook, WebhookDelivery
from annotate.models.api import new_webhook_secret
from annotate.writing import writing

MOST_WEBHOOKS = 10
TEST = "test"
# Fits of a busy project come several times a second: a webhook is told of the latest, this long after the first.
FITS_REST = timedelta(seconds=5)
NO_REST = timedelta(0)


class TooManyWebhooks(Refusal):
    def __init__(self, n: int) -> None:
        super().__init__(_("The project has %(n)d webhooks, as many as it may. Remove one first.") % {"n": n})


def add_webhook(*, project: Project, actor: User, url: str, events: list[str], now: datetime) -> Webhook:
    """Raises TooManyWebhooks."""
    with writing():
        alone(project.pk)
        n = project.webhooks.count()
        if n >= MOST_WEBHOOKS:
            raise TooManyWebhooks(n)
        webhook = Webhook.objects.create(project=project, url=url, events=events, created_at=now)
        note(project, actor, "webhook added", now, url=url, events=", ".join(events))
    return webhook


def switch_webhook(*, webhook: Webhook, actor: User, on: bool, now: datetime) -> None:
    with writing():
        if Webhook.objects.filter(pk=webhook.pk, active=not on).update(active=on):
            verb = "webhook switched on" if on else "webhook switched off"
            note(webhook.project, actor, verb, now, url=webhook.url, active=[not on, on])


def replace_secret(*, webhook: Webhook, actor: User, now: datetime) -> str:
    """The new secret; what is sent from now on is signed with it."""
    secret = new_webhook_secret()
    with writing():
        Webhook.objects.filter(pk=webhook.pk).update(secret=secret)
        note(webhook.project, actor, "webhook's secret replaced", now, url=webhook.url)
    return secret


def remove_webhook(*, webhook: Webhook, actor: User, now: datetime) -> None:
    with writing():
        note(webhook.project, actor, "webhook removed", now, url=webhook.url)
        webhook.delete()


def tell(*, project_id: UUID, event: str, data: dict[str, Any], now: datetime, rest: timedelta = NO_REST) -> None:
    """Leaves a message for every webhook that wants this event; to be called in the transaction that made it happen.

    With `rest`, a message that has not been tried yet is replaced rather than followed by another.
    """
    for webhook in Webhook.objects.filter(project=project_id, active=True):
        if event in webhook.events:
            leave(webhook, event, data, now, rest)


def send_test(*, webhook: Webhook, now: datetime) -> WebhookDelivery:
    """Leaves a message that only tries the way, also where the webhook is switched off."""
    return leave(webhook, TEST, {}, now, NO_REST)


def leave(webhook: Webhook, event: str, data: dict[str, Any], now: datetime, rest: timedelta) -> WebhookDelivery:
    message = {"type": event, "timestamp": now.isoformat(), "data": {"project": str(webhook.project_id), **data}}
    body = json.dumps(message, ensure_ascii=False, allow_nan=False)
    untried = WebhookDelivery.objects.filter(
        webhook=webhook, event=event, state=WebhookDelivery.State.WAITING, attempts=0
    )
    if rest and untried.update(body=body):
        return untried.first() or WebhookDelivery(webhook=webhook, event=event, body=body)
    return WebhookDelivery.objects.create(
        webhook=webhook, event=event, body=body, not_before=now + rest, created_at=now
    )
