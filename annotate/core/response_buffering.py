"""Takes whole answers from the threads and sends them on, so that slow readers hold no thread."""

import asyncio
import logging
from collections import deque
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any

from annotate.core.request_buffering import App, Message, Receive, Send

MAX_BYTES_IN_MEMORY = 2**20  # of one answer that its reader has not taken; what is more waits on the disk
MAX_BYTES_ON_DISK = 2**31  # of all answers of one process; beyond it threads wait for the readers
CHUNK = 2**16
STALLED_SECONDS = 60.0  # for one chunk; whoever takes longer is cut off

logger = logging.getLogger(__name__)


class DiskBudget:
    """How many bytes of waiting answers one process holds on its disk."""

    def __init__(self) -> None:
        self.used = 0


_budget = DiskBudget()


class BufferResponses:
    """Wraps an ASGI application for http: it is done once it has said all, its reader later."""

    def __init__(self, app: App, budget: DiskBudget = _budget) -> None:
        self.app, self.budget = app, budget

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        answer = WaitingAnswer(send, self.budget)
        sender = asyncio.create_task(answer.send_all())
        try:
            await self.app(scope, receive, answer.take)
            await sender
        finally:
            sender.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await sender
            answer.drop()


class WaitingAnswer:
    """What an application has said of one answer and its reader has not taken yet: pieces in memory, then a file."""

    def __init__(self, send: Send, budget: DiskBudget) -> None:
        self.send, self.budget = send, budget
        self.started: Message | None = None
        self.pieces: deque[bytes] = deque()
        self.held = 0  # bytes in `pieces`
        self.file: IO[bytes] | None = None
        self.begin = self.end = 0  # of what waits in the file
        self.complete = self.gone = False
        self.changed = asyncio.Event()  # there is more to send
        self.room = asyncio.Event()  # something was sent

    async def take(self, message: Message) -> None:
        """Take a message of the application at once, and only beyond the limits waits for the reader."""
        if message["type"] == "http.response.start":
            self.started = message
        else:
            body = message.get("body", b"")
            while body and not self.gone and not self.keep(body):
                self.room.clear()
                await self.room.wait()
            self.complete = not message.get("more_body", False)
        self.changed.set()

    def keep(self, body: bytes) -> bool:
        """Keep the bytes behind those that wait; return False where there is no room."""
        if self.file is None and (not self.pieces or self.held + len(body) <= MAX_BYTES_IN_MEMORY):
            self.pieces.append(body)
            self.held += len(body)
            return True
        if self.budget.used + len(body) > MAX_BYTES_ON_DISK:
            return False
        try:
            self.file = self.file or TemporaryFile()
            self.file.seek(self.end)
            self.file.write(body)
            self.file.flush()
        except OSError:  # the disk is full: what came of it is written over
            return False
        self.end += len(body)
        self.budget.used += len(body)
        return True

    async def send_all(self) -> None:
        """Send what waits, as fast as the reader takes it."""
        try:
            while True:
                body = self.next_bytes()
                if self.started and (body or self.complete):
                    await self.send_piece(self.started)
                    self.started = None
                if body:
                    for first in range(0, len(body), CHUNK):
                        await self.send_piece(
                            {"type": "http.response.body", "body": body[first : first + CHUNK], "more_body": True}
                        )
                    self.room.set()
                elif self.complete:
                    await self.send_piece({"type": "http.response.body", "body": b""})
                    return
                else:
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            logger.warning("A reader who took nothing of an answer for %d seconds was cut off.", STALLED_SECONDS)
        finally:
            self.gone = True
            self.room.set()

    async def send_piece(self, message: Message) -> None:
        async with asyncio.timeout(STALLED_SECONDS):
            await self.send(message)

    def next_bytes(self) -> bytes:
        if self.pieces:
            body = self.pieces.popleft()
            self.held -= len(body)
            return body
        if self.file is None:
            return b""
        self.file.seek(self.begin)
        body = self.file.read(min(CHUNK, self.end - self.begin))
        self.begin += len(body)
        if self.begin == self.end:
            self.drop()
        return body

    def drop(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()
        self.budget.used -= self.end
        self.file, self.begin, self.end = None, 0, 0
