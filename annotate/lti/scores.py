"""Sends grades of learners who have finished to their platform (LTI AGS 2.0), tried again like webhooks' messages."""

import json
import threading
from datetime import datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotate.jobs.sending import repeat_until
from annotate.lti.launches import SCORE_SCOPE
from annotate.lti.services import Refused, access_token
from annotate.models import Completion, LtiLearner, Purpose
from annotate.webhooks.delivery import RETRY_PAUSES
from annotate.webhooks.http_client import Unreachable, exchange

POLL_SECONDS = 5.0
LEASE = timedelta(minutes=1)


def send_until(stopping: threading.Event) -> None:
    """Send grades that are due until told to stop; run in a thread of the worker process."""
    repeat_until(stopping, lambda: send_next(timezone.now()), POLL_SECONDS)


def due(now: datetime) -> QuerySet[LtiLearner]:
    """Return learners who have finished, by the end or by the cap, and whose grade was not sent."""
    counting = Q(annotator__labels__voided_at=None) & ~Q(annotator__labels__presentation__purpose=Purpose.PRACTICE)
    waiting = LtiLearner.objects.filter(
        sent_at=None, attempts__lte=len(RETRY_PAUSES), not_before__lte=now, annotator__excluded_at=None
    ).exclude(lineitem="")
    done = Q(annotator__ended=Completion.Kind.COMPLETE) | Q(n__gte=F("annotator__project__cap"), n__gt=0)
    return waiting.annotate(n=Count("annotator__labels", filter=counting)).filter(done).order_by("not_before", "pk")


def send_next(now: datetime) -> bool:
    """Send the grade that has waited longest; return False where none is due."""
    learner = due(now).first()
    if learner is None:
        return False
    held = LtiLearner.objects.filter(pk=learner.pk, attempts=learner.attempts, sent_at=None)
    if not held.update(attempts=learner.attempts + 1, not_before=now + LEASE):
        return True  # another worker was first
    learner = LtiLearner.objects.select_related("platform", "annotator").filter(pk=learner.pk).first()
    if learner is None:  # erased just now
        return True
    own = LtiLearner.objects.filter(pk=learner.pk, attempts=learner.attempts)
    try:
        send_score(learner, now)
    except (Unreachable, Refused) as error:
        stored = error.stored if isinstance(error, Unreachable) else str(error)
        pause = RETRY_PAUSES[min(learner.attempts, len(RETRY_PAUSES)) - 1]
        own.update(last_error=stored[:300], not_before=now + pause)
    else:
        own.update(sent_at=now, last_error="")
    return True


def send_score(learner: LtiLearner, now: datetime) -> None:
    """Send full marks for having finished. Raises Unreachable and Refused."""
    score = {
        "userId": learner.subject,
        "scoreGiven": 1,
        "scoreMaximum": 1,
        "activityProgress": "Completed",
        "gradingProgress": "FullyGraded",
        "timestamp": now.isoformat(timespec="milliseconds"),
    }
    headers = {
        "Authorization": f"Bearer {access_token(learner.platform, SCORE_SCOPE, now)}",
        "Content-Type": "application/vnd.ims.lis.v1.score+json",
    }
    status, _body = exchange(scores_address(learner.lineitem), json.dumps(score).encode(), headers)
    if not 200 <= status < 300:
        raise Refused(f"HTTP {status}")


def scores_address(lineitem: str) -> str:
    parts = urlsplit(lineitem)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/scores"))
