"""Webhooks of a project and what is delivered to them."""

import base64
import secrets
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.leased_jobs import LeasedJob
from annotate.models.projects import Project


def new_webhook_secret() -> str:
    """Return a secret as Standard Webhooks has it: the key follows the mark in base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


class Webhook(models.Model):
    """An address that is told what happens in a project."""

    class Event(models.TextChoices):
        FIT_PUBLISHED = "fit.published", _("A fit is published: the ranking may have changed")
        GOAL_MET = "goal.met", _("The goal is met: no more labels are needed")
        DEADLINE_AT_RISK = "deadline.at_risk", _("The goal will probably not be met by its deadline")
        FLAG_RAISED = "annotator.flagged", _("An annotator is flagged: check their answers")
        ANNOTATOR_GONE = "annotator.gone", _("An annotator with many answers has probably left")
        IDEA_SUBMITTED = "idea.submitted", _("A participant adds an idea: it may wait for your decision")
        STATE_CHANGED = "project.state_changed", _("The project is opened, paused, closed or reopened")
        FULL = "project.full", _("The project is full: people who come now find nothing to answer")
        FINISHED = "participant.finished", _("A participant reaches the end of their part and gets their code")
        ANSWER_GIVEN = "answer.given", _("Answers are given")
        ANSWER_UNDONE = "answer.undone", _("Answers are taken back by the annotator who gave them")
        SET_COMPLETE = "set.complete", _("A set has as many answers as the project asks for")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.URLField(max_length=500)
    events = models.JSONField(default=list)
    # Readable, because every delivery is signed with it; shown to people once.
    secret = models.CharField(max_length=80, default=new_webhook_secret)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.url


# Events that come as fast as answers do: noted with the answer, told in batches by the worker process.
ANSWER_EVENTS = frozenset({Webhook.Event.ANSWER_GIVEN, Webhook.Event.ANSWER_UNDONE, Webhook.Event.SET_COMPLETE})


class AnswerNotice(models.Model):
    """A label given or undone that webhooks have not been told of; written with it, deleted with the message."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="answer_notices")
    label = models.ForeignKey("annotate.Label", on_delete=models.CASCADE, related_name="notices")
    undone = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.label_id} undone" if self.undone else f"{self.label_id} given"


class WebhookDelivery(LeasedJob):
    """One message to one webhook, sent until it arrives or the attempts are used up.

    Its lease is `not_before`, and the number of attempts says which worker holds it.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Not delivered")
        DROPPED = "dropped", _("Dropped: the webhook was switched off")

    FREE: ClassVar[dict[str, Any]] = {}
    LEASE = timedelta(minutes=1)

    owner = None  # type: ignore[assignment]
    lease_until = None
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

    @classmethod
    def is_free(cls, now: datetime) -> Q:
        return Q(state=cls.State.WAITING, not_before__lte=now)

    def lease(self, owner: str, now: datetime) -> dict[str, Any]:
        return {"attempts": self.attempts + 1, "not_before": now + self.LEASE}

    def is_held(self) -> Q:
        return Q(attempts=self.attempts)

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_id}: {self.state}"
