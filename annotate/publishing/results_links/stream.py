"""Pushes the projector view to everybody who watches it: one rendering for all alike, sent as server-sent events.

Every web process looks a few times a second whether a watched link shows something new. The id of an event is the
version of the view that it holds, so that a browser that comes back gets what it missed and nothing else.
"""

import asyncio
import io
import logging
import resource
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.http import AsyncHttpConsumer
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.db import Error as DatabaseError
from django.http import Http404
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import override

from annotate import access
from annotate.core.errors import LinkExpired, RateLimited
from annotate.core.languages import site_language
from annotate.core.rate_limits import check_rate_limit, client_address, counted_as
from annotate.publishing.results_links.live import current_version, live_context

LOOK_SECONDS = 0.2
LOOK_SECONDS_AT_MOST = 2.0  # where many links are watched and looking takes long
BEAT_SECONDS = 20.0  # silence after which a comment tells proxies and browsers that the stream lives
UNREAD_SECONDS = 60.0  # a browser that takes nothing for so long is cut off
# Beyond these a page asks from time to time. Of one web process: never more than half of the files that it may open,
# since every other request needs some. One network address has half of them at most.
MAX_STREAMS = 5000
MAX_SCREENS = 20  # of one link: whoever knows it may name any port of the site's hosts
RETRY_MS = 3000  # after which a browser connects again
ENDED = b"event: ended\ndata:\n\n"
ENDED_VERSION = "ended"
BEAT = b":\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy before us hands each event on at once
    (b"x-content-type-options", b"nosniff"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"referrer-policy", b"no-referrer"),
]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Screen:
    """What makes two viewers see the same: the link, the language, and the address by which they reached the site."""

    token: str
    language: str
    origin: str


@dataclass(frozen=True)
class Event:
    """version: of the view that the event shows; ENDED_VERSION once the link has ended."""

    version: str
    data: bytes


def viewer_of(scope: Mapping[str, Any]) -> tuple[Screen, str, str]:
    """Return what the viewer sees, the version that the page shows (of its last event, else what it was drawn with),
    and what their network address is counted as.

    Raises Http404, LinkExpired, RateLimited or DisallowedHost where there is nothing to see.
    """
    request = ASGIRequest(dict(scope), io.BytesIO())
    check_rate_limit(request, "results-live")
    token = scope["url_route"]["kwargs"]["token"]
    access.results_link(token, timezone.now())
    language = site_language(request.GET.get("lang", "")) or settings.LANGUAGE_CODE
    screen = Screen(token, language, request.build_absolute_uri("/").rstrip("/"))
    seen = request.headers.get("Last-Event-ID") or request.GET.get("seen", "")
    return screen, seen, counted_as(client_address(request) or "")


def event_for(screen: Screen, seen: str | None) -> Event | None:
    """Return what is new to viewers of the screen who have seen a version; None where nothing is."""
    try:
        link = access.results_link(screen.token, timezone.now())
    except (LinkExpired, Http404):
        return Event(ENDED_VERSION, ENDED)
    if current_version(link) == seen:
        return None
    with override(screen.language):
        context = live_context(link, screen.origin)
        html = render_to_string("publishing/live_fragment.html", context)
    version = context["live"].version
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return Event(version, f"id: {version}\n{lines}\n".encode())


def events_for(seen: Mapping[Screen, str | None]) -> dict[Screen, Event]:
    """Return what is new by screen, given the version that each was sent last; None: everything is new.

    A view that cannot be shown is left out, so that it stops no other. Raises DatabaseError.
    """
    found = {}
    for screen, version in seen.items():
        try:
            event = event_for(screen, version)
        except DatabaseError:
            raise
        except Exception:
            log.exception("The stream of a results link could not show its view.")
            continue
        if event:
            found[screen] = event
    return found


class ResultsStream(AsyncHttpConsumer):
    """The stream of one page. It sends the newest event only, so that who reads slowly costs no memory."""

    async def http_request(self, message: Mapping[str, Any]) -> None:
        if message.get("more_body"):
            return
        if audience.is_full():
            await self.refuse(503)
        try:
            self.screen, self.shown, self.who = await database_sync_to_async(viewer_of)(self.scope)
        except (Http404, LinkExpired, DisallowedHost):
            await self.refuse(404)
        except RateLimited:
            await self.refuse(429)
        except DatabaseError:
            await self.refuse(503)
        if audience.is_full() or not audience.has_room(self.screen, self.who):
            await self.refuse(503)
        self.unsent = b""
        self.wake = asyncio.Event()
        await self.send_headers(headers=HEADERS)
        await self.send_body(f"retry: {RETRY_MS}\n\n".encode(), more_body=True)
        self.sender = asyncio.create_task(self.send_events())
        audience.join(self)

    async def refuse(self, status: int) -> NoReturn:
        """Answer without a stream and stop; the page then asks from time to time."""
        await self.send_headers(status=status, headers=HEADERS[1:])
        await self.send_body(b"")
        raise StopConsumer

    async def disconnect(self) -> None:
        if hasattr(self, "sender"):
            audience.leave(self)
            self.sender.cancel()

    def queue(self, event: Event) -> None:
        """Send the event unless the page shows its version already."""
        if event.version == self.shown:
            return
        self.shown, self.unsent = event.version, event.data
        self.wake.set()

    async def send_events(self) -> None:
        """Send what is new as it comes, and end with the link or with who takes nothing."""
        data = b""
        while data != ENDED:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await self.wake.wait()
            self.wake.clear()
            data, self.unsent = self.unsent or BEAT, b""
            if not await self.sends(data):
                break
        audience.leave(self)
        await self.sends(b"", more_body=False)

    async def sends(self, data: bytes, more_body: bool = True) -> bool:
        """Return whether it was taken within a minute."""
        try:
            async with asyncio.timeout(UNREAD_SECONDS):
                await self.send_body(data, more_body=more_body)
        except TimeoutError:
            return False
        return True


def most_streams() -> int:
    return min(MAX_STREAMS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class Audience:
    """The streams of this process by screen, the version that each screen was sent last, and the relay.

    The relay finds what is new. It takes a screen as new (None) where a page has joined that shows another version.
    """

    def __init__(self) -> None:
        self.streams: dict[Screen, set[ResultsStream]] = {}
        self.sent: dict[Screen, str | None] = {}
        self.relay: asyncio.Task | None = None

    def is_full(self) -> bool:
        return sum(map(len, self.streams.values())) >= most_streams()

    def has_room(self, screen: Screen, who: str) -> bool:
        """Return whether one address has not yet taken its share, nor one link made too many screens."""
        theirs = sum(stream.who == who for streams in self.streams.values() for stream in streams)
        alike = sum(one.token == screen.token for one in self.streams)
        return theirs < max(1, most_streams() // 2) and (screen in self.streams or alike < MAX_SCREENS)

    def join(self, stream: ResultsStream) -> None:
        """Let the stream take part; the relay sends it what its page does not show yet."""
        screen = stream.screen
        self.streams.setdefault(screen, set()).add(stream)
        if self.sent.setdefault(screen, stream.shown) != stream.shown:
            self.sent[screen] = None
        if self.relay is None or self.relay.done() or self.relay.get_loop() is not asyncio.get_running_loop():
            self.relay = asyncio.create_task(run_relay(self))

    def leave(self, stream: ResultsStream) -> None:
        others = self.streams.get(stream.screen, set())
        others.discard(stream)
        if not others:
            self.streams.pop(stream.screen, None)
            self.sent.pop(stream.screen, None)

    def publish(self, screen: Screen, event: Event) -> None:
        if screen not in self.streams:  # the last of them has left meanwhile
            return
        self.sent[screen] = event.version
        for stream in list(self.streams[screen]):
            stream.queue(event)


audience = Audience()


async def run_relay(audience: Audience) -> None:
    took = 0.0
    while audience.streams:
        await asyncio.sleep(min(LOOK_SECONDS_AT_MOST, max(LOOK_SECONDS, 4 * took)))
        began = time.monotonic()
        try:
            for screen, event in (await database_sync_to_async(events_for)(dict(audience.sent))).items():
                audience.publish(screen, event)
        except DatabaseError:
            log.exception("The stream of results could not read the database; it tries again.")
        took = time.monotonic() - began
