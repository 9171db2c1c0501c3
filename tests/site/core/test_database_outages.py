"""A database that is away, full or read-only: an answer in words, at once, and full service when it is back."""

import http.client
import socket
import subprocess
import sys
import threading
import time

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.urls import reverse

from annotate.core import database_outages
from annotate.core.database_outages import AWAY, BUSY, READ_ONLY, Breaker, DatabaseOutageMiddleware, outage_of
from annotate.models import User
from annotate.operations import health
from tests.load.database import environment, own_database
from tests.load.servers import free_port, wait_until_it_answers, web
from tests.pace import is_within
from tests.paths import ROOT
from tests.site.pages import signed_in
from tests.site.processes import wait_for


@pytest.fixture
def sqlite():
    if connection.vendor != "sqlite":
        pytest.skip("a server minds its own disk")


def test_a_read_only_database_is_a_page_in_words(sqlite, alice):
    client = signed_in(alice)
    connection.connection.execute("PRAGMA query_only = 1")
    try:
        response = client.post(reverse("account_logout"))
    finally:
        connection.connection.execute("PRAGMA query_only = 0")
    assert response.status_code == 503
    assert "cannot save anything right now" in response.content.decode()
    assert response["Retry-After"] == "60"


def test_a_full_disk_is_507(sqlite):
    outage = outage_of(OperationalError("database or disk is full"))
    assert (outage.status, outage.code) == (507, "disk-full")
    assert outage_of(OperationalError("no such table: x")) is None
    assert outage_of(ValueError("database or disk is full")) is None


@pytest.mark.django_db(transaction=True)
def test_of_two_that_wait_for_each_other_one_is_told_to_come_back(alice, bob):
    """On PostgreSQL; on SQLite steps take turns."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite lets one write at a time")
    both_hold_one, told = threading.Barrier(2, timeout=30), []

    def step(first: int, second: int) -> None:
        try:
            with transaction.atomic():
                User.objects.select_for_update().get(pk=first)
                both_hold_one.wait()
                User.objects.select_for_update().get(pk=second)
        except OperationalError as error:
            told.append(outage_of(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=step, args=pks) for pks in ((alice.pk, bob.pk), (bob.pk, alice.pk))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert told == [BUSY]


def test_the_health_check_names_a_full_disk(sqlite, client, db, monkeypatch):
    monkeypatch.setattr(health, "MIN_FREE_BYTES", 2**62)
    response = client.get("/healthz?of=web")
    assert response.status_code == 503
    assert (response.json()["status"], response.json()["disk"]) == ("down", "full")


def test_while_the_breaker_is_open_the_database_is_not_used(client, monkeypatch, db, django_assert_num_queries):
    away = threading.Event()

    def probe() -> None:
        if not away.is_set():
            raise OperationalError("no")

    breaker = Breaker(probe)
    monkeypatch.setattr(database_outages, "BREAKER", breaker)
    monkeypatch.setattr(database_outages, "PROBE_SECONDS", 0.01)
    breaker.open()
    with django_assert_num_queries(0):
        page, api = client.get("/"), client.get("/api/v1/projects/")
    assert (page.status_code, page["Retry-After"]) == (503, "2")
    assert "cannot reach its data right now" in page.content.decode()
    assert (api.status_code, api["Content-Type"]) == (503, "application/problem+json")
    assert api.json()["type"] == f"urn:crowdrank:problem:{AWAY.code}"
    away.set()
    wait_for(lambda: not breaker.is_open(), 10)
    assert client.get("/accounts/login/").status_code == 200


def test_a_server_that_takes_no_changes_is_503(db):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite's own are above")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_read_only = on")
        with pytest.raises(DatabaseError) as refused:
            cursor.execute("DELETE FROM django_session")
        transaction.set_rollback(True)
    assert outage_of(refused.value) is READ_ONLY


def test_other_errors_are_left_to_others(rf):
    assert DatabaseOutageMiddleware(lambda _: None).process_exception(rf.get("/"), ValueError("x")) is None


@pytest.mark.process
@pytest.mark.parametrize("command", [["worker", "--once"], ["serve", "--port", "0"]])
def test_an_unreachable_database_at_start_is_one_sentence(tmp_path, command):
    env = environment(f"postgres://nobody:secret@127.0.0.1:{free_port()}/none", tmp_path)
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "The database cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


class Forwarder:
    """A way to a server that can be cut, so that connections end and none is accepted, or hold what it is sent."""

    def __init__(self, host: str, port: int) -> None:
        self.target, self.port = (host, port), free_port()
        self.open: list[socket.socket] = []
        self.listener: socket.socket | None = None
        self.passes = threading.Event()
        self.passes.set()

    def start(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=[self.listener], daemon=True).start()

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                ours, _ = listener.accept()
            except OSError:
                return
            theirs = socket.create_connection(self.target)
            self.open += [ours, theirs]
            for pair in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self.passes.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        self.open.clear()


def status_of(port: int) -> tuple[int, float]:
    """The status of a request that reads the database, and the seconds that it took."""
    started, client = time.monotonic(), http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("GET", "/api/v1/projects/", headers={"Authorization": "Bearer nobody"})
    status = client.getresponse().status
    client.close()
    return status, time.monotonic() - started


@pytest.fixture
def way_to_server(tmp_path, django_db_blocker):
    """The port of a site, and its way to PostgreSQL."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite is no server")
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        host, port = connection.settings_dict["HOST"], int(connection.settings_dict["PORT"] or 5432)
        way = Forwarder(host, port)
        way.start()
        own = free_port()
        site = web(environment(url.replace(f"@{host}:{port}/", f"@127.0.0.1:{way.port}/"), tmp_path), own, tmp_path)
        site.start()
        try:
            wait_until_it_answers(own)
            assert status_of(own)[0] == 401
            yield own, way
        finally:
            way.passes.set()
            site.stop()
            way.cut()


@pytest.mark.process
def test_a_server_that_vanishes_is_503_at_once_and_back_within_seconds(way_to_server):
    own, way = way_to_server
    way.cut()
    for _ in range(3):
        status, seconds = status_of(own)
        assert (status, is_within(seconds, 2, time.monotonic)) == (503, True)
    way.start()
    wait_for(lambda: status_of(own)[0] == 401, 5, "it did not come back")


@pytest.mark.process
def test_a_server_that_takes_all_and_says_nothing_is_503_in_time_and_back_within_seconds(way_to_server):
    own, way = way_to_server
    way.passes.clear()
    status, seconds = status_of(own)
    assert (status, is_within(seconds, 4, time.monotonic)) == (503, True)  # two, and a busy machine
    status, seconds = status_of(own)
    assert (status, is_within(seconds, 2, time.monotonic)) == (503, True)
    way.passes.set()
    wait_for(lambda: status_of(own)[0] == 401, 5, "it did not come back")
