"""What an engine process does once a day: keeps the promises to forget people, clears what has run out."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Q

from annotate.actions.retention import keep_promise
from annotate.delivering import KEPT
from annotate.models import Project, WebhookDelivery

logger = logging.getLogger("annotate.tidying")


def tidy(now: datetime) -> None:
    """May be called as often as one likes, by several engines: what was done is not done again."""
    for project in closed_projects(now):
        n = keep_promise(project=project, now=now)
        if n is not None:
            logger.info("Forgot the %d annotators of project %s, as promised to them.", n, project.pk)
    Session.objects.filter(expire_date__lt=now).delete()
    WebhookDelivery.objects.filter(created_at__lt=now - KEPT).delete()  # of webhooks that are told nothing any more
    before = now - timedelta(days=settings.SIGN_IN_DAYS)
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        n_old, _ = model.objects.filter(attempt_time__lt=before).delete()
        if n_old:
            logger.info("Deleted %d records of sign-ins older than %d days.", n_old, settings.SIGN_IN_DAYS)


def closed_projects(now: datetime) -> Iterator[Project]:
    """Those for which a promise may have fallen due."""
    over = Q(state=Project.State.CLOSED) | Q(closes_at__lte=now)
    chosen = Q(retention__days__gt=0)
    if settings.RETENTION_DAYS:
        chosen |= Q(retention=None) | Q(retention__days=None)
    return Project.objects.filter(over, chosen).iterator()
