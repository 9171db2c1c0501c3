"""Cleans up once a day: retention periods, what was erased from archives, expired sessions, deliveries, sign-ins."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Q

from annotate.models import MemberInvitation, Project, WebhookDelivery
from annotate.operations.label_archives.files import unknown_files
from annotate.operations.label_archives.redaction import redact_outdated_files
from annotate.privacy.retention.actions import apply_retention
from annotate.webhooks.delivery import MAX_AGE

logger = logging.getLogger("annotate.cleanup")


def clean_up(now: datetime) -> None:
    """Delete what has expired. Safe to repeat, and from several workers."""
    for project in closed_projects(now):
        n = apply_retention(project=project, now=now)
        if n is not None:
            logger.info(
                "Erased the personal data of %d annotators of project %s at the end of its retention period.",
                n,
                project.pk,
            )
    redact_outdated_files()
    for name in unknown_files(now):
        logger.warning(
            "The file %s holds people's answers and no archive names it: archive_labels or restore_labels was stopped "
            "just then. Delete it, unless another site keeps its files there.",
            name,
        )
    MemberInvitation.objects.filter(expires_at__lt=now).delete()
    Session.objects.filter(expire_date__lt=now).delete()
    WebhookDelivery.objects.filter(created_at__lt=now - MAX_AGE).delete()  # of webhooks that are told nothing any more
    before = now - timedelta(days=settings.SIGN_IN_LOG_DAYS)
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        n_old, _ = model.objects.filter(attempt_time__lt=before).delete()
        if n_old:
            logger.info("Deleted %d records of sign-ins older than %d days.", n_old, settings.SIGN_IN_LOG_DAYS)


def closed_projects(now: datetime) -> Iterator[Project]:
    """Return the closed projects whose retention period may have ended."""
    over = Q(state=Project.State.CLOSED) | Q(closes_at__lte=now)
    chosen = Q(retention__days__gt=0)
    if settings.RETENTION_DAYS:
        chosen |= Q(retention=None) | Q(retention__days=None)
    return Project.objects.filter(over, chosen).iterator()
