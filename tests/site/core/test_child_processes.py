"""`manage.py serve`: the engine is started again when it dies, and no process is left whatever ends the parent."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.load.database import environment
from tests.load.servers import free_port
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.site.processes import command_of, wait_for, with_environment

pytestmark = [pytest.mark.process, pytest.mark.embedded]


class Serving:
    """A running `manage.py serve` on a SQLite file, an empty one at first."""

    def __init__(self, folder) -> None:
        self.port = free_port()
        self.mark = f"PROCESSES_OF_THIS_TEST={folder}"
        name, _, value = self.mark.partition("=")
        self.database = folder / "db.sqlite3"
        self.env = environment(f"sqlite:///{self.database}", folder) | {name: value}
        self.log = folder / "serve.log"
        self.process: subprocess.Popen | None = None

    def start(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port), *arguments]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=out, stderr=out)
        wait_for(lambda: self.health(), 300, "nothing answered")

    def health(self) -> dict | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as reply:
                return json.load(reply)
        except OSError:
            return None

    def all(self) -> set[int]:
        return with_environment(self.mark)

    def helpers(self) -> set[int]:
        return {pid for pid in self.all() if " --socket " in command_of(pid)}

    def engine(self) -> int | None:
        """The engine's process id once it has reported itself."""
        alive = self.health()["engines"]["running"]
        return next((pid for pid in self.all() if alive and " worker" in command_of(pid)), None)


@pytest.fixture
def empty(tmp_path):
    serving = Serving(tmp_path)
    yield serving
    for pid in serving.all():
        os.kill(pid, signal.SIGKILL)
    if serving.process:
        serving.process.wait()


@pytest.fixture
def serving(empty):
    copy_migrated(empty.database)
    return empty


def stop(serving: Serving, number: int) -> None:
    """Ask it to end, which it does in good order."""
    serving.process.send_signal(number)
    assert serving.process.wait(60) == 0
    # The engine's server of processes for jobs ends once it has imported what it was about to.
    wait_for(lambda: not serving.all(), why="something outlived it")
    assert "Traceback" not in serving.log.read_text()


# Each test starts one server and ends it in another way: starting one takes six seconds of CPU.


def test_it_sets_an_empty_database_up_serves_site_and_engine_and_stops_when_interrupted(empty):
    empty.start()
    assert wait_for(empty.engine, why="no engine came up")
    assert empty.health()["status"] == "ok"
    assert f"http://127.0.0.1:{empty.port}/" in empty.log.read_text()
    stop(empty, signal.SIGINT)


def test_a_killed_engine_is_started_again_and_stops_with_the_rest_when_told_to(serving):
    serving.start()
    first = wait_for(serving.engine, why="no engine came up")
    os.kill(first, signal.SIGKILL)
    second = wait_for(lambda: serving.engine() not in (None, first) and serving.engine(), why="no engine came back")
    assert "ended with code -9" in serving.log.read_text()
    assert serving.all() >= {serving.process.pid, second}
    stop(serving, signal.SIGTERM)


def test_several_web_processes_share_one_port_and_go_with_their_killed_parent(serving):
    serving.start("--workers", "3")
    helpers = wait_for(lambda: len(serving.helpers()) == 2 and serving.helpers(), why="too few came up")
    os.kill(serving.process.pid, signal.SIGSTOP)  # so that only the helpers can answer
    try:
        wait_for(serving.health, why="no helper answered")
    finally:
        os.kill(serving.process.pid, signal.SIGCONT)
    os.kill(min(helpers), signal.SIGKILL)
    wait_for(lambda: len(serving.helpers() - helpers) == 1, why="the killed one did not come back")
    assert "web process" in serving.log.read_text()
    wait_for(serving.engine, why="no engine came up")
    serving.process.kill()
    serving.process.wait()
    wait_for(lambda: not serving.all(), why="a helper or the engine outlived its parent")
