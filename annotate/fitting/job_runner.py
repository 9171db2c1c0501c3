"""Runs claimed jobs in this process: a fit, or a row of a queue; says what came of them."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from annotate.core.database_outages import is_refusal
from annotate.core.stored_messages import render_message, store_error
from annotate.fitting import scheduling
from annotate.fitting.scheduling import Claim, NothingDue
from annotate.jobs.limits import LimitCrossed, named_error
from annotate.jobs.queues import IdleQueue, JobQueue, load_work
from annotate.models import Project
from annotate.models.leased_jobs import LeaseLost
from models_engine.errors import Cancelled, EngineError

logger = logging.getLogger("annotate.worker")
FIT = "annotate.fitting.run.run"  # the dotted name of what fits a claimed project
RENEW_SECONDS = 0.5  # between two records of how far a fit is


@dataclass(frozen=True)
class WorkerJobs:
    """What a worker does besides fits.

    alternating: takes turns with fits.   requested: when no fit is pending.   idle: when nothing else is to be done, or
    it has waited too long.
    clean_up: the dotted name of what is called once a day, with the time.   first: goes before all of these, since it
    is over in a moment.
    """

    alternating: JobQueue
    requested: tuple[JobQueue, ...]
    idle: tuple[IdleQueue, ...]
    clean_up: str
    first: tuple[JobQueue, ...] = ()

    @property
    def queues(self) -> tuple[JobQueue, ...]:
        return (self.alternating, *self.requested, *self.idle, *self.first)

    @property
    def work_names(self) -> tuple[str, ...]:
        """The dotted names of all that is done in processes for jobs."""
        return (FIT, self.clean_up, *(queue.run for queue in self.queues))


@dataclass(frozen=True)
class Task:
    """A claimed job, as it is handed to another process: a fit's claim, or a row with its queue's place."""

    claim: Claim | None = None
    queue: int = -1
    row: Any = None

    @property
    def project_id(self) -> UUID:
        return self.claim.project_id if self.claim else self.row.project_id

    def renew(self, now: datetime) -> bool:
        """Extend the lease; False where it is lost."""
        return scheduling.renew(self.claim, now=now) if self.claim else bool(self.row.renew(now=now))


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    crossed: the stored message of the limit that it crossed.   killed: its process ended by itself, with that message.
    with_server: because the fork server ended, which is no fault of the task.
    """

    published: bool = False
    crossed: str = ""
    killed: bool = False
    with_server: bool = False
    database_failed: bool = False
    resident_bytes: int = 0


class JobRunner:
    """Runs one task at a time and renews its lease while the work reports progress."""

    def __init__(self, jobs: WorkerJobs, should_stop: Callable[[], bool]) -> None:
        self.jobs, self.should_stop = jobs, should_stop
        self.task: Task | None = None
        self._renewed_at = 0.0

    def run(self, task: Task) -> Outcome:
        """Run the task and record its failure; a crossed limit is in the outcome. Raises DatabaseError."""
        self.task, self._renewed_at = task, time.monotonic()
        try:
            if task.claim:
                return Outcome(published=self._fit(task.claim))
            self._work(self.jobs.queues[task.queue], task.row)
            return Outcome()
        except LimitCrossed as error:
            return Outcome(crossed=str(error))
        finally:
            self.task = None

    def _work(self, queue: JobQueue, row: Any) -> None:
        try:
            queue.work(row, progress=self.report_job)
        except LeaseLost:
            logger.warning("The %s was taken over by another worker, or is gone.", row)
        except Cancelled:
            queue.release(row)
        except LimitCrossed:
            raise
        except EngineError as error:
            queue.record_failure(row, message=store_error(error), now=timezone.now())
        except Exception as error:
            raise_crossed_limit(error)
            raise_outage(error)
            if is_deleted(row.project_id):
                return
            logger.exception("The %s failed.", row)
            queue.record_failure(row, message=store_error(error), now=timezone.now())
        else:
            logger.info("Worked on the %s.", row)

    def report_job(self, step: int, total: int, objective: float) -> bool:
        """Renews the job's lease; False to give up: asked to stop, the lease is lost, or a fit is pending."""
        if self.should_stop() or self.task is None:
            return False
        if time.monotonic() - self._renewed_at < RENEW_SECONDS:
            return True
        self._renewed_at = time.monotonic()
        queue, row = self.jobs.queues[self.task.queue], self.task.row
        if queue.may_yield(row) and scheduling.claimable_projects(timezone.now()).exists():
            return False
        return bool(row.renew(now=timezone.now()))

    def _fit(self, claim: Claim) -> bool:
        try:
            fit = load_work(FIT)(claim, progress=self.report_fit)
        except LeaseLost:
            logger.warning("Project %s was taken over by another worker, or is gone.", claim.project_id)
        except Cancelled:
            scheduling.release(claim)
            logger.info("Released project %s.", claim.project_id)
        except NothingDue as reason:
            logger.info("Nothing to fit: %s", reason)
        except LimitCrossed:
            raise
        except EngineError as error:  # its message was written for the project's owner
            logger.warning("Fitting project %s failed: %s", claim.project_id, render_message(store_error(error)))
            scheduling.record_failure(claim, message=store_error(error), now=timezone.now())
        except Exception as error:
            raise_crossed_limit(error)
            raise_outage(error)
            if is_deleted(claim.project_id):
                return False
            logger.exception("Fitting project %s failed.", claim.project_id)
            scheduling.record_failure(claim, message=store_error(error), now=timezone.now())
        else:
            logger.info("%s of project %s: %d labels, %.2f s.", fit, claim.project_id, fit.n_labels, fit.seconds)
            return True
        return False

    def report_fit(self, step: int, total: int, objective: float) -> bool:
        """Record how far the fit is, twice a second at most; False to give up."""
        if self.should_stop() or self.task is None or self.task.claim is None:
            return False
        if time.monotonic() - self._renewed_at < RENEW_SECONDS:
            return True
        self._renewed_at = time.monotonic()
        note = {"step": step, "steps": total} if total else {}
        return scheduling.renew(self.task.claim, now=timezone.now(), **note)


def raise_crossed_limit(error: Exception) -> None:
    """Raise LimitCrossed in place of a MemoryError at the limit of this process."""
    named = named_error(error)
    if isinstance(named, LimitCrossed):
        raise named from error


def raise_outage(error: Exception) -> None:
    """Raise the error of a database that does not answer; one that refuses what a job writes is the job's failure."""
    if isinstance(error, DatabaseError) and not is_refusal(error):
        raise error


def is_deleted(project_id: UUID) -> bool:
    """Return whether the project is gone, with which whatever was worked on has no ground any more, and log that."""
    gone = not Project.objects.filter(pk=project_id).exists()
    if gone:
        logger.info("Project %s was deleted while a job of it was under way.", project_id)
    return gone
