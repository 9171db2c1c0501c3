"""Fits that hang, take all memory or are killed: they fail alone, and other projects are fitted meanwhile."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from django.utils import timezone

from annotate.core.stored_messages import render_message
from annotate.fitting.job_process import CONTEXT, run_apart, start_job_process
from annotate.fitting.scheduling import retry_pause
from annotate.management.commands.worker import PRELOADED, create_jobs
from annotate.models import Event, WorkerProcess
from models_engine.models import Fit
from tests.load.database import ALIAS
from tests.load.servers import Process
from tests.site.fitting.test_worker_process import Site, database, site  # noqa: F401  (fixtures)
from tests.site.processes import command_of, wait_for

pytestmark = [pytest.mark.process, pytest.mark.slow]


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def job_processes(worker: int) -> list[int]:
    """What the fork server of the worker has started."""
    return [job for child in children(worker) for job in children(child)]


def end_with_jobs(worker: Process) -> int:
    """Kill the worker; how many processes ended with it."""
    jobs = job_processes(worker.child.pid)
    worker.kill()
    wait_for(lambda: not any(map(command_of, jobs)), 10, why="a job outlived its worker")
    return len(jobs)


def failed_fit(site: Site, project) -> Fit | None:  # noqa: F811
    return site.fits(project).filter(status=Fit.Status.FAILED).first()


@pytest.mark.embedded  # what claims and failures ask of the database: test_scheduling.py
def test_a_killed_fit_is_repeated_by_the_same_worker(site):  # noqa: F811
    """And where the server of its processes is killed, it is replaced and nobody is blamed."""
    project = site.project("Killed", "Slow")
    site.vote("Killed", 6)
    worker = site.slow_engine(2)
    wait_for(lambda: site.in_mid_fit(project), 60, why="no fit was under way")
    [job] = job_processes(worker.child.pid)
    os.kill(job, signal.SIGKILL)
    fit = wait_for(lambda: site.published(project), 60, why="the fit was not repeated")
    assert (fit.number, fit.n_labels) == (2, 6)
    assert worker.child.poll() is None
    assert "killed (signal 9)" in render_message(failed_fit(site, project).message)

    events = Event.objects.using(ALIAS).filter(verb="job stopped")
    wait_for(events.exists, 20, "the log does not tell of the killed fit")
    other = site.project("Server")
    site.vote("Server", 2)
    wait_for(lambda: site.published(other), 60, "the first fit of the other project did not come")
    wait_for(lambda: len(job_processes(worker.child.pid)) == 1, 20, "no process was kept for the next fit")
    [job] = job_processes(worker.child.pid)
    [server] = [one for one in children(worker.child.pid) if job in children(one)]
    os.kill(server, signal.SIGKILL)
    wait_for(lambda: not command_of(job), 10, why="its process outlived it")
    site.vote("Server", 2, seed=2)
    assert wait_for(lambda: site.published(other), 60, "the second fit did not come").n_labels == 4
    assert not failed_fit(site, other)
    assert events.count() == 1


LIMITS = {
    "Dying": "killed (signal 9)",
    "Greedy": "more than 200 MB of memory, the limit",
    "Spinning": "after 1 seconds of computing, the limit",
}


def check_crossed(site: Site, project, message: str, seconds: float = 110) -> None:  # noqa: F811
    """The project's state, its failed fit and the log tell of the limit that its fit has crossed."""
    wait_for(lambda: site.state(project).error, seconds, f"the failure was not recorded: {message}")
    state = site.state(project)
    assert message in render_message(state.error)
    assert state.not_before > timezone.now() - timezone.timedelta(seconds=10)
    assert render_message(failed_fit(site, project).message) == render_message(state.error)
    events = Event.objects.using(ALIAS).filter(project=project, verb="job stopped")
    event = wait_for(events.first, 20, f"the log does not tell of it: {message}")  # written after the state
    assert json.loads(event.details["message"]) == json.loads(state.error)


@pytest.mark.embedded  # limits and places go by the clock and the operating system, not by the database
def test_fits_that_cross_a_limit_fail_alone_and_say_so(site):  # noqa: F811
    """How one that hangs ends: test_a_fit_that_turns_out_long_..."""
    site.env |= {"WORKER_JOB_SECONDS": "120", "WORKER_JOB_CPU_SECONDS": "1", "WORKER_JOB_MEMORY_MB": "200"}
    bad, good = {name: site.project(f"A {name}", name) for name in LIMITS}, site.project("A good one")
    site.vote("A ", 4)
    worker = site.slow_engine(1)
    assert wait_for(lambda: site.published(good), 60, "the good project was not fitted").n_labels == 4
    for name, message in LIMITS.items():
        check_crossed(site, bad[name], message)
    assert worker.child.poll() is None
    assert WorkerProcess.objects.using(ALIAS).count() == 1


@pytest.mark.embedded  # what claims and failures ask of the database: test_scheduling.py
def test_two_engines_try_it_no_more_often_than_one(site):  # noqa: F811
    """What killed a fit of one engine waits for the other one as well. No lease ends: who takes over tries at once."""
    site.env |= {"WORKER_JOB_SECONDS": "120", "WORKER_LEASE_SECONDS": "60"}
    bad, good = site.project("A bad one", "Dying"), site.project("A good one")
    site.vote("A ", 4)
    for n in range(2):
        site.slow_engine(1, "--name", f"engine-{n}")
    wait_for(lambda: site.published(good), 60, "the good project was not fitted")
    tries = site.fits(bad).filter(status=Fit.Status.FAILED).order_by("number")
    wait_for(lambda: tries.count() >= 3, 110, "it was not tried again")
    for attempt, (one, two) in enumerate(pairwise(tries.all()), 1):
        assert two.started_at - one.finished_at >= retry_pause(attempt)


@pytest.mark.embedded  # limits and places go by the clock and the operating system, not by the database
def test_while_a_fit_hangs_others_are_fitted_at_once(site):  # noqa: F811
    """Those of some seconds as well. And with a killed worker even the process ends that never looks up."""
    hanging, healthy = site.project("Hanging", "Hanging"), site.project("Healthy")
    slow = site.project("Slow", "Slow")
    site.vote("Hanging", 4)
    worker = site.slow_engine(3)
    wait_for(lambda: site.fits(hanging).exists(), 60, "no fit was under way")
    for n in range(1, 4):
        site.vote("Healthy", 2, seed=n)
        fit = wait_for(lambda: site.published(healthy), 20, "it waited for the one that hangs")
        assert fit.n_labels == 2 * n
    for n in range(1, 3):
        site.vote("Slow", 2, seed=n)
        assert wait_for(lambda: site.published(slow), 60, "it waited for the one that hangs").n_labels == 2 * n
    assert site.state(hanging).owner
    assert end_with_jobs(worker) > 0


@pytest.mark.embedded  # places go by the clock and by what the worker remembers, not by the database
def test_of_three_long_fits_one_waits_and_none_holds_up_the_others(site):  # noqa: F811
    long = [site.project(f"Long {n}", "Slow") for n in range(3)]
    site.vote("Long", 4)
    site.slow_engine(8)
    wait_for(lambda: all(site.fits(one).exists() for one in long), 60, "the third did not have its turn")
    healthy = site.project("Healthy")
    site.vote("Healthy", 2)
    wait_for(lambda: site.published(healthy), 20, "it waited for the long ones")
    for project in long:
        wait_for(lambda project=project: site.published(project), 60, "a long fit never came to its end")
        assert not failed_fit(site, project)


@pytest.mark.embedded  # places go by the clock and by what the worker remembers, not by the database
def test_a_fit_that_turns_out_long_gives_the_short_ones_their_place_and_waits(site):  # noqa: F811
    site.env |= {"SHORT_FIT_SECONDS": "4", "WORKER_JOB_SECONDS": "40"}
    hanging, long = site.project("Hanging", "Hanging"), site.project("Long", "Slow")
    site.vote("Hanging", 4)
    worker = site.slow_engine(7)
    wait_for(lambda: site.fits(hanging).exists(), 60, "no fit was under way")
    site.vote("Long", 4)
    wait_for(lambda: site.in_mid_fit(long), 30, "the long fit never began")
    wait_for(lambda: not site.state(long).owner, 30, "the long fit kept the place of the short ones")
    check_crossed(site, hanging, "after 40 seconds, the limit")
    wait_for(lambda: site.published(long), 110, "it had no turn after the limit ended the one that hangs")
    assert not failed_fit(site, long)
    end_with_jobs(worker)  # told to stop, it would give the one that hangs five seconds


def own_fork_servers() -> list[int]:
    return [pid for pid in children(os.getpid()) if "forkserver" in command_of(pid)]


def end_fork_servers() -> None:
    """End those of other tests, in another environment."""
    for earlier in own_fork_servers():
        os.kill(earlier, signal.SIGKILL)
        os.waitid(os.P_PID, earlier, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def worker_fork_server(monkeypatch) -> Iterator[None]:
    """Whatever process is started comes from a fork server as a worker has it."""
    monkeypatch.setenv("DEBUG", "true")
    end_fork_servers()
    CONTEXT.set_forkserver_preload(PRELOADED)
    yield
    CONTEXT.set_forkserver_preload([])
    end_fork_servers()


@pytest.mark.embedded
def test_a_fork_server_killed_while_it_starts_a_process_is_replaced(monkeypatch):
    """The worker went down with it: whoever asked a server for a process got EOFError."""
    monkeypatch.setenv("DEBUG", "true")  # the server's processes read the settings, and know of no test
    end_fork_servers()
    first = start_job_process(create_jobs)
    [server] = own_fork_servers()
    os.kill(server, signal.SIGSTOP)
    killed = threading.Timer(0.3, os.kill, [server, signal.SIGKILL])
    killed.start()
    second = start_job_process(create_jobs)
    try:
        assert not first.process.is_alive()
        assert second.process.is_alive()
    finally:
        killed.join()
        second.kill()


@pytest.mark.embedded
@pytest.mark.usefixtures("worker_fork_server")
def test_what_fails_in_a_process_of_its_own_says_so():
    run_apart("operator.truediv", 1, 2)
    with pytest.raises(ChildProcessError, match=r"operator\.truediv ended with code 1"):
        run_apart("operator.truediv", 1, 0)
