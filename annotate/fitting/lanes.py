"""The processes of one worker: one in front, and in the background those whose job takes long, one of each kind.

A job starts in front. After LONG_SECONDS it goes on in the background, at a lower priority, and others have their
turn; a fit for which no place is free there is released until one is. Fits have two places there: one without a limit,
and one for at most SHORT_FIT_SECONDS, so that a fit of some seconds need not wait for one of minutes.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from multiprocessing.connection import wait
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from annotate.core.stored_messages import render_message
from annotate.fitting import scheduling
from annotate.fitting.crossings import record_crossed_fit, record_crossed_job
from annotate.fitting.deletion import delete_fit
from annotate.fitting.job_process import JobProcess, start_job_process
from annotate.fitting.job_runner import Outcome, Task, WorkerJobs
from annotate.fitting.scheduling import Claim
from annotate.jobs.limits import job_limits
from models_engine.models import Fit

logger = logging.getLogger("annotate.worker")
LONG_SECONDS = 2.0
BRIEF_SECONDS = 0.5  # up to which a fit keeps the front from quick steps of the newest answers (provisional_job)
SHORT_FIT_SECONDS = 60.0
FITS, SHORT_FITS = -1, -2  # keys of the background's places for fits
LOOK_SECONDS = 0.2  # between two looks at the time that jobs take
STOP_SECONDS = 5.0  # after which a process that was asked to stop is killed


class Lanes:
    """Runs tasks in processes of their own and records those that end badly."""

    def __init__(self, jobs: WorkerJobs, create_jobs: Callable[[], WorkerJobs], stopping: threading.Event) -> None:
        self.jobs, self.create_jobs, self.stopping = jobs, create_jobs, stopping
        self.front: JobProcess | None = None
        self.background: dict[int, JobProcess] = {}  # by queue; fits are FITS and SHORT_FITS
        self.spare: JobProcess | None = None
        self.unhurried_projects: set[UUID] = set()  # whose last fit took more than BRIEF_SECONDS
        self.slow_projects: set[UUID] = set()  # and more than LONG_SECONDS
        self.long_projects: set[UUID] = set()  # and more than SHORT_FIT_SECONDS
        self.n_published = 0
        self.database_failed = False

    def busy(self) -> list[JobProcess]:
        return [*([self.front] if self.front else []), *list(self.background.values())]

    def tasks(self) -> list[Task]:
        return [process.task for process in self.busy() if process.task]

    def is_occupied(self, queue: int) -> bool:
        """Tells whether a long job of the queue is in the background."""
        return queue in self.background

    def excluded_projects(self) -> set[UUID]:
        """Return projects that are being fitted, and those whose fits have no place in the background."""
        fitted = {task.project_id for task in self.tasks() if task.claim}
        if not self.is_occupied(FITS):
            return fitted
        return fitted | self.long_projects | (self.slow_projects if self.is_occupied(SHORT_FITS) else set())

    def run(self, task: Task) -> None:
        """Works on the task until it is done or goes on in the background."""
        try:
            process = self.next_process()
        except (EOFError, OSError):  # the machine has no memory or no process left, say
            logger.exception("No process for jobs could be started; trying again in a second.")
            self.release(task)
            self.stopping.wait(1)
            return
        n_rows = 0 if task.claim else self.jobs.queues[task.queue].n_rows(task.row)
        process.begin(task, job_limits(task.project_id, n_rows))
        self.front = process
        if task.claim and task.project_id in self.slow_projects:
            self.make_room()
        elif task.claim and task.project_id in self.unhurried_projects and self.free_place(task) is not None:
            self.make_room()
        while self.front is process:
            self.wait(LOOK_SECONDS)
            if self.stopping.is_set():
                self.stop()
            elif self.front is process and process.seconds > LONG_SECONDS:
                self.make_room()

    def next_process(self) -> JobProcess:
        """Return a process that is ready; a new one where there is none, or it has ended meanwhile.

        Raises EOFError or OSError where none can be started.
        """
        spare, self.spare = self.spare, None
        if spare is not None and spare.process.is_alive():
            return spare
        return start_job_process(self.create_jobs)

    def make_room(self) -> None:
        """Send the job in front to the background; where that has no place for it, ask it to stop."""
        process = self.front
        if process is None or process.task is None:
            return
        if process.task.claim and process.seconds > LONG_SECONDS:
            self.slow_projects.add(process.task.project_id)
        place = self.free_place(process.task)
        if place is None:
            process.ask_to_stop()
            return
        process.lower_priority()
        self.background[place], self.front = process, None

    def free_place(self, task: Task) -> int | None:
        """Return the place in the background that the task may have; None where it is taken."""
        places = [task.queue]
        if task.claim:
            places = [FITS] if task.project_id in self.long_projects else [FITS, SHORT_FITS]
        return next((place for place in places if not self.is_occupied(place)), None)

    def end_short_turn(self) -> None:
        """Move a fit that is no short one to the other place, or ask it to stop until that is free."""
        process = self.background.get(SHORT_FITS)
        if process is None or process.task is None or process.seconds <= SHORT_FIT_SECONDS:
            return
        self.long_projects.add(process.task.project_id)
        if self.is_occupied(FITS):
            process.ask_to_stop()
        else:
            self.background[FITS] = self.background.pop(SHORT_FITS)

    def wait(self, seconds: float) -> None:
        """Wait so long at most, or until a job is done; record what came of every job that is."""
        if not self.busy():
            self.stopping.wait(seconds)
            return
        wait([handle for process in self.busy() for handle in process.handles()], min(seconds, LOOK_SECONDS))
        for process in self.busy():
            outcome = process.outcome()
            if outcome is not None:
                self.finish(process, outcome)
            elif process.asked_to_stop_at and time.monotonic() - process.asked_to_stop_at > STOP_SECONDS:
                process.kill()
                self.finish(process, Outcome(killed=True))
        self.end_short_turn()

    def finish(self, process: JobProcess, outcome: Outcome) -> None:
        """Take the process off its task and record what came of that."""
        task = process.task
        if task is None:
            return
        self.front = None if self.front is process else self.front
        self.background = {kind: one for kind, one in self.background.items() if one is not process}
        if task.claim and outcome.published:
            self.note_seconds(task.project_id, process.seconds)
        is_wanted = process.is_reusable(outcome) and self.spare is None
        process.task = None
        if is_wanted:
            self.spare = process
        else:
            process.end()
        self.n_published += outcome.published
        self.database_failed |= outcome.database_failed
        if outcome.killed and (process.asked_to_stop_at or self.stopping.is_set() or outcome.with_server):
            self.release(task)
        elif outcome.crossed:
            self.record_crossing(task, outcome, timezone.now())

    def note_seconds(self, project_id: UUID, seconds: float) -> None:
        """Remembers how long the project's fit took, which says where the next one has its place."""
        for projects, limit in (
            (self.unhurried_projects, BRIEF_SECONDS),
            (self.slow_projects, LONG_SECONDS),
            (self.long_projects, SHORT_FIT_SECONDS),
        ):
            (projects.add if seconds > limit else projects.discard)(project_id)

    def record_crossing(self, task: Task, outcome: Outcome, now: datetime) -> None:
        logger.warning("Project %s: a job was ended. %s", task.project_id, render_message(outcome.crossed))
        if task.claim:
            record_crossed_fit(task.claim, message=outcome.crossed, now=now)
        else:
            queue = self.jobs.queues[task.queue]
            record_crossed_job(queue, task.row, message=outcome.crossed, now=now, killed=outcome.killed)

    def release(self, task: Task) -> None:
        """Lets another worker have the task of a process that did not stop by itself."""
        if task.claim:
            release_fit(task.claim)
        else:
            self.jobs.queues[task.queue].release(task.row)

    def stop(self) -> None:
        """Asks every process to stop and waits until they have, or were killed."""
        for process in self.busy():
            process.ask_to_stop()
        while self.busy():
            try:
                self.wait(LOOK_SECONDS)
            except DatabaseError:
                logger.exception("The database did not answer; the lease of a job will run out instead.")
        if self.spare:
            self.spare.end()


def release_fit(claim: Claim) -> None:
    """Releases the project and deletes what the killed process left of its fit."""
    for fit in Fit.objects.filter(project_id=claim.project_id, status=Fit.Status.RUNNING).defer("arrays"):
        delete_fit(fit)
    scheduling.release(claim)
