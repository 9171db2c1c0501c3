"""A thread takes a request once it has come whole: slow senders hold none, and what is sent arrives as it was."""

import asyncio

import pytest
from a2wsgi import WSGIMiddleware

from annotate.core import request_buffering
from annotate.core.request_buffering import BufferRequests


def run(parts: list[bytes], gone: bool = False) -> tuple[list[bytes], list[dict], int]:
    """What the application read, what was answered, and how many messages had come when it was called."""
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    waiting += [{"type": "http.disconnect"}] if gone else [{"type": "http.request", "body": b"", "more_body": False}]
    come, read, answered, began = [], [], [], []

    async def receive() -> dict:
        message = waiting.pop(0) if waiting else {"type": "http.disconnect"}
        come.append(message)
        return message

    async def send(message: dict) -> None:
        answered.append(message)

    async def app(scope, receive, send) -> None:
        began.append(len(come))
        more = True
        while more:
            message = await receive()
            read.append(message["body"])
            more = message["more_body"]
        assert (await receive())["type"] == "http.disconnect"

    asyncio.run(BufferRequests(app)({"type": "http", "headers": []}, receive, send))
    return read, answered, began[0] if began else 0


@pytest.mark.parametrize("parts", [[], [b"a=1"], [b"a", b"", b"b"], [b"x" * 70_000] * 40])
def test_the_application_is_called_once_all_has_come_and_reads_the_same(parts):
    read, answered, began = run(parts)
    assert b"".join(read) == b"".join(parts)
    assert began == len(parts) + 1
    assert answered == []


def test_who_goes_away_in_the_midst_reaches_nobody():
    assert run([b"a"], gone=True) == ([], [], 0)


def test_what_is_longer_than_anything_taken_is_refused(monkeypatch):
    monkeypatch.setattr(request_buffering, "MAX_BODY_BYTES", 10)
    assert run([b"x" * 10])[1] == []
    read, answered, began = run([b"x" * 6, b"x" * 5])
    assert (read, began, answered[0]["status"]) == ([], 0, 413)


def test_no_header_passes_for_one_of_the_proxys():
    """As the whole way from uvicorn to Django: what the proxy says stands alone."""
    seen = {}

    def wsgi(environ, start_response):
        seen.update(environ)
        start_response("204 No Content", [])
        return []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        pass

    headers = [(b"host", b"x"), (b"x-forwarded-for", b"203.0.113.5"), (b"x_forwarded_for", b"198.51.100.1")]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "http_version": "1.1"}

    async def ask() -> None:
        await BufferRequests(WSGIMiddleware(wsgi))({**scope, "headers": headers}, receive, send)

    asyncio.run(ask())
    assert seen["HTTP_X_FORWARDED_FOR"] == "203.0.113.5"
