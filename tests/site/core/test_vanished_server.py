"""A database's machine that vanishes without a word, as when its power fails: nobody waits for it long."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from tests.pace import is_within

pytestmark = pytest.mark.process
NAMESPACE = LINK = f"crowd{os.getpid()}"
HERE, THERE, PORT = "10.213.77.1", "10.213.77.2", 6543
# Passes connections on, from HOST PORT to HOST PORT.
PASS_ON = """
import socket, sys, threading
def copy(one, other):
    while data := one.recv(65536):
        other.sendall(data)
    other.shutdown(socket.SHUT_WR)
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("listens", flush=True)
while True:
    one, other = listener.accept()[0], socket.create_connection((sys.argv[3], int(sys.argv[4])))
    for pair in ((one, other), (other, one)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def there(*command: str) -> list[str]:
    return ["ip", "netns", "exec", NAMESPACE, *command]


@contextmanager
def passed_on(*places: str, within: tuple[str, ...] = ()):
    command = [*within, sys.executable, "-c", PASS_ON, *places]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "listens\n"
            yield
        finally:
            process.kill()


@pytest.fixture
def far_server():
    """The connection settings of a way to PostgreSQL by another machine, which `vanish` takes off the network."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite is no server")
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("a network of one's own takes root and iproute2")
    try:
        run("ip", "netns", "add", NAMESPACE)
        run("ip", "link", "add", LINK, "type", "veth", "peer", "name", "far", "netns", NAMESPACE)
    except subprocess.CalledProcessError as error:
        remove_network()
        pytest.skip(f"no network of one's own here: {error.stderr.decode()}")
    try:
        run("ip", "addr", "add", f"{HERE}/24", "dev", LINK)
        run("ip", "link", "set", LINK, "up")
        run(*there("ip", "addr", "add", f"{THERE}/24", "dev", "far"))
        run(*there("ip", "link", "set", "far", "up"))
        known = connection.settings_dict
        with (
            passed_on(HERE, "6544", known["HOST"], str(known["PORT"] or 5432)),
            passed_on(THERE, str(PORT), HERE, "6544", within=tuple(there())),
        ):
            given = connection.get_connection_params()
            yield {name: value for name, value in given.items() if name != "pool"} | {"host": THERE, "port": PORT}
    finally:
        remove_network()


def remove_network() -> None:
    for kind, name in (("link", LINK), ("netns", NAMESPACE)):
        subprocess.run(["ip", kind, "delete", name], check=False, capture_output=True)


def vanish() -> None:
    run(*there("ip", "addr", "del", f"{THERE}/24", "dev", "far"))


def seconds_until_it_fails(step, ends: dict[str, float], name: str) -> None:
    began = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        step()
    ends[name] = time.monotonic() - began


def test_nobody_waits_long_for_a_machine_that_is_gone(far_server):
    """Whoever waits for an answer, asks, or connects."""
    waiting, asking = (psycopg.connect(**far_server) for _ in range(2))
    ends: dict[str, float] = {}

    def connect() -> None:
        psycopg.connect(**far_server)

    steps = {
        "waiting": lambda: waiting.execute("SELECT pg_sleep(60)"),
        "asking": lambda: asking.execute("SELECT 1"),
        "connecting": connect,
    }
    threads = {
        name: threading.Thread(target=seconds_until_it_fails, args=(step, ends, name)) for name, step in steps.items()
    }
    threads["waiting"].start()
    time.sleep(0.5)
    vanish()
    for name in ("asking", "connecting"):
        threads[name].start()
    for thread in threads.values():
        thread.join(30)
    assert ends.keys() == steps.keys()
    assert is_within(max(ends.values()), 4, time.monotonic), ends  # two, and a busy machine
