"""A PostgreSQL that answers nobody, though its kernel takes every byte: requests are told so, and slow ones are not."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from django.db import OperationalError, connection
from django.db.utils import load_backend

from annotate.core.database_outages import Breaker
from annotate.core.database_silence import SLOW_SECONDS, SilenceWatch
from annotate.core.server_waits import Waits, shut
from tests.faults.services import CannotHaveIt, Postgres
from tests.load.database import without_pool
from tests.pace import is_within
from tests.site.processes import wait_for

LIMIT = 1.2  # seconds, as the settings have it
IN_TIME = 4.0  # two are promised, and a busy machine


class Socket(socket.socket):
    """A connection as far as waiting knows it."""

    @property
    def closed(self) -> bool:
        return self.fileno() < 0


def waiting_for(seconds: float, connection: Socket) -> Waits:
    waits = Waits()
    waits.begin(connection)
    waits._since[connection] -= seconds
    return waits


@contextmanager
def connected():
    ours, theirs = (Socket(fileno=one.detach()) for one in socket.socketpair())
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def pair():
    with connected() as both:
        yield both


def answers() -> None:
    """A probe of a server that is there."""


def test_nobody_is_asked_after_while_nobody_waits_long(pair):
    asked = []
    waits = waiting_for(0.0, pair[0])
    SilenceWatch(waits, Breaker(lambda: asked.append(1)), LIMIT).look()
    assert asked == []


@pytest.mark.parametrize("error", [None, "53300"])
def test_who_waits_for_a_server_that_answers_others_waits_on(pair, error, db):
    """An error of the server's is an answer: here that it takes no more connections."""
    if error and connection.vendor != "postgresql":
        pytest.skip("SQLite has no such errors")

    def probe() -> None:
        if error:
            raise OperationalError("full") from psycopg.errors.lookup(error)("full")

    breaker = Breaker(probe)
    watch = SilenceWatch(waiting_for(60, pair[0]), breaker, 30)
    watch.look()
    assert not watch.silent
    assert not breaker.is_open()
    pair[1].send(b"late")
    assert pair[0].recv(4) == b"late"


def test_a_probe_that_fails_for_another_reason_is_no_silence(pair, caplog):
    """As in a test's process, where threads may not ask the database: all later tests of it were answered with 503."""

    def probe() -> None:
        raise RuntimeError("not allowed")

    breaker = Breaker(probe)
    watch = SilenceWatch(waiting_for(60, pair[0]), breaker, 30)
    watch.look()
    assert not watch.silent
    assert not breaker.is_open()
    assert "not for the database's silence" in caplog.text


def test_who_waits_for_a_silent_server_is_told_and_the_breaker_opens(pair):
    back = threading.Event()
    waits, breaker = waiting_for(60, pair[0]), Breaker(back.wait)
    watch = SilenceWatch(waits, breaker, 0.05)
    watch.look()
    assert pair[0].recv(1) == b""
    assert breaker.is_open()
    with connected() as (later, _other_side):
        waits.end(pair[0])
        waits.begin(later)
        watch.look()  # for a silent server nobody begins to wait
        assert later.recv(1) == b""
        waits.end(later)
    back.set()
    wait_for(lambda: not breaker.is_open(), 10)
    watch.look()
    assert not watch.silent


def test_shutting_what_the_other_side_has_closed_is_nothing(pair):
    pair[0].shutdown(socket.SHUT_RDWR)
    pair[1].close()
    shut(pair[0].fileno())


@pytest.fixture
def own_server(tmp_path_factory, django_db_blocker):
    """A cluster of the test's own, which it may stop."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite is no server")
    folder = tmp_path_factory.mktemp("cluster")
    for one in (folder, folder.parent, folder.parent.parent):
        one.chmod(0o755)  # the server runs as a user of its own
    try:
        server = Postgres.create(folder)
    except CannotHaveIt as error:
        pytest.skip(f"no cluster of one's own: {error}")
    try:
        with django_db_blocker.unblock():
            yield server
    finally:
        server.thaw()
        server.stop("immediate")


def database_at(server: Postgres, **changes):
    """A database of the settings' own options, at this server; connections come from one pool."""
    at = {"HOST": "127.0.0.1", "PORT": server.port, "NAME": "postgres", "USER": "postgres", **changes}
    kind = load_backend(connection.settings_dict["ENGINE"]).DatabaseWrapper
    database = kind({**connection.settings_dict, **at}, "silent")
    database.inc_thread_sharing()
    return database


def ask(database, statement: str = "SELECT 1") -> None:
    try:
        with database.cursor() as cursor:
            cursor.execute(statement)
    finally:
        database.close()


def asks_in_vain_until(database, statement: str = "SELECT 1") -> float:
    """When it was told, by the monotonic clock."""
    with pytest.raises(OperationalError):
        ask(database, statement)
    return time.monotonic()


@pytest.mark.process
def test_a_stopped_server_holds_nobody_and_serves_again_at_once(own_server, monkeypatch):
    """Whoever waits for an answer, asks, or asks for a connection: of these the pool asks first whether they live."""
    from annotate.core import watched_connections  # noqa: PLC0415  (psycopg's, for PostgreSQL alone)

    def look_on() -> None:
        while not over.wait(watch.look()):
            pass

    over, alone = threading.Event(), {"OPTIONS": without_pool(connection.settings_dict["OPTIONS"])}
    monkeypatch.setattr(watched_connections, "WAITS", waits := Waits())
    watch = SilenceWatch(waits, breaker := Breaker(lambda: ask(database_at(own_server, **alone))), LIMIT)
    waiting, asking, connecting = (database_at(own_server) for _ in range(3))
    waiting.pool.timeout = 30  # a busy machine
    for database in (waiting, asking, connecting):
        database.ensure_connection()
    connecting.close()  # back to the pool
    waiting.pool.timeout = LIMIT
    with ThreadPoolExecutor(4) as threads:
        sleeping = threads.submit(asks_in_vain_until, waiting, "SELECT pg_sleep(60)")
        wait_for(lambda: waits.longest() > 2 * SLOW_SECONDS, 30)
        threads.submit(look_on)
        try:
            time.sleep(1)
            assert not sleeping.done()  # it is slow and no more
            own_server.freeze()
            frozen = time.monotonic()
            told = [sleeping, *(threads.submit(asks_in_vain_until, one) for one in (asking, connecting))]
            assert is_within(max(one.result(60) for one in told) - frozen, IN_TIME, time.monotonic)
            own_server.thaw()
            wait_for(lambda: not breaker.is_open(), 5, "the server's return was not noticed")
        finally:
            over.set()
            own_server.thaw()
    waiting.pool.timeout = 30
    ask(waiting)
    waiting.close_pool()
