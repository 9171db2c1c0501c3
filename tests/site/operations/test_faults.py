"""`python -m tests.faults`: what its columns count, and that a run on this machine prints them."""

import subprocess
import sys
import time

import pytest

from annotate.models import Label, Presentation
from tests.conftest import answer_one, make_annotator
from tests.faults.crowd import Crowd
from tests.faults.faults import FAULTS
from tests.faults.scene import Scene
from tests.faults.soak import show
from tests.load import database
from tests.paths import ROOT


@pytest.fixture
def scene(project, monkeypatch):
    monkeypatch.setattr("tests.faults.scene.ALIAS", "default")
    return Scene("", ROOT, ROOT, "no disk", "no cluster", "no Redis")


def test_what_is_lost_and_what_is_doubled_is_counted(scene, project):
    labels = [answer_one(make_annotator(project, f"Otter {i}"), seed=i) for i in range(2)]
    crowd = Crowd(1, project.join_token, 0)
    crowd.acknowledged = dict.fromkeys([one.presentation.token for one in labels] + ["lost"], 0.0)
    assert scene.count(project, crowd) == (2, 0)
    project.overlap = 1
    Presentation.objects.update(item_set=labels[0].presentation.item_set)
    assert scene.count(project, crowd) == (2, 1)
    Label.objects.all().delete()
    assert scene.count(project, crowd)[0] == 0


def test_silence_is_the_longest_time_without_an_acknowledged_answer():
    crowd = Crowd(1, "x", 2)
    crowd.began, crowd.acknowledged = 10.0, {"a": 11.0, "b": 16.5, "c": 12.0}
    assert crowd.longest_silence() == 4.5
    crowd.last = {0: 11.0}
    assert not crowd.all_answered_since(10.0), "one of the two has not been answered at all"
    crowd.last[1] = time.monotonic()
    assert crowd.all_answered_since(10.0)
    assert not crowd.all_answered_since(12.0)


def test_a_fault_that_this_machine_does_not_allow_says_why(scene):
    refused = {fault.name: fault.refuses(scene) for fault in FAULTS}
    assert refused["disk full"] == "no disk"
    assert refused["Redis killed"] == "no Redis"
    assert refused["kill -9 of the engine"] == ""


def test_a_soak_compares_the_first_tenth_with_the_last(scene, capsys):
    show(scene, [{"engine": float(mb)} for mb in range(100, 200)])
    assert "| engine | 104 | 194 | 199 |" in capsys.readouterr().out


@pytest.mark.process
@pytest.mark.large
@pytest.mark.embedded
def test_a_run_prints_a_line_of_each_fault():
    """The site killed: nothing acknowledged is lost or doubled, and service comes back.

    What PostgreSQL does then: tests/site/labelling/test_concurrent_answers.py.
    """
    env = database.environment("", ROOT)
    del env["DATABASE_URL"], env["MEDIA_ROOT"]
    command = [sys.executable, "-m", "tests.faults", "--database", "sqlite", "--annotators", "3", "--only", "of site"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if "kill -9 of site" in line)
    found, acknowledged, stored, doubled = (cell.strip() for cell in line.split("|")[2:6])
    assert (found, acknowledged == stored, doubled) == ("sqlite", True, "0")
    assert int(acknowledged) > 10
