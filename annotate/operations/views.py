"""What monitoring and operators ask: /healthz, /metrics, and a page with the same figures."""

import logging

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.access import require_operator
from annotate.operations.health import check_health
from annotate.operations.metrics import collect, latency_table, render_text

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


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in Prometheus' text format to whoever holds METRICS_TOKEN; not there at all where none is set."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(render_text(collect(timezone.now())), content_type="text/plain; version=0.0.4; charset=utf-8")


@never_cache
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """Show operators the figures of /metrics."""
    require_operator(request.user)
    figures = [figure for figure in collect(timezone.now()) if figure.kind == "gauge"]
    context = {"figures": figures, "latencies": latency_table(), "is_counting": bool(settings.METRICS_TOKEN)}
    return render(request, "operations/operations.html", context)
