"""Reads whole requests and drops ambiguous headers before a thread is used, so that slow senders block nobody."""

from collections.abc import Awaitable, Callable, Iterable
from tempfile import SpooledTemporaryFile
from typing import Any

Message = dict[str, Any]
Header = tuple[bytes, bytes]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

MAX_BYTES_IN_MEMORY = 2**20  # bytes of one body; what is longer waits on the disk
CHUNK = 2**16
MAX_BODY_BYTES = 600 * 2**20  # more than any import takes, so that its own message with the limit is seen


class BufferRequests:
    """Wraps an ASGI application for http."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        with SpooledTemporaryFile(MAX_BYTES_IN_MEMORY) as body:
            more, size = True, 0
            while more:
                message = await receive()
                if message["type"] != "http.request":  # gone
                    return
                more, size = message.get("more_body", False), size + len(message.get("body", b""))
                if size > MAX_BODY_BYTES:
                    await send_too_large(send)
                    return
                body.write(message.get("body", b""))
            body.seek(0)
            read_on = True

            async def again() -> Message:
                nonlocal read_on
                if not read_on:
                    return await receive()
                chunk = body.read(CHUNK)
                read_on = body.tell() < size
                return {"type": "http.request", "body": chunk, "more_body": read_on}

            await self.app({**scope, "headers": drop_ambiguous_headers(scope["headers"])}, again, send)


def drop_ambiguous_headers(headers: Iterable[Header]) -> list[Header]:
    """Drop headers whose names have an underscore: WSGI can't tell them from those with a dash, so that anybody could
    add to what a proxy says, as to X-Forwarded-For."""
    return [(name, value) for name, value in headers if b"_" not in name]


async def send_too_large(send: Send) -> None:
    await send({"type": "http.response.start", "status": 413, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": b""})
