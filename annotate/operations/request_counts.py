"""Counts how long requests took, by kind and status, where METRICS_TOKEN is set.

Each web process counts in memory and adds to one table every few seconds, so that any of them tells of all. A process
that is killed takes the last seconds' counts with it.
"""

import logging
import threading
import time
from bisect import bisect_left
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import DatabaseError, IntegrityError, connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse

from annotate.core.clocks import pause
from annotate.core.transactions import write_transaction
from annotate.models import RequestCount

logger = logging.getLogger(__name__)
FLUSH_SECONDS = 5.0
# Upper ends, in milliseconds; 0 stands for beyond.
SPANS = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
BEYOND = 0
KINDS = {
    "submit": "answer",
    "api-answer": "answer",
    "label": "task",
    "api-next": "task",
    "join": "join",
    "personal": "join",
    "platform": "join",
    "api-join": "join",
    "item-media": "file",
    "item-page": "file",
    "item-captions": "file",
    "export": "export",
    "api-export": "export",
    "healthz": "monitoring",
    "metrics": "monitoring",
}

Key = tuple[str, int, int]


class RequestCounts:
    """What this process has counted and not yet added to the table."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Key, tuple[int, int]] = {}
        self._thread: threading.Thread | None = None

    def add(self, kind: str, status: int, seconds: float) -> None:
        milliseconds = round(1000 * seconds)
        place = bisect_left(SPANS, milliseconds)
        self._add_all({(kind, status // 100, SPANS[place] if place < len(SPANS) else BEYOND): (1, milliseconds)})

    def _add_all(self, counts: dict[Key, tuple[int, int]]) -> None:
        with self._lock:
            for key, (n, milliseconds) in counts.items():
                had, took = self._counts.get(key, (0, 0))
                self._counts[key] = had + n, took + milliseconds

    def flush(self) -> None:
        """Add the counts to the table; while the database is away they are kept for the next time."""
        with self._lock:
            counts, self._counts = self._counts, {}
        if not counts:
            return
        try:
            with write_transaction():
                for key, (n, milliseconds) in sorted(counts.items()):
                    add_to_row(key, n, milliseconds)
        except DatabaseError:
            self._add_all(counts)

    def start(self) -> None:
        """Flushes every few seconds from now on, in a thread of its own."""
        if settings.METRICS_TOKEN and self._thread is None:
            self._thread = threading.Thread(target=self._flush_for_good, name="request counts", daemon=True)
            self._thread.start()

    def _flush_for_good(self) -> None:
        while True:
            pause(FLUSH_SECONDS)
            try:
                self.flush()
                connection.close()
            except Exception:  # a count is no reason to end the thread
                logger.exception("Requests could not be counted.")


def add_to_row(key: Key, n: int, milliseconds: int) -> None:
    """Raise DatabaseError."""
    kind, status, at_most_ms = key
    rows = RequestCount.objects.filter(kind=kind, status=status, at_most_ms=at_most_ms)
    added = {"n": F("n") + n, "milliseconds": F("milliseconds") + milliseconds}
    if rows.update(**added):
        return
    new = RequestCount(kind=kind, status=status, at_most_ms=at_most_ms)
    RequestCount.objects.bulk_create([new], ignore_conflicts=True)  # another process may be first
    if not rows.update(**added):
        raise IntegrityError("The row of a count was deleted.")


COUNTS = RequestCounts()


class CountRequestsMiddleware:
    """Measures each request, from here until its answer begins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.METRICS_TOKEN:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        COUNTS.add(kind_of(request), response.status_code, time.perf_counter() - began)
        return response


def kind_of(request: HttpRequest) -> str:
    match = request.resolver_match
    name = (match and match.url_name) or ""
    return KINDS.get(name) or ("api" if request.path.startswith("/api/") else "page")
