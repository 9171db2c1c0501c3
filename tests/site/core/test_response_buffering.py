"""A thread is free once its answer is made: slow readers hold none, and what they get is what was said."""

import asyncio

import pytest
from a2wsgi import WSGIMiddleware

from annotate.core import response_buffering
from annotate.core.response_buffering import BufferResponses, DiskBudget

MIB = 2**20
SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "http_version": "1.1", "headers": []}


async def receive() -> dict:
    return {"type": "http.request", "body": b"", "more_body": False}


class Reader:
    """Takes nothing until it is told to."""

    def __init__(self) -> None:
        self.reads, self.taken = asyncio.Event(), []

    async def send(self, message: dict) -> None:
        await self.reads.wait()
        self.taken.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.taken)


def wsgi(pieces: list[bytes], made: asyncio.Event, loop: asyncio.AbstractEventLoop):
    def application(environ, start_response):
        start_response("200 OK", [("X-Test", "1")])
        yield from pieces
        loop.call_soon_threadsafe(made.set)

    return application


async def serve(pieces: list[bytes], budget: DiskBudget, seconds: float) -> tuple[bool, Reader]:
    """Whether all was made within so long while the reader took nothing, and the reader once it had read."""
    made, reader = asyncio.Event(), Reader()
    app = BufferResponses(WSGIMiddleware(wsgi(pieces, made, asyncio.get_running_loop()), workers=1), budget)
    asking = asyncio.create_task(app(SCOPE, receive, reader.send))
    try:
        await asyncio.wait_for(made.wait(), seconds)
    except TimeoutError:
        pass
    in_time = made.is_set()
    reader.reads.set()
    await asking
    return in_time, reader


@pytest.mark.parametrize("pieces", [[], [b"a"], [b"a", b"", b"b"], [bytes([n]) * 300_000 for n in range(40)]])
def test_a_reader_who_takes_nothing_holds_no_thread_and_gets_all_later(pieces):
    budget = DiskBudget()
    in_time, reader = asyncio.run(serve(pieces, budget, 30))
    assert in_time
    assert reader.body == b"".join(pieces)
    assert (reader.taken[0]["status"], reader.taken[0]["headers"]) == (200, [(b"x-test", b"1")])
    assert reader.taken[-1].get("more_body", False) is False
    assert budget.used == 0


@pytest.mark.parametrize("full", ["budget", "disk"])
def test_where_the_disk_has_no_room_the_thread_waits_and_nothing_is_lost(full, monkeypatch):
    if full == "budget":
        monkeypatch.setattr(response_buffering, "MAX_BYTES_ON_DISK", MIB)
    else:

        def no_file():
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(response_buffering, "TemporaryFile", no_file)
    pieces = [bytes([n]) * 300_000 for n in range(60)]  # more than memory, budget and the queue between them hold
    in_time, reader = asyncio.run(serve(pieces, DiskBudget(), 0.2))
    assert not in_time
    assert reader.body == b"".join(pieces)


def test_who_reads_nothing_at_all_is_cut_off_and_the_thread_is_free(monkeypatch):
    monkeypatch.setattr(response_buffering, "STALLED_SECONDS", 0.05)
    monkeypatch.setattr(response_buffering, "MAX_BYTES_ON_DISK", 0)
    budget = DiskBudget()

    async def ask() -> bool:
        made, reader = asyncio.Event(), Reader()
        pieces = [b"x" * MIB] * 30
        app = BufferResponses(WSGIMiddleware(wsgi(pieces, made, asyncio.get_running_loop()), workers=1), budget)
        await asyncio.wait_for(app(SCOPE, receive, reader.send), 30)
        return made.is_set() and not reader.taken

    assert asyncio.run(ask())
    assert budget.used == 0


def test_an_error_of_the_application_is_not_swallowed():
    async def app(scope, receive, send) -> None:
        raise ZeroDivisionError

    async def ask() -> None:
        await BufferResponses(app)(SCOPE, receive, Reader().send)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(ask())
