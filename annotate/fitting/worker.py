"""A worker process: claims fits, then other jobs, has them worked on, and renews its leases from a second thread.

What works on numbers runs in processes of their own; this one imports neither numpy nor scipy (jobs/queues.py).
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils import timezone

from annotate.core.clocks import ClockWatch
from annotate.core.database_outages import log_database_error
from annotate.fitting import scheduling
from annotate.fitting.future_rows import clip_future_rows
from annotate.fitting.job_process import run_apart
from annotate.fitting.job_runner import JobRunner, Outcome, Task, WorkerJobs
from annotate.fitting.lanes import Lanes
from annotate.jobs.queues import JobQueue, load_work
from annotate.lti.scores import send_until
from annotate.webhooks.delivery import deliver_until
from annotate.webhooks.http_client import MAX_SECONDS

logger = logging.getLogger("annotate.worker")
IDLE_SECONDS = 2.0  # between two looks for idle jobs
SHARE_SECONDS = 10.0  # between two looks for idle jobs that have waited too long
CLIP_SECONDS = 60.0  # between two looks for moments in the future
CLEAN_UP_SECONDS = 24 * 3600.0


class Worker:
    """One worker process; it keeps its claims and its own row fresh from a second thread.

    create_jobs: jobs run in processes of their own, which make theirs by it; None: in this one.
    """

    def __init__(self, name: str, jobs: WorkerJobs, create_jobs: Callable[[], WorkerJobs] | None = None) -> None:
        self.name, self.jobs = name, jobs
        # Two processes of one name never take each other's claims for their own.
        self.owner = f"{name}#{secrets.token_hex(4)}"
        self.stopping = threading.Event()
        self.started_at = timezone.now()
        self.runner = JobRunner(jobs, self.stopping.is_set)
        self.lanes = Lanes(jobs, create_jobs, self.stopping) if create_jobs else None
        self.clock = ClockWatch()
        self.n_published = 0
        self._steady_from = self._looked_at = 0.0
        self._shared_at: float | None = None
        self._cleaned_at: float | None = None
        self._clipped_at: float | None = None

    def run(self, *, poll: float, once: bool) -> int:
        """Works until told to stop or, once, until nothing is due; returns how many fits were published."""
        heartbeat = threading.Thread(target=self.send_heartbeats, name="heartbeat", daemon=True)
        webhooks = threading.Thread(target=deliver_until, args=[self.stopping], name="webhooks", daemon=True)
        grades = threading.Thread(target=send_until, args=[self.stopping], name="grades", daemon=True)
        self.record_heartbeat()
        heartbeat.start()
        if not once:
            webhooks.start()
            grades.start()
        try:
            self._work_until_stopped(poll=poll, once=once)
            return self.n_published + (self.lanes.n_published if self.lanes else 0)
        finally:
            self.stopping.set()
            if self.lanes:
                self.lanes.stop()
            heartbeat.join()
            for courier in (webhooks, grades):
                if courier.ident:
                    courier.join(timeout=MAX_SECONDS)
            scheduling.remove_worker(self.name)

    def _work_until_stopped(self, *, poll: float, once: bool) -> None:
        while not self.stopping.is_set():
            self.watch_clock()
            if not once:
                self.run_overdue_job()
                for queue in self.jobs.first:
                    self.run_job(queue)
            fitted = self.run_fit(pause=timedelta(0) if once else scheduling.MIN_PAUSE)
            worked = self.run_job(self.jobs.alternating)
            if fitted is None and not worked and not any(self.run_job(queue) for queue in self.jobs.requested):
                if once and not self.tasks():
                    break
                if once or not self.run_idle_job():
                    self._wait(poll)

    def tasks(self) -> list[Task]:
        """Return what is being worked on."""
        return self.lanes.tasks() if self.lanes else [self.runner.task] if self.runner.task else []

    def _wait(self, seconds: float) -> None:
        try:
            if self.lanes:
                self.lanes.wait(seconds)
            else:
                self.stopping.wait(seconds)
        except DatabaseError as error:
            self._wait_for_database(error)

    def run_fit(self, *, pause: timedelta) -> bool | None:
        """Run one fit and tell whether it was published; None where nothing was due or the database failed."""
        try:
            claim = scheduling.claim_next(
                owner=self.owner,
                now=timezone.now(),
                pause=pause,
                exclude=self.lanes.excluded_projects() if self.lanes else (),
                take_over=self.is_steady(),
            )
            return self._perform(Task(claim=claim)) if claim else None
        except DatabaseError as error:
            self._wait_for_database(error)
            return None

    def run_overdue_job(self) -> bool:
        """Run one idle job that has waited too long, ahead of fits, if it is time to look for one."""
        if self._shared_at is not None and time.monotonic() - self._shared_at < SHARE_SECONDS:
            return False
        self._shared_at = time.monotonic()
        return any(self.run_job(queue, queue.claim_overdue) for queue in self.jobs.idle)

    def run_job(self, queue: JobQueue, claim: Callable[..., Any] | None = None) -> bool:
        """Run one job of the queue and tell whether there was one, whatever its result."""
        number = self.jobs.queues.index(queue)
        if not self.is_steady() or (self.lanes and self.lanes.is_occupied(number)):
            return False
        try:
            row: Any = (claim or queue.claim_next)(owner=self.owner, now=timezone.now())
            if row is not None:
                self._perform(Task(queue=number, row=row))
            return row is not None
        except DatabaseError as error:
            self._wait_for_database(error)
            return False

    def _perform(self, task: Task) -> bool:
        if self.lanes is None:
            outcome: Outcome = self.runner.run(task)
            self.n_published += outcome.published
            return outcome.published
        before = self.lanes.n_published
        self.lanes.run(task)
        if self.lanes.database_failed:
            self.lanes.database_failed = False
            self.stopping.wait(1)
        return self.lanes.n_published > before

    def _wait_for_database(self, error: DatabaseError) -> None:
        log_database_error(error, logger, "trying again in a second")
        connections.close_all()
        self.stopping.wait(1)

    def run_idle_job(self) -> bool:
        """Run one idle job, if it is time to look for one; tell whether there was one."""
        if time.monotonic() - self._looked_at < IDLE_SECONDS:
            return False
        self._looked_at = time.monotonic()
        self.clean_up_daily()
        return any(self.run_job(queue) for queue in self.jobs.idle)

    def clean_up_daily(self) -> None:
        if self._cleaned_at is not None and time.monotonic() - self._cleaned_at < CLEAN_UP_SECONDS:
            return
        self._cleaned_at = time.monotonic()
        try:
            if self.lanes:
                run_apart(self.jobs.clean_up, timezone.now())
            else:
                load_work(self.jobs.clean_up)(timezone.now())
        except Exception:  # it must not end the worker, which tries again tomorrow
            logger.exception("The daily cleanup failed.")
            connections.close_all()

    def is_steady(self) -> bool:
        """Tells whether the clock has not jumped lately: just after, leases of the living seem to have run out."""
        return time.monotonic() >= self._steady_from

    def watch_clock(self) -> None:
        """After a jump of the clock renews the leases, and brings moments in the future back; also once a minute."""
        jump = self.clock.jump()
        if jump:
            logger.warning("The clock jumped by %+.0f s. Leases of others are taken over again in a moment.", jump)
            self._steady_from = time.monotonic() + settings.WORKER_LEASE_SECONDS / 2
        elif self._clipped_at is not None and time.monotonic() - self._clipped_at < CLIP_SECONDS:
            return
        self._clipped_at = time.monotonic()
        try:
            if jump:
                self.renew_leases()
            clip_future_rows(timezone.now())
        except DatabaseError as error:
            self._wait_for_database(error)

    def send_heartbeats(self) -> None:
        """Renews the claims and the process's row, also while one step of a fit takes longer than a lease."""
        try:
            while not self.stopping.wait(max(0.5, settings.WORKER_LEASE_SECONDS / 4)):
                try:
                    self.renew_leases()
                except DatabaseError as error:
                    log_database_error(error, logger, "the heartbeat is tried again")
                    connections.close_all()
        finally:
            connections.close_all()

    def renew_leases(self) -> None:
        tasks = self.tasks()
        project_id = next((task.project_id for task in tasks if task.claim), None)
        self.record_heartbeat(project_id)
        for task in tasks:
            task.renew(timezone.now())

    def record_heartbeat(self, project_id: Any = None) -> None:
        # A project deleted meanwhile leaves the row without one.
        scheduling.record_heartbeat(self.name, started_at=self.started_at, now=timezone.now(), project_id=project_id)
