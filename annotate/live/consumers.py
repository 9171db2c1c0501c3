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
from annotate.live.queries import Revision, Viewer, allowed_viewers, revisions

POLL_SECONDS = 0.2
LABELS_SECONDS = 1.0  # label counts and steps are pushed at most so often
AT_ONCE = {"fit", "newest"}  # what the ranking shows
ACCESS_SECONDS = 3.0  # how often it is asked whether those who watch still may
RETRY_SECONDS = 2.0  # after the database failed
BEAT_SECONDS = 20.0  # silence after which an empty message tells the page that the socket lives
FORBIDDEN = 4403
UNEXPECTED = 1003

log = logging.getLogger(__name__)


class ProjectConsumer(AsyncWebsocketConsumer):
    """The socket of one page that watches one project. It sends and closes when anything is received."""

    async def connect(self) -> None:
        viewer = await database_sync_to_async(viewer_from)(self.scope)
        if viewer is None:
            await self.close(FORBIDDEN)
            return
        self.viewer = viewer
        self.loop = asyncio.get_running_loop()
        # What is yet to be said: newer values replace older ones, so that a slow client costs no memory.
        self.unsent: dict[str, Any] = {}
        self.wake = asyncio.Event()
        await self.accept()
        self.sender = asyncio.create_task(self.send_events())
        hub.join(self)

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "sender"):
            hub.leave(self)
            self.sender.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        hub.leave(self)
        await self.close(UNEXPECTED)

    def queue(self, event: Mapping[str, Any]) -> None:
        self.unsent.update(event)
        self.wake.set()

    async def send_events(self) -> None:
        while True:
            with suppress(TimeoutError):
                # Not wait_for: it may lose a cancellation that comes together with the event.
                async with asyncio.timeout(BEAT_SECONDS):
                    await self.wake.wait()
            self.wake.clear()
            event, self.unsent = self.unsent, {}
            await self.send(json.dumps(event))


def viewer_from(scope: Mapping[str, Any]) -> Viewer | None:
    user, project_id = scope["user"], scope["url_route"]["kwargs"]["project_id"]
    if role_in(user, project_id) not in SEE:
        return None
    return Viewer(project_id, user.pk, user.password, scope["session"].session_key)


class Hub:
    """The sockets of this process by project, and the relay that runs while there are any."""

    def __init__(self) -> None:
        self.sockets: dict[UUID, set[ProjectConsumer]] = {}
        self.sent: dict[UUID, Revision] = {}
        self.relay: asyncio.Task | None = None

    def join(self, socket: ProjectConsumer) -> None:
        project_id = socket.viewer.project_id
        self.sockets.setdefault(project_id, set()).add(socket)
        if project_id in self.sent:
            socket.queue(self.sent[project_id])
        if self.relay is None or self.relay.done() or self.relay.get_loop() is not socket.loop:
            self.relay = socket.loop.create_task(run_relay(self))

    def leave(self, socket: ProjectConsumer) -> None:
        watchers = self.sockets.get(socket.viewer.project_id, set())
        watchers.discard(socket)
        if not watchers:
            self.sockets.pop(socket.viewer.project_id, None)
            self.sent.pop(socket.viewer.project_id, None)

    def all_sockets(self) -> list[ProjectConsumer]:
        return [socket for sockets in self.sockets.values() for socket in sockets]


hub = Hub()


def publish(project_id: UUID, event: Mapping[str, Any]) -> None:
    """Send the event to the pages of this process that watch the project; callable from any thread."""
    for socket in list(hub.sockets.get(project_id, ())):
        socket.loop.call_soon_threadsafe(socket.queue, dict(event))


async def run_relay(hub: Hub) -> None:
    labels_sent_at: dict[UUID, float] = {}
    access_checked = time.monotonic()
    while hub.sockets:
        try:
            await publish_changes(hub, labels_sent_at)
            if time.monotonic() - access_checked >= ACCESS_SECONDS:
                access_checked = time.monotonic()
                await close_disallowed(hub)
        except DatabaseError:
            log.exception("The relay of live pages could not read the database; it tries again.")
            await asyncio.sleep(RETRY_SECONDS)
        await asyncio.sleep(POLL_SECONDS)


async def publish_changes(hub: Hub, labels_sent_at: dict[UUID, float]) -> None:
    """Read all watched projects once; `labels_sent_at`: when each was last sent anything."""
    for project_id, seen in (await database_sync_to_async(revisions)(list(hub.sockets))).items():
        sent = hub.sent.get(project_id, {})
        news = {name: value for name, value in seen.items() if name not in sent or sent[name] != value}
        if not news or project_id not in hub.sockets:
            continue
        now = time.monotonic()
        if news.keys().isdisjoint(AT_ONCE) and now - labels_sent_at.get(project_id, 0.0) < LABELS_SECONDS:
            continue
        labels_sent_at[project_id] = now
        hub.sent[project_id] = {**sent, **news}
        publish(project_id, news)


async def close_disallowed(hub: Hub) -> None:
    sockets = hub.all_sockets()
    allowed = await database_sync_to_async(allowed_viewers)({socket.viewer for socket in sockets})
    for socket in sockets:
        if socket.viewer not in allowed:
            hub.leave(socket)
            await socket.close(FORBIDDEN)
