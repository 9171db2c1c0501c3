"""What programs use: access tokens, the answers kept for requests sent again, webhooks and their deliveries."""

import base64
import hashlib
import secrets

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.projects import Project

TOKEN_MARK = "crk_"  # noqa: S105  (what every token begins with, so that scanners of leaked secrets know one)
SHOWN = 12  # characters of a token that stay readable


def digest_of(secret: str) -> str:
    """SHA-256: the secret has 256 random bits, so that nothing slower would protect it better."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_api_secret() -> str:
    return TOKEN_MARK + secrets.token_urlsafe(32)


def new_webhook_secret() -> str:
    """As Standard Webhooks has it: the key follows the mark in base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


class ApiToken(models.Model):
    """Lets a program act for its user, within its scopes, in all of the user's projects or in one."""

    class Scope(models.TextChoices):
        READ = "read", _("Read: what the dashboard and the exports show")
        WRITE = "write", _("Write: items, settings, annotators, members, webhooks")
        ANNOTATE = "annotate", _("Annotate: get tasks and answer them as yourself")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    # Null: every project of the user, also those to come.
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=SHOWN)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class StoredAnswer(models.Model):
    """What a request with an Idempotency-Key was answered; sent again, it gets the same. Kept for a day."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    # Of method, address and body: another request under the same key is a mistake.
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_per_idempotency_key")]

    def __str__(self) -> str:
        return self.key


class Webhook(models.Model):
    """An address that is told what happens in a project."""

    class Event(models.TextChoices):
        FIT_PUBLISHED = "fit.published", _("A fit is published: the ranking may have changed")
        GOAL_MET = "goal.met", _("The goal is met: no more labels are needed")
        FLAG_RAISED = "annotator.flagged", _("An annotator is flagged: their answers need a look")
        STATE_CHANGED = "project.state_changed", _("The project is opened, paused, closed or reopened")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=500)
    events = models.JSONField(default=list)
    # Readable, because every delivery is signed with it; shown to people once.
    secret = models.CharField(max_length=80, default=new_webhook_secret)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One message to one webhook, tried until it arrives or the tries are used up."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Given up")

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=50)
    # What is sent, byte for byte, at every try.
    body = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When the next try may start; while one is under way, when it counts as lost.
    not_before = models.DateTimeField()
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["not_before"], condition=models.Q(state="waiting"), name="deliveries_due"),
            models.Index(fields=["webhook", "created_at"], name="deliveries_of_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_id}: {self.state}"
