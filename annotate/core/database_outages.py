"""Answers in words while the database is away, full or read-only: 503 or 507 with a page, and no waiting.

After the first failure requests are refused at once, and a thread looks twice a second whether the database is back.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.management.base import CommandError
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    connection,
)
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.core.clocks import pause

logger = logging.getLogger("annotate.database")
PROBE_SECONDS = 0.5
# Of PostgreSQL's codes: connection exceptions, and a server that shuts down, crashed or starts.
AWAY_CODES = ("08", "57P")


@dataclass(frozen=True)
class Outage:
    """Why nothing can be stored or read: the HTTP status, a code for programs, a title and what to do."""

    status: int
    code: str
    title: str | Promise
    text: str | Promise
    retry_after: int


AWAY = Outage(
    503,
    "database-away",
    _("The site cannot reach its data right now"),
    _("Nothing that was saved is lost. The site tries again by itself. Wait a few seconds, then try again."),
    2,
)
BUSY = Outage(
    503,
    "database-busy",
    _("The site is too busy right now"),
    _("Nothing that was saved is lost, but this was not saved. Wait a few seconds, then try again."),
    5,
)
READ_ONLY = Outage(
    503,
    "read-only",
    _("The site cannot save anything right now"),
    _("Its disk takes no changes. What was saved before is safe, this was not. Tell the person who runs this site."),
    60,
)
FULL = Outage(
    507,
    "disk-full",
    _("The site's disk is full"),
    _("What was saved before is safe, but this was not saved. Tell the person who runs this site."),
    60,
)
# A statement that took too long, two that wait for each other (one is undone), a database that takes no changes, a disk
# without room.
POSTGRESQL_CODES = {"57014": BUSY, "40P01": BUSY, "25006": READ_ONLY, "53100": FULL}
SQLITE_MESSAGES = {
    "disk is full": FULL,
    "readonly database": READ_ONLY,
    "unable to open database file": AWAY,
    "disk i/o error": AWAY,
    "database is locked": BUSY,
}


def outage_of(error: BaseException | None) -> Outage | None:
    """Return the outage that a database's error stands for; None for every other error."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return None
    if connection.vendor == "sqlite":
        text = str(error).lower()
        return next((outage for words, outage in SQLITE_MESSAGES.items() if words in text), None)
    code = getattr(error.__cause__, "sqlstate", None)
    if code in POSTGRESQL_CODES:
        return POSTGRESQL_CODES[code]
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    return AWAY if code is None or code.startswith(AWAY_CODES) else None


def is_refusal(error: Exception) -> bool:
    """Return whether the database did answer, and refused a statement: where a row that it refers to has been deleted
    since, or the values do not fit. The same statement would be refused again."""
    return isinstance(error, IntegrityError | DataError | ProgrammingError | NotSupportedError)


def log_database_error(error: Exception, own: logging.Logger, then: str) -> None:
    """Write into the log whether the database did not answer or refused a step, and what is done about it."""
    if is_refusal(error):
        own.error("The database refused a step (%s); %s.", type(error).__name__, then, exc_info=error)
    else:
        own.error("The database did not answer; %s.", then, exc_info=error)


class Breaker:
    """Open while a server cannot be reached; a thread closes it once that answers again."""

    def __init__(self, probe: Callable[[], None]) -> None:
        self.probe = probe
        self._open = threading.Event()
        self._lock = threading.Lock()

    def is_open(self) -> bool:
        return self._open.is_set()

    def open(self) -> None:
        with self._lock:
            if not self._open.is_set():
                self._open.set()
                logger.error("The database cannot be reached; requests are answered with 503 until it can.")
                threading.Thread(target=self._wait_for_server, name="database probe", daemon=True).start()

    def _wait_for_server(self) -> None:
        while True:
            try:
                self.probe()
            except DatabaseError:
                pause(PROBE_SECONDS)
            else:
                break
        drop_pool()
        self._open.clear()
        logger.warning("The database can be reached again.")


def probe_server() -> None:
    """Connect outside the pool. Raises DatabaseError."""
    own = connection.copy()
    own.settings_dict["OPTIONS"] = {key: value for key, value in own.settings_dict["OPTIONS"].items() if key != "pool"}
    try:
        with own.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        own.close()


def drop_pool() -> None:
    """End the pool, whose connections are dead and which waits ever longer before it tries again."""
    connection.close()
    close_pool = getattr(connection, "close_pool", None)
    if close_pool:
        close_pool()


def require_database() -> None:
    """Raise CommandError, in one sentence, where the database cannot be reached."""
    try:
        probe_server()
    except DatabaseError as error:
        reason = str(error).strip().partition("\n")[0]
        raise CommandError(
            f"The database cannot be reached ({reason}). Start it, or correct DATABASE_URL, then try again."
        ) from error


@contextmanager
def outages_told(next_step: str) -> Iterator[None]:
    """Turn a database's failure within a command into CommandError, in words; next_step: what to do then."""
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        if outage_of(error) is None:
            raise
        reason = str(error).strip().partition("\n")[0]
        raise CommandError(f"The database failed ({reason}). {next_step}") from error


BREAKER = Breaker(probe_server)


class DatabaseOutageMiddleware:
    """Refuses requests while the breaker is open, and turns a database's failure in a view into its answer in words."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if BREAKER.is_open() and request.path != "/healthz":
            return outage_response(request, AWAY)
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return answer_failure(request, exception)


def answer_failure(request: HttpRequest, error: BaseException | None) -> HttpResponse | None:
    """Return the answer to a database's failure and open the breaker; None for other errors."""
    outage = outage_of(error)
    if outage is None:
        return None
    logger.error("%s %s was answered with %d: %s", request.method, request.path, outage.status, error)
    if outage is AWAY and connection.vendor != "sqlite":
        BREAKER.open()
    return outage_response(request, outage)


def outage_response(request: HttpRequest, outage: Outage) -> HttpResponse:
    """Render the outage without a look at the database: a page, for the API problem details."""
    if request.path.startswith("/api/"):
        body = {
            "type": f"urn:crowdrank:problem:{outage.code}",
            "title": str(outage.title),
            "status": outage.status,
            "detail": str(outage.text),
        }
        response = HttpResponse(json.dumps(body), content_type="application/problem+json", status=outage.status)
    else:
        response = HttpResponse(render_to_string("503.html", {"outage": outage}), status=outage.status)
    response["Retry-After"] = str(outage.retry_after)
    response["Cache-Control"] = "no-store"
    return response
