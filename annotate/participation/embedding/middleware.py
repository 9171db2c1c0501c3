"""Serves the vote inside other sites' pages without cookies: what a session holds is signed into the address.

/embed/new/join/TOKEN/ is the join page; whoever joins goes on under /embed/TICKET/..., the same pages under a prefix,
which every address on them keeps. No cookie is read or set there but one: a cookie of the embedding site's own
partition (CHIPS) that brings people back to their ticket, where the browser knows such cookies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, set_script_prefix
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate.access import SAFE, SESSION_KEY
from annotate.core.framing import allow_framing, is_of_site
from annotate.core.languages import COOKIE, is_language_tag, site_language
from annotate.core.page_language import NO_COOKIE
from annotate.models import Annotator, Project

PREFIX, NEW = "/embed/", "new"
TICKET_COOKIE = "embedded_vote"
MAX_AGE = timedelta(seconds=settings.SESSION_COOKIE_AGE)
signer = signing.TimestampSigner(sep=".", salt="annotate.embedded-vote")
# The pages of taking part; nothing else is served under the prefix.
PAGES = frozenset(
    "join label submit undo ahead known enough own-ideas consent questionnaire done item-media item-page item-captions "
    "keys shortcuts own-answers own-data own-export".split()
)


@dataclass(frozen=True)
class Ticket:
    """What stands in for a session: whose it is and in which language they go on."""

    key: str
    language: str = ""

    @classmethod
    def read(cls, text: str) -> "Ticket":
        """Raise Http404."""
        try:
            key, _mark, language = signer.unsign(text, max_age=MAX_AGE).partition("-")
            return cls(UUID(key).hex, language)
        except (signing.BadSignature, ValueError):
            raise Http404 from None

    def __str__(self) -> str:
        return signer.sign(f"{self.key}-{self.language}")


class TicketSession(SessionBase):
    """Holds what the ticket says for the length of one request; nothing of it is stored."""

    modified = property(lambda self: False, lambda self, value: None)

    def __init__(self, ticket: Ticket | None, project: UUID) -> None:
        key = ticket and salted_hmac("annotate.embedded-session", ticket.key, algorithm="sha256").hexdigest()[:32]
        super().__init__(key or None)
        if ticket:
            self[SESSION_KEY] = {str(project): str(UUID(ticket.key))}

    def load(self) -> dict[str, Any]:
        return {}

    def exists(self, session_key: str) -> bool:
        return False

    def create(self) -> None:
        return None

    def save(self, must_create: bool = False) -> None:
        return None

    def delete(self, session_key: str | None = None) -> None:
        return None


class EmbeddedVoteMiddleware:
    """Comes after SessionMiddleware, whose session it replaces under the prefix."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        name, _slash, rest = request.path_info.removeprefix(PREFIX).partition("/")
        try:
            ticket = None if name == NEW else Ticket.read(name)
            project = project_of(ticket, rest)
        except Http404:
            return self.get_response(request)  # nothing is there either, and it says so with the headers of all pages
        allow_framing(request, project.embed_origins)
        back = redirect_to_ticket(request, ticket, project, rest)
        language = ticket.language if ticket else ""
        prepare_request(request, ticket, project, rest, language)
        request.embedded_way_back = back  # type: ignore[attr-defined]
        request.embed_origins = project.embed_origins  # type: ignore[attr-defined]
        before = get_script_prefix()
        set_script_prefix(f"{PREFIX}{name}/")
        try:
            response = self.get_response(request)
        finally:
            set_script_prefix(before)
        response.cookies.clear()
        return response if ticket else with_ticket(request, response, project)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseRedirect | None:
        """Lead back whoever has a ticket; raises Http404 for every page that is none of taking part."""
        if not getattr(request, "is_embedded", False):
            return None
        match = request.resolver_match
        if match is None or match.url_name not in PAGES:
            raise Http404
        if request.method not in SAFE:
            check_origin(request, request.embed_origins)  # type: ignore[attr-defined]
        back: HttpResponseRedirect | None = request.embedded_way_back  # type: ignore[attr-defined]
        return back


def project_of(ticket: Ticket | None, rest: str) -> Project:
    """Return the ticket's project, or without one that of the join link. Raises Http404.

    It is raised while no site may show the project, too: what is served here asks for no token against
    forgery, so it is only there for owners who want it.
    """
    projects = Project.objects.only("pk", "join_token", "embed_origins")
    if ticket:
        found = projects.filter(annotators__key=UUID(ticket.key)).first()
    else:
        where, _slash, token = rest.strip("/").partition("/")
        found = projects.filter(join_token=token).first() if where == "join" else None
    if found is None or not found.embed_origins:
        raise Http404
    return found


def redirect_to_ticket(
    request: HttpRequest, ticket: Ticket | None, project: Project, rest: str
) -> HttpResponseRedirect | None:
    """Return where to go instead: to the ticket kept in the browser, or to one in the language asked for."""
    if request.method != "GET":
        return None
    asked = request.GET.get("lang", "")
    if ticket:
        again = Ticket(ticket.key, asked)
        return HttpResponseRedirect(f"{PREFIX}{again}/{rest}") if is_language_tag(asked) else None
    kept = request.COOKIES.get(TICKET_COOKIE, "")
    try:
        known = Ticket.read(kept)
    except Http404:
        return None
    if not Annotator.objects.filter(project=project.pk, key=UUID(known.key)).exists():
        return None
    return HttpResponseRedirect(f"{PREFIX}{known}/projects/{project.pk}/label/")


def check_origin(request: HttpRequest, sites: Sequence[str]) -> None:
    """Raise PermissionDenied for what a page sends that is neither ours nor of a site that may show the vote.

    Browsers say with every POST from where it comes, in Origin or at least in Referer; "null", which pages send that
    hide it, is refused. A program says nothing, and needs nobody's browser to send what it likes.
    """
    origin = request.headers.get("Origin") or origin_of(request.headers.get("Referer", ""))
    own = f"{request.scheme}://{request.get_host()}"
    if origin and origin != own and origin not in settings.CSRF_TRUSTED_ORIGINS and not is_of_site(origin, sites):
        raise PermissionDenied(_("This came from a site that may not show the vote, so nothing was stored."))


def origin_of(address: str) -> str:
    """Return scheme, host and port of an address; "null" where it has none, "" for no address."""
    if not address:
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "null"
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else "null"


def prepare_request(request: HttpRequest, ticket: Ticket | None, project: Project, rest: str, language: str) -> None:
    """Make the request one to the page behind the prefix, by whom the ticket names; no cookie of it counts.

    Since no cookie gives anybody the right to anything here, the token against forgery, which needs a cookie, is not
    asked for; check_origin keeps other sites from having their visitors join and answer.
    """
    request.path_info = f"/{rest}"
    site = site_language(language)
    request.COOKIES = {COOKIE: language} if language else {}
    if site:
        request.COOKIES[settings.LANGUAGE_COOKIE_NAME] = site
    request.session = TicketSession(ticket, project.pk)
    request.is_embedded = True  # type: ignore[attr-defined]
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
    setattr(request, NO_COOKIE, True)


def with_ticket(request: HttpRequest, response: HttpResponseBase, project: Project) -> HttpResponseBase:
    """Lead whoever has just joined on under a ticket of their own."""
    key = request.session.get(SESSION_KEY, {}).get(str(project.pk))
    location = response.headers.get("Location", "")
    if key is None or not location.startswith(f"{PREFIX}{NEW}/"):
        return response
    asked = request.GET.get("lang", "")
    ticket = str(Ticket(UUID(key).hex, asked if is_language_tag(asked) else ""))
    response.headers["Location"] = f"{PREFIX}{ticket}/{location.removeprefix(f'{PREFIX}{NEW}/')}"
    if request.is_secure():
        response.headers["Set-Cookie"] = (
            f"{TICKET_COOKIE}={ticket}; Path={PREFIX}{NEW}/join/{project.join_token}/; Max-Age={MAX_AGE.days * 86400}; "
            "Secure; HttpOnly; SameSite=None; Partitioned"
        )
    return response
