"""The engine as a real process: killed in mid-fit, asked to stop, several at once; on the database the tests run on."""

import signal
import subprocess
import sys
from itertools import pairwise

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotate.core.stored_messages import render_message
from annotate.models import Label, LabelForecast, WorkerProcess
from models_engine.models import Estimate, Fit
from tests.load.database import ALIAS, own_database
from tests.load.servers import Process, engine
from tests.paths import ROOT
from tests.site.processes import wait_for
from tests.site.worker_site import Site, emptied

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def database(tmp_path_factory, django_db_blocker):
    folder = tmp_path_factory.mktemp("engines")
    with django_db_blocker.unblock(), own_database(folder) as url:
        yield url, folder


@pytest.fixture
def site(database):
    with emptied(Site(*database)) as site:
        yield site


def test_an_engine_killed_in_mid_fit_loses_nothing_and_the_fit_resumes_by_itself(site):
    project = site.project("Killed", "Slow")
    site.vote("Killed", 10)
    first = site.slow_engine(30)
    wait_for(lambda: site.in_mid_fit(project), why="no fit was under way")
    first.kill()
    site.vote("Killed", 5, seed=2)  # voting works on without an engine
    state = site.state(project)
    assert (state.owner != "", state.fitted) == (True, 0), "the dead engine's claim stands until its lease is over"
    site.slow_engine(0.2)
    fit = wait_for(lambda: site.published(project), why="the fit did not resume")
    assert (fit.number, fit.n_labels) == (2, 15)
    killed = site.fits(project).first()
    assert killed.status == Fit.Status.FAILED
    assert "stopped before it had finished" in render_message(killed.message)
    state = site.state(project)
    assert (state.owner, state.error, state.attempts) == ("", "", 0)


@pytest.mark.embedded  # what claims and settling ask of the database: test_scheduling.py
def test_an_engine_with_its_predecessors_name_need_not_wait_for_the_lease(site):
    site.env["WORKER_LEASE_SECONDS"] = "3600"
    project = site.project("Named", "Slow")
    site.vote("Named", 4)
    first = site.slow_engine(30, "--name", "engine-1")
    wait_for(lambda: site.in_mid_fit(project), why="no fit was under way")
    first.kill()
    site.slow_engine(0.2, "--name", "engine-1")
    assert wait_for(lambda: site.published(project), why="the fit did not resume").n_labels == 4


@pytest.mark.embedded  # what claims and settling ask of the database: test_scheduling.py
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_engine_asked_to_stop_gives_its_project_back(site, number):
    project = site.project("Stopped", "Slow")
    site.vote("Stopped", 4)
    process = site.slow_engine(60)
    wait_for(lambda: site.in_mid_fit(project), why="no fit was under way")
    assert WorkerProcess.objects.using(ALIAS).count() == 1
    process.child.send_signal(number)
    assert process.child.wait(60) == 0
    state = site.state(project)
    assert (state.owner, state.attempts, state.error) == ("", 0, "")
    assert not site.fits(project).exists()
    assert not WorkerProcess.objects.using(ALIAS).exists()


@pytest.mark.embedded  # what claims and settling ask of the database: test_scheduling.py
def test_a_failing_project_is_recorded_and_the_others_go_on(site):
    bad, good = site.project("A bad one", "Tarot"), site.project("A good one")
    site.vote("A ", 4)
    site.start(engine(site.env, site.folder))
    assert wait_for(lambda: site.published(good), why="the good project was not fitted").n_labels == 4
    state = wait_for(lambda: site.state(bad).error and site.state(bad), why="the failure was not recorded")
    assert "Tarot" in state.error
    assert state.not_before > timezone.now() - timezone.timedelta(seconds=10)
    assert (state.fitted, state.published_fit, state.owner) == (0, None, "")


@pytest.mark.embedded  # what claims and settling ask of the database: test_scheduling.py
def test_once_fits_what_is_due_and_ends(site):
    projects = [site.project(f"Once {number}") for number in range(3)]
    site.vote("Once", 6)
    command = [sys.executable, "manage.py", "worker", "--once"]
    done = subprocess.run(command, cwd=ROOT, env=site.env, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "3 fits published."
    assert all(site.published(project).n_labels == 6 for project in projects)
    again = subprocess.run(command, cwd=ROOT, env=site.env, check=True, capture_output=True, text=True)
    assert again.stdout.strip() == "0 fits published."


WORKER_THAT_NAMES_ITS_MODULES = """
import sys, django
django.setup()
from django.core.management import call_command
call_command("worker")
print(*sorted(sys.modules))
"""


@pytest.mark.embedded  # what is imported depends on no database
def test_the_process_that_claims_never_imports_what_works_on_numbers(site):
    """It takes .7 CPU seconds and 75 MB, which only the processes for jobs need."""
    project = site.project("Numbers")
    site.vote("Numbers", 6)
    long_ago = timezone.now() - timezone.timedelta(days=9)
    Session.objects.using(ALIAS).create(session_key="expired", session_data="", expire_date=long_ago)
    log = site.folder / "modules.log"
    worker = site.start(Process([sys.executable, "-c", WORKER_THAT_NAMES_ITS_MODULES], site.env, log))
    wait_for(lambda: site.published(project), why="it was not fitted")
    wait_for(LabelForecast.objects.using(ALIAS).exclude(as_of=None).exists, why="it has no forecast")
    wait_for(lambda: not Session.objects.using(ALIAS).exists(), why="the daily cleanup was not done")
    worker.child.terminate()
    assert worker.child.wait(60) == 0
    loaded = log.read_text().split()
    assert "annotate.fitting.lanes" in loaded
    numbers = ("numpy", "scipy", "annotate.fitting.run", "models_engine.estimators", "models_engine.analysis")
    assert [name for name in loaded if name.startswith(numbers)] == []


def test_several_engines_share_the_work_without_fitting_twice(site):
    projects = [site.project(f"Shared {number}", "Slow") for number in range(3)]
    for process in range(2):
        site.slow_engine(0.3, "--name", f"engine-{process}")
    for seed in range(2):
        site.vote("Shared", 6, seed=seed)
    for project in projects:
        fit = wait_for(lambda project=project: site.published(project), 60, "not every label was fitted")
        assert fit.n_labels == 12
        # An engine that a busy machine stopped for longer than its lease deletes its fit, whose number is missing then.
        wait_for(lambda project=project: not site.is_storing(project), 60, "a fit is never done")
        fits = list(site.fits(project))
        numbers = [fit.number for fit in fits]
        assert numbers == sorted(set(numbers))
        assert {fit.status for fit in fits} == {Fit.Status.DONE}
        versions = [fit.data_version for fit in fits]
        assert versions == sorted(set(versions)), "one state of the labels was fitted twice"
        assert all(one.finished_at <= two.started_at for one, two in pairwise(fits)), "two fits ran at once"
        assert Estimate.objects.using(ALIAS).filter(fit=fit).count() == 12
    assert Label.objects.using(ALIAS).count() == 36
