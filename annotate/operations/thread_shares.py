"""Shares the threads that answer requests, so that no project and nobody holds those that others wait for.

Requests wait before they have a thread. Annotators' pages and answers, exports, files and all other pages have threads
of their own; of each kind one project and one person hold a few at most. Whoever waits too long gets 503 in words.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.translation import gettext_lazy as _

from annotate.core.database_outages import BREAKER, Outage, outage_response
from annotate.core.request_buffering import App, Receive, Send
from annotate.core.statements import Given, Statement
from annotate.labelling.handed_out import HANDED_OUT
from annotate.models import Presentation
from annotate.operations.turns import Limit, Turns, Use

ANSWERS, EXPORTS, FILES, PAGES = "answers", "exports", "files", "pages"
KINDS = {
    ANSWERS: "label submit known undo ahead consent questionnaire done enough own-ideas "
    "api-next api-answer api-known api-undo",
    EXPORTS: "export api-export report record api-record log-export account-export own-export machines-report "
    "scale-export expected-links participants-csv entry-links cohorts-compare",
    FILES: "item-media item-page item-captions results-media results-card",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
NEVER_WAIT = ("healthz", "metrics")
OF_PRESENTATIONS = ("submit", "known", "api-answer", "api-known")  # their token names a presentation
EMBEDDED = re.compile(r"/embed/([^/]+)(/.*)")
REFUSED = "crowdrank.refused"
SECONDS_TO_FIND = 1.0
SECOND_AFTER = 0.5  # seconds after which a page is a slow one, which other pages of its project do not wait for

TOO_MANY = Outage(
    503,
    "too-many-at-once",
    _("The site is too busy right now"),
    _("Nothing that was saved is lost, but this was not saved. Wait a few seconds, then try again."),
    5,
)


def limits_of(threads: int, answers: int, of_project: int, of_person: int) -> dict[str, Limit]:
    """Return how many of so many threads each kind of request may have, beside one for those that never wait."""
    exports, files, of_person = max(1, threads // 5), max(1, threads * 3 // 8), max(1, of_person)
    pages = max(1, threads - answers - exports - files - 1)
    return {
        # Never all of them for one project: another's answers would wait for its slowest page.
        ANSWERS: Limit(max(1, answers), max(1, min(of_project, answers - 1)), of_person),
        EXPORTS: Limit(exports, max(1, min(of_project, exports - 1)), of_person, 60.0, SECOND_AFTER),
        FILES: Limit(files, max(1, files - 1), max(1, files - 1)),
        PAGES: Limit(pages, max(1, min(of_project, pages - 1)), of_person, 10.0, SECOND_AFTER),
    }


class ShareThreads:
    """Wraps the ASGI application for http that runs each request in a thread."""

    def __init__(self, app: App, limits: Mapping[str, Limit]) -> None:
        self.app, self.turns = app, Turns(limits)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        use = await use_of(scope)
        if use is None:
            await self.app(scope, receive, send)
        elif await self.turns.begin(use):
            try:
                await self.app(scope, receive, send)
            finally:
                self.turns.end(use)
        else:
            await self.app({**scope, REFUSED: True}, receive, send)


class RefuseMiddleware:
    """Answers 503 in words, and does nothing else, where a request waited too long for a thread."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.META.get("asgi.scope", {}).get(REFUSED):
            return outage_response(request, TOO_MANY)
        return self.get_response(request)


async def use_of(scope: Mapping[str, Any]) -> Use | None:
    """Return what a request is counted as; None for what never waits."""
    path, person = str(scope["path"]), person_of(scope)
    if embedded := EMBEDDED.fullmatch(path):
        path, person = embedded[2], digest(embedded[1]) if embedded[1] != "new" else ""
    try:
        match = resolve(path)
    except (Resolver404, ValueError):
        return Use(FILES, person=person)  # a static file, or nothing
    name = match.url_name or ""
    if name in NEVER_WAIT:
        return None
    return Use(KIND_OF.get(name, PAGES), await project_of(match, name), person)


def person_of(scope: Mapping[str, Any]) -> str:
    """Return a digest of what says who asks, an access token or a session; "" where there is neither.

    Not the address: a whole school may share one.
    """
    for name, value in scope["headers"]:
        if name == b"authorization":
            return digest(value.decode("latin1"))
    for name, value in scope["headers"]:
        if name == b"cookie":
            session = parse_cookie(value.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
            if session:
                return digest(session)
    return ""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def project_of(match: ResolverMatch, name: str) -> str:
    """Return the project that an address is about, else the token in it: that of a link, say; "" without any."""
    if project_id := match.kwargs.get("project_id"):
        return str(project_id)
    token = str(match.kwargs.get("token", ""))
    if token and name in OF_PRESENTATIONS:
        if project_id := HANDED_OUT.project_of(token):
            return str(project_id)
        finding = asyncio.get_running_loop().run_in_executor(_finder, find_project, token)
        try:
            return await asyncio.wait_for(finding, SECONDS_TO_FIND)
        except TimeoutError:
            return ""
    return token


# Apart from the threads that requests take: those may all be busy.
_finder = ThreadPoolExecutor(max_workers=1, thread_name_prefix="projects of answers")
project_by_token = Statement(
    lambda: Presentation.objects.filter(token=Given("token", Presentation)).values_list(
        "annotator__project_id", flat=True
    )
)


def find_project(token: str) -> str:
    """Return the project of a presentation; "" where there is none, or the database is away."""
    if BREAKER.is_open():
        return ""
    try:
        found = project_by_token(token=token)
    except (DatabaseError, InterfaceError):
        connection.close()
        return ""
    if connection.vendor != "sqlite":
        connection.close()  # back to the pool
    return str(found[0]) if found else ""
