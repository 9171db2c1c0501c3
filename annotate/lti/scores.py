"""Sends grades of learners who have finished to their platform (LTI AGS 2.0), tried again like webhooks' messages."""

import json
import secrets
import threading
from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit, urlunsplit

import jwt
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotate.jobs.sending import repeat_until
from annotate.lti.launches import SCORE_SCOPE
from annotate.models import Completion, LtiLearner, LtiPlatform, Purpose
from annotate.webhooks.delivery import RETRY_PAUSES
from annotate.webhooks.http_client import Unreachable, exchange

POLL_SECONDS = 5.0
LEASE = timedelta(minutes=1)
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
MAX_BYTES = 100_000


class Refused(Exception):
    """The platform answered, but not with what it should have."""


def send_until(stopping: threading.Event) -> None:
    """Sends grades that are due until told to stop; runs in a thread of the worker process."""
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
    """Sends the grade that has waited longest; returns False where none is due."""
    learner = due(now).first()
    if learner is None:
        return False
    held = LtiLearner.objects.filter(pk=learner.pk, attempts=learner.attempts, sent_at=None)
    if not held.update(attempts=learner.attempts + 1, not_before=now + LEASE):
        return True  # another worker was first
    learner = LtiLearner.objects.select_related("platform", "annotator").get(pk=learner.pk)
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
    """Sends full marks for having finished. Raises Unreachable and Refused."""
    score = {
        "userId": learner.subject,
        "scoreGiven": 1,
        "scoreMaximum": 1,
        "activityProgress": "Completed",
        "gradingProgress": "FullyGraded",
        "timestamp": now.isoformat(timespec="milliseconds"),
    }
    headers = {
        "Authorization": f"Bearer {access_token(learner.platform, now)}",
        "Content-Type": "application/vnd.ims.lis.v1.score+json",
    }
    status, _body = exchange(scores_address(learner.lineitem), json.dumps(score).encode(), headers)
    if not 200 <= status < 300:
        raise Refused(f"HTTP {status}")


def scores_address(lineitem: str) -> str:
    parts = urlsplit(lineitem)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/scores"))


def access_token(platform: LtiPlatform, now: datetime) -> str:
    """Asks the platform for a token by a message signed with this site's key. Raises Unreachable and Refused."""
    claims = {
        "iss": platform.client_id,
        "sub": platform.client_id,
        "aud": platform.token_url,
        "iat": int(now.timestamp()),
        "exp": int(now.timestamp()) + 300,
        "jti": secrets.token_urlsafe(16),
    }
    signed = jwt.encode(claims, platform.private_key, algorithm="RS256", headers={"kid": f"platform-{platform.pk}"})
    asked = {
        "grant_type": "client_credentials",
        "client_assertion_type": ASSERTION,
        "client_assertion": signed,
        "scope": SCORE_SCOPE,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    status, body = exchange(platform.token_url, urlencode(asked).encode(), headers, max_bytes=MAX_BYTES)
    try:
        token = json.loads(body)["access_token"] if status == 200 else None
    except (ValueError, KeyError, TypeError):
        token = None
    if not isinstance(token, str) or not token.isprintable():
        raise Refused(f"no access token, HTTP {status}")
    return token
