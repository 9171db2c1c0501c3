"""The demo as a person starts it: it answers, its crowd goes on, its dashboard fills, and nothing is left of it."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from tests.load.servers import free_port
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.site.processes import command_of, wait_for, with_environment

pytestmark = [pytest.mark.process, pytest.mark.embedded]


class Demo:
    """`manage.py demo` in a folder of its own."""

    def __init__(self, folder) -> None:
        self.folder, self.port = folder, free_port()
        self.mark = f"DEMO_FOLDER={folder}"
        # As on a machine where another project's settings are lying about: the demo must not touch that database.
        self.other = folder / "precious.sqlite3"
        self.env = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")},
            "DEMO_FOLDER": str(folder),
            "DATABASE_URL": f"sqlite:///{self.other}",
            "SECRET_KEY": "somebody else's",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.log = folder / "demo.log"
        self.process: subprocess.Popen | None = None

    def start(self, *arguments: str, by_shell: bool = False) -> None:
        command = [sys.executable, "manage.py", "demo", "--port", str(self.port), *arguments]
        if by_shell:  # a shell that stays, as make does
            command = ["sh", "-c", '"$@"; true', "sh", *command]
        self.log.unlink(missing_ok=True)
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=out, stderr=out)
        wait_for(lambda: self.status("/healthz") == 200 or self.ended(), 300, "nothing answered")

    def ended(self) -> None:
        assert self.process.poll() is None, self.log.read_text()

    def status(self, path: str) -> int | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def rows(self, sql: str) -> list[tuple]:
        with closing(sqlite3.connect(self.folder / "db.sqlite3", timeout=20)) as connection:
            return connection.execute(sql).fetchall()

    def write(self, sql: str) -> None:
        with closing(sqlite3.connect(self.folder / "db.sqlite3", timeout=20)) as connection, connection:
            connection.execute(sql)

    def processes(self) -> set[int]:
        return with_environment(self.mark)


@pytest.fixture
def demo(tmp_path):
    demo = Demo(tmp_path)
    yield demo
    for pid in demo.processes():
        os.kill(pid, signal.SIGKILL)
    if demo.process:
        demo.process.wait()


def test_the_demo_answers_moves_and_ends_with_whoever_started_it(demo):
    """Its database is migrated: from nothing it starts in test_wheel.py::test_the_demo_runs_from_the_installed_site."""
    copy_migrated(demo.folder / "db.sqlite3")
    demo.start("--keep", by_shell=True)
    said = demo.log.read_text()
    assert "owner@example.org" in said
    links = re.findall(rf"join link +http://127\.0\.0\.1:{demo.port}(/join/[^/]+/)", said)
    assert len(links) == 6
    assert said.count("(answers are simulated)") == 6
    assert [demo.status(link) for link in links] == [200] * 6
    assert demo.status("/") == 200
    assert not demo.other.exists()

    kinds = sorted(command_of(pid).split()[-1] for pid in demo.processes())
    assert [kind for kind in kinds if kind in ("crowd", "worker")] == ["crowd", "worker"]
    n_labels = "SELECT count(*) FROM annotate_label"
    n_fits = "SELECT count(DISTINCT project_id) FROM models_engine_fit WHERE published"
    before = demo.rows(n_labels)[0][0]
    wait_for(lambda: demo.rows(n_labels)[0][0] > before + 3, why="the crowd did not go on")
    # Else each further answer would be fitted while the longest of the first fits goes on.
    demo.write("UPDATE annotate_project SET state = 'closed'")
    wait_for(lambda: demo.rows(n_fits)[0][0] == 6, 240, "the engine did not fit every project")
    sources = dict(demo.rows("SELECT source, count(*) FROM annotate_annotator GROUP BY source"))
    assert set(sources) == {"simulated", "link"}, "the jury's judges come by their personal links"
    assert "Warning" not in demo.log.read_text()

    demo.process.kill()
    demo.process.wait()
    wait_for(lambda: not demo.processes(), 60, "processes of the demo outlived their parent")


@pytest.fixture
def beers(demo, tmp_path) -> str:
    """A folder of real data, and a database that is migrated: that takes seconds, and is for another test."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "crowdrank.json").write_text(
        '{"name": "Beers", "question": "Which tastes better?", "estimator": "BradleyTerry",'
        ' "labels": {"file": "a.csv", "annotator": "who", "winner": "won", "loser": "lost"}}'
    )
    (data / "a.csv").write_text("who,won,lost\n" + "ann,x,y\nbob,y,z\nann,z,z\n")
    copy_migrated(demo.folder / "db.sqlite3")
    return str(data)


def test_real_data_from_a_folder_are_shown_and_kept_with_a_crowd_only_where_it_is_wanted(demo, beers):
    """Ended by Ctrl-C and by a signal, each time cleanly. One small project: filling the demo's own takes seconds."""
    demo.start("--keep", "--data", beers)
    said = demo.log.read_text()
    assert "“Beers”: 3 rows, 2 labels by 2 annotators on 3 items" in said
    assert "row 3: ann compares item “z” with itself." in said
    assert "simulated" not in said
    fits = "SELECT n_labels, n_items FROM models_engine_fit WHERE published"
    assert wait_for(lambda: demo.rows(fits), why="no fit") == [(2, 3)]
    assert not any("crowd" in command_of(pid) for pid in demo.processes())
    taken = subprocess.run(
        [sys.executable, "manage.py", "demo", "--port", str(free_port())],
        cwd=ROOT,
        env=demo.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert taken.returncode == 1
    assert "A demo is running" in taken.stderr
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(60) == 0
    wait_for(lambda: not demo.processes(), 60, "processes of the demo outlived it")  # its engine's helpers, a moment
    assert "Traceback" not in demo.log.read_text()

    # What --crowd does beside: test_demo_folders.py::test_a_crowd_is_marked_only_where_it_is_wanted.
    demo.write("UPDATE annotate_project SET simulated = 1")
    demo.start("--keep")
    n_labels = "SELECT count(*) FROM annotate_label"
    wait_for(lambda: demo.rows(n_labels)[0][0] > 4, why="the crowd did not go on from what was kept")
    of_people = "JOIN annotate_annotator a ON a.id = annotator_id WHERE a.source <> 'simulated'"
    assert demo.rows(f"{n_labels} {of_people}") == [(2,)]
    demo.process.send_signal(signal.SIGTERM)
    assert demo.process.wait(60) == 0
    wait_for(lambda: not demo.processes(), 60, "processes of the demo outlived it")
    assert "Traceback" not in demo.log.read_text()


def test_a_folder_that_is_none_is_told_before_anything_is_done(demo, tmp_path):
    command = [sys.executable, "manage.py", "demo", "--port", str(demo.port), "--data", str(tmp_path / "nowhere")]
    done = subprocess.run(command, cwd=ROOT, env=demo.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "is not a folder" in done.stderr
    assert not (demo.folder / "db.sqlite3").exists()
