"""/healthz: whether this process can serve, and whether an engine is at work."""

import logging

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.operations.health import check_health

logger = logging.getLogger(__name__)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 where the database answers and a worker has been seen, else 503; `status` in the JSON says which.

    With `?of=web` a missing engine is no reason for 503: voting goes on without it, so a load balancer should ask that.
    """
    try:
        found = check_health(timezone.now())
        serves = found["status"] == "ok" or (found["status"] == "degraded" and request.GET.get("of") == "web")
        return JsonResponse(found, status=200 if serves else 503)
    except DatabaseError:
        logger.exception("The database did not answer a health check.")
        return JsonResponse({"status": "down", "database": "no answer", "version": settings.VERSION}, status=503)
