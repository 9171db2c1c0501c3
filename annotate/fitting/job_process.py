"""One process that works on jobs one after another, started ready by a fork server and held to limits.

The worker holds the lease, watches the time and kills the process; a job that ends its process harms no other.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections

from annotate.core.child_processes import end_with_parent
from annotate.core.clocks import pause
from annotate.core.database_outages import log_database_error
from annotate.core.stored_messages import store_message
from annotate.fitting.job_runner import JobRunner, Outcome, Task, WorkerJobs
from annotate.jobs.leases import worker_died
from annotate.jobs.limits import KILLED, JobLimits, limited, resident_bytes
from annotate.jobs.queues import load_work

logger = logging.getLogger("annotate.worker")
CONTEXT = get_context("forkserver")
MAX_JOBS = 200
START_ATTEMPTS = 4
# A process that holds more afterwards is replaced, so that one large project does not keep the memory for good.
MAX_RESIDENT_BYTES = 400 * 2**20
STOP = "stop"
# What multiprocessing says of a process whose fork server has ended, and with it, whatever it was working on.
STATUS_LOST = 255
BACKGROUND_NICENESS = 10


class JobProcess:
    """The worker's side of a process; `task` is what it works on."""

    def __init__(self, create_jobs: Callable[[], WorkerJobs]) -> None:
        self.connection, theirs = CONTEXT.Pipe()
        watched, self.lifeline = CONTEXT.Pipe(duplex=False)
        self.process = CONTEXT.Process(target=serve_jobs, args=(theirs, watched, create_jobs), daemon=True)
        self.process.start()
        theirs.close()
        watched.close()
        self.task: Task | None = None
        self.limits = JobLimits(0, 0, 0)
        self.n_jobs, self.began_at = 0, 0.0
        self.asked_to_stop_at: float | None = None
        self.is_background = False

    def begin(self, task: Task, limits: JobLimits) -> None:
        self.task, self.limits, self.asked_to_stop_at = task, limits, None
        self.n_jobs += 1
        self.began_at = time.monotonic()
        try:
            self.connection.send((task, limits))
        except OSError:
            pass  # it has ended: outcome() says so

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_at

    def handles(self) -> list[Any]:
        """Return what is ready when there is an outcome."""
        return [self.connection, self.process.sentinel]

    def outcome(self) -> Outcome | None:
        """Return what came of the task; None while it is worked on. Kills the process when its time is over."""
        try:
            if self.connection.poll():
                return self.connection.recv()
        except (EOFError, OSError):
            return self._death()
        if not self.process.is_alive():
            return self._death()
        if self.seconds > self.limits.seconds:
            self.kill()
            return Outcome(crossed=self.limits.seconds_message())
        return None

    def _death(self) -> Outcome:
        self.process.join(1)
        if self.process.exitcode == STATUS_LOST:
            return Outcome(crossed=worker_died(f"{self.process.pid}"), killed=True, with_server=True)
        number = -(self.process.exitcode or 0)
        if number == signal.SIGXCPU:
            return Outcome(crossed=self.limits.cpu_message())
        name = f"{self.process.pid}"
        message = store_message(KILLED, number=number) if number > 0 else worker_died(name)
        return Outcome(crossed=message, killed=True)

    def ask_to_stop(self) -> None:
        if self.asked_to_stop_at is None:
            self.asked_to_stop_at = time.monotonic()
            try:
                self.connection.send(STOP)
            except OSError:
                pass  # it has ended

    def lower_priority(self) -> None:
        """Lets the job in front go before it, for good."""
        self.is_background = True
        try:
            os.setpriority(os.PRIO_PROCESS, self.process.pid or 0, BACKGROUND_NICENESS)
        except OSError:
            pass  # it has ended

    def is_reusable(self, outcome: Outcome) -> bool:
        if outcome.crossed or outcome.database_failed or self.is_background or self.asked_to_stop_at is not None:
            return False
        return self.n_jobs < MAX_JOBS and outcome.resident_bytes < MAX_RESIDENT_BYTES

    def end(self) -> None:
        """Lets the process end, which it does when nobody listens any more."""
        self.task = None
        self.connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join(5)


def start_job_process(create_jobs: Callable[[], WorkerJobs]) -> JobProcess:
    """Start a process; once more where the fork server ended in the middle, which the next start replaces.

    Raises EOFError or OSError.
    """
    for n in range(START_ATTEMPTS - 1):
        try:
            return JobProcess(create_jobs)
        except (EOFError, OSError) as error:
            logger.warning("The fork server did not start a process (%s); trying again.", type(error).__name__)
            pause(0.1 * 2**n)
    return JobProcess(create_jobs)


def serve_jobs(connection: Connection, lifeline: Connection, create_jobs: Callable[[], WorkerJobs]) -> None:
    """Works on every task that comes, until nobody is there to send one. Runs in the process itself.

    lifeline: closed at the other end when the worker has ended, even by kill -9.
    """
    prepare_process(lifeline)
    runner = JobRunner(create_jobs(), StopRequests(connection))
    try:
        while True:
            message = connection.recv()
            if message != STOP:
                connection.send(run_task(runner, *message))
    except (EOFError, OSError):
        pass
    finally:
        connections.close_all()


def run_apart(name: str, *arguments: Any) -> None:
    """Call the function of this dotted name in a process of its own and wait until it is done.

    Raises EOFError, OSError and, where it failed, ChildProcessError.
    """
    watched, lifeline = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=call_named, args=(watched, name, arguments), daemon=True)
    process.start()
    watched.close()
    process.join()
    lifeline.close()
    if process.exitcode:
        raise ChildProcessError(f"{name} ended with code {process.exitcode}.")


def call_named(lifeline: Connection, name: str, arguments: tuple[Any, ...]) -> None:
    """Call the function in this process. What it raises is logged, and ends the process with code 1."""
    prepare_process(lifeline)
    try:
        load_work(name)(*arguments)
    except Exception:
        logger.exception("%s failed.", name)
        sys.exit(1)
    finally:
        connections.close_all()


def prepare_process(lifeline: Connection) -> None:
    """Tie this process to the worker's life; the worker alone decides when it stops."""
    end_with_parent(os.getppid())  # the fork server
    threading.Thread(target=end_with_worker, args=[lifeline], name="worker watch", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    settings.DEBUG = False


def end_with_worker(lifeline: Connection) -> None:
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGKILL)


def run_task(runner: JobRunner, task: Task, limits: JobLimits) -> Outcome:
    try:
        with limited(limits):
            outcome = runner.run(task)
    except DatabaseError as error:
        log_database_error(error, logger, "the job is taken up again when its lease has run out")
        connections.close_all()
        outcome = Outcome(database_failed=True)
    values = {**vars(outcome), "resident_bytes": resident_bytes()}
    return Outcome(**values)


class StopRequests:
    """Tells whether the worker has asked this process to stop its task."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def __call__(self) -> bool:
        """Leaves the request where it is: the loop reads it after the task."""
        return self.connection.poll()
