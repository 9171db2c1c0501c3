"""Live pages: a websocket per open page, one relay per process that finds what changed, a push of a few bytes.

Every web process polls the revision rows of the projects watched through it, so several processes need no channel
layer between them. A push says only what has changed, {"fit": 17}; the page then fetches the part that shows it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error as DatabaseError

from annotate.access import SEE, role_in
from annotate.queries.watching import Revision, Ticket, revisions, still_allowed

POLL_SECONDS = 0.2
LABELS_SECONDS = 1.0  # label counts and steps are pushed at most so often; a new fit at once
ACCESS_SECONDS = 3.0  # how often it is asked whether those who watch still may
RETRY_SECONDS = 2.0  # after the database failed
BEAT_SECONDS = 20.0  # silence after which an empty message tells the page that the socket lives
FORBIDDEN = 4403
UNEXPECTED = 1003

log = logging.getLogger(__name__)


class ProjectConsumer(AsyncWebsocketConsumer):
    """The socket of one page that watches one project. It speaks and never listens."""

    async def connect(self) -> None:
        ticket = await database_sync_to_async(ticket_for)(self.scope)
        if ticket is None:
            await self.close(FORBIDDEN)
            return
        self.ticket = ticket
        self.loop = asyncio.get_running_loop()
        # What is yet to be said: newer values replace older ones, so that a slow client costs no memory.
        self.unsent: dict[str, Any] = {}
        self.wake = asyncio.Event()
        await self.accept()
        self.speaker = asyncio.create_task(self.speak())
        hub.join(self)

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "speaker"):
            hub.leave(self)
            self.speaker.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        hub.leave(self)
        await self.close(UNEXPECTED)

    def tell(self, event: Mapping[str, Any]) -> None:
        self.unsent.update(event)
        self.wake.set()

    async def speak(self) -> None:
        while True:
            with suppress(TimeoutError):
                # Not wait_for: it may lose a cancellation that comes together with the event.
                async with asyncio.timeout(BEAT_SECONDS):
                    await self.wake.wait()
            self.wake.clear()
            event, self.unsent = self.unsent, {}
            await self.send(json.dumps(event))


def ticket_for(scope: Mapping[str, Any]) -> Ticket | None:
    user, project_id = scope["user"], scope["url_route"]["kwargs"]["project_id"]
    if role_in(user, project_id) not in SEE:
        return None
    return Ticket(project_id, user.pk, user.password, scope["session"].session_key)


class Hub:
    """The sockets of this process by project, and the relay that runs while there are any."""

    def __init__(self) -> None:
        self.sockets: dict[UUID, set[ProjectConsumer]] = {}
        self.told: dict[UUID, Revision] = {}
        self.relay: asyncio.Task | None = None

    def join(self, socket: ProjectConsumer) -> None:
        project_id = socket.ticket.project_id
        self.sockets.setdefault(project_id, set()).add(socket)
        if project_id in self.told:
            socket.tell(self.told[project_id])
        if self.relay is None or self.relay.done() or self.relay.get_loop() is not socket.loop:
            self.relay = socket.loop.create_task(run_relay(self))

    def leave(self, socket: ProjectConsumer) -> None:
        watchers = self.sockets.get(socket.ticket.project_id, set())
        watchers.discard(socket)
        if not watchers:
            self.sockets.pop(socket.ticket.project_id, None)
            self.told.pop(socket.ticket.project_id, None)

    def everyone(self) -> list[ProjectConsumer]:
        return [socket for sockets in self.sockets.values() for socket in sockets]


hub = Hub()


def publish(project_id: UUID, event: Mapping[str, Any]) -> None:
    """Tells the pages of this process that watch the project; from any thread."""
    for socket in list(hub.sockets.get(project_id, ())):
        socket.loop.call_soon_threadsafe(socket.tell, dict(event))


async def run_relay(hub: Hub) -> None:
    labels_told: dict[UUID, float] = {}
    access_asked = time.monotonic()
    while hub.sockets:
        try:
            await tell_changes(hub, labels_told)
            if time.monotonic() - access_asked >= ACCESS_SECONDS:
                access_asked = time.monotonic()
                await close_forbidden(hub)
        except DatabaseError:
            log.exception("The relay of live pages could not read the database; it tries again.")
            await asyncio.sleep(RETRY_SECONDS)
        await asyncio.sleep(POLL_SECONDS)


async def tell_changes(hub: Hub, labels_told: dict[UUID, float]) -> None:
    """One look at all watched projects; `labels_told`: when each was last told of anything but a fit."""
    for project_id, seen in (await database_sync_to_async(revisions)(list(hub.sockets))).items():
        told = hub.told.get(project_id, {})
        news = {name: value for name, value in seen.items() if name not in told or told[name] != value}
        if not news or project_id not in hub.sockets:
            continue
        now = time.monotonic()
        if "fit" not in news and now - labels_told.get(project_id, 0.0) < LABELS_SECONDS:
            continue
        labels_told[project_id] = now
        hub.told[project_id] = {**told, **news}
        publish(project_id, news)


async def close_forbidden(hub: Hub) -> None:
    sockets = hub.everyone()
    allowed = await database_sync_to_async(still_allowed)({socket.ticket for socket in sockets})
    for socket in sockets:
        if socket.ticket not in allowed:
            hub.leave(socket)
            await socket.close(FORBIDDEN)
