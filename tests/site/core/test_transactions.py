"""Writers on SQLite queue, threads and processes alike."""

import fcntl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.db import connection

from annotate.core.transactions import write_transaction

HOLDS_THE_TURN = """
import fcntl, sys
with open(sys.argv[1], "w") as turn:
    fcntl.flock(turn, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.readline()
"""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def turn() -> str:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL lets many write at once")
    return f"{connection.settings_dict['NAME']}-turn"


@pytest.mark.process
def test_who_writes_waits_for_another_process_and_goes_on_when_that_is_killed(turn):
    written = threading.Event()

    def write() -> None:
        with write_transaction():
            written.set()
        connection.close()

    command = [sys.executable, "-c", HOLDS_THE_TURN, turn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        thread = threading.Thread(target=write)
        thread.start()
        assert not written.wait(0.5)
        other.kill()
        assert written.wait(30)
        thread.join()


def test_the_turn_is_given_back_after_an_error(turn):
    with pytest.raises(ZeroDivisionError), write_transaction():
        raise ZeroDivisionError
    with open(turn, "w") as free:
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_transaction_inside_another_does_not_wait_for_itself(turn):
    with write_transaction(), write_transaction():
        assert connection.in_atomic_block


def test_where_the_disk_gives_no_turn_it_is_sqlite_that_says_why(turn):
    """On a full or read-only disk there is no file to lock: what SQLite says of that is answered in words."""
    Path(turn).unlink(missing_ok=True)
    Path(turn).mkdir()
    try:
        with write_transaction():
            assert connection.in_atomic_block
    finally:
        Path(turn).rmdir()


def test_the_file_of_turns_is_its_owners(turn):
    Path(turn).unlink(missing_ok=True)
    with write_transaction():
        assert Path(turn).stat().st_mode & 0o077 == 0
