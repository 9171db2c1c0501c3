"""A worker process: claims and runs fits, then other jobs, and renews its leases from a second thread."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils import timezone

from annotate.core.stored_messages import render_message
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.scheduling import Claim
from annotate.jobs.queues import JobQueue
from annotate.models.leased_jobs import LeaseLost
from annotate.webhooks.delivery import deliver_until
from annotate.webhooks.http_client import MAX_SECONDS
from models_engine.errors import Cancelled, EngineError

logger = logging.getLogger("annotate.worker")
RENEW_SECONDS = 0.5  # between two records of how far a fit is
IDLE_SECONDS = 2.0  # between two looks for idle jobs
CLEAN_UP_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class WorkerJobs:
    """What a worker does besides fits.

    alternating: takes turns with fits.   requested: when no fit is pending.   idle: when nothing else is to be done.
    clean_up: called once a day.
    """

    alternating: JobQueue
    requested: tuple[JobQueue, ...]
    idle: tuple[JobQueue, ...]
    clean_up: Callable[[datetime], None]


class Worker:
    """One worker process; it keeps its claim and its own row fresh from a second thread."""

    def __init__(self, name: str, jobs: WorkerJobs) -> None:
        self.name, self.jobs = name, jobs
        # Two processes of one name never take each other's claims for their own.
        self.owner = f"{name}#{secrets.token_hex(4)}"
        self.stopping = threading.Event()
        self.started_at = timezone.now()
        self.claim: Claim | None = None
        self.job: tuple[JobQueue, Any] | None = None
        self._renewed_at = self._looked_at = 0.0
        self._cleaned_at: float | None = None

    def run(self, *, poll: float, once: bool) -> int:
        """Works until told to stop or, once, until nothing is due; returns how many fits were published."""
        heartbeat = threading.Thread(target=self.send_heartbeats, name="heartbeat", daemon=True)
        webhooks = threading.Thread(target=deliver_until, args=[self.stopping], name="webhooks", daemon=True)
        self.record_heartbeat()
        heartbeat.start()
        if not once:
            webhooks.start()
        try:
            return self._work_until_stopped(poll=poll, once=once)
        finally:
            self.stopping.set()
            heartbeat.join()
            if webhooks.ident:
                webhooks.join(timeout=MAX_SECONDS)
            scheduling.remove_worker(self.name)

    def _work_until_stopped(self, *, poll: float, once: bool) -> int:
        n_fits = 0
        while not self.stopping.is_set():
            fitted = self.run_fit(pause=timedelta(0) if once else scheduling.MIN_PAUSE)
            n_fits += bool(fitted)
            worked = self.run_job(self.jobs.alternating)
            if fitted is None and not worked and not any(self.run_job(queue) for queue in self.jobs.requested):
                if once:
                    break
                if not self.run_idle_job():
                    self.stopping.wait(poll)
        return n_fits

    def run_fit(self, *, pause: timedelta) -> bool | None:
        """Runs one fit and tells whether it was published; None where nothing was due or the database failed."""
        try:
            self.claim = scheduling.claim_next(owner=self.owner, now=timezone.now(), pause=pause)
            return self._fit(self.claim) if self.claim else None
        except DatabaseError:
            self._wait_for_database()
            return None
        finally:
            self.claim = None

    def run_job(self, queue: JobQueue) -> bool:
        """Runs one job of the queue and tells whether there was one, whatever its result."""
        try:
            row = queue.claim_next(owner=self.owner, now=timezone.now())
            if row is not None:
                self.job = (queue, row)
                self._work(queue, row)
            return row is not None
        except DatabaseError:
            self._wait_for_database()
            return False
        finally:
            self.job = None

    def _wait_for_database(self) -> None:
        logger.exception("The database did not answer; trying again in a second.")
        connections.close_all()
        self.stopping.wait(1)

    def run_idle_job(self) -> bool:
        """Runs one idle job, if it is time to look for one; tells whether there was one."""
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
            self.jobs.clean_up(timezone.now())
        except Exception:  # it must not end the worker, which tries again tomorrow
            logger.exception("The daily cleanup failed.")
            connections.close_all()

    def _work(self, queue: JobQueue, row: Any) -> None:
        self._renewed_at = time.monotonic()
        try:
            queue.work(row, progress=self.report_job)
        except LeaseLost:
            logger.warning("The %s was taken over by another worker, or is gone.", row)
        except Cancelled:
            queue.release(row)
        except DatabaseError:
            raise
        except EngineError as error:
            queue.record_failure(row, message=str(error), now=timezone.now())
        except Exception as error:
            logger.exception("The %s failed.", row)
            queue.record_failure(row, message=f"{type(error).__name__}: {error}", now=timezone.now())
        else:
            logger.info("Worked on the %s.", row)

    def report_job(self, step: int, total: int, objective: float) -> bool:
        """Renews the job's lease; False to give up: asked to stop, the lease is lost, or a fit is pending."""
        if self.stopping.is_set() or self.job is None:
            return False
        if time.monotonic() - self._renewed_at < RENEW_SECONDS:
            return True
        self._renewed_at = time.monotonic()
        queue, row = self.job
        if queue.may_yield(row) and scheduling.claimable_projects(timezone.now()).exists():
            return False
        return bool(row.renew(now=timezone.now()))

    def _fit(self, claim: Claim) -> bool:
        self._renewed_at = time.monotonic()
        try:
            fit = fitting_run.run(claim, progress=self.report_fit)
        except LeaseLost:
            logger.warning("Project %s was taken over by another worker.", claim.project_id)
        except Cancelled:
            scheduling.release(claim)
            logger.info("Released project %s.", claim.project_id)
        except DatabaseError:
            raise
        except fitting_run.NothingDue as reason:
            logger.info("Nothing to fit: %s", reason)
        except EngineError as error:  # its message was written for the project's owner
            logger.warning("Fitting project %s failed: %s", claim.project_id, render_message(str(error)))
            scheduling.record_failure(claim, message=str(error), now=timezone.now())
        except Exception as error:
            logger.exception("Fitting project %s failed.", claim.project_id)
            scheduling.record_failure(claim, message=f"{type(error).__name__}: {error}", now=timezone.now())
        else:
            logger.info("%s of project %s: %d labels, %.2f s.", fit, claim.project_id, fit.n_labels, fit.seconds)
            return True
        return False

    def report_fit(self, step: int, total: int, objective: float) -> bool:
        """Records how far the fit is, twice a second at most; False to give up."""
        if self.stopping.is_set() or self.claim is None:
            return False
        if time.monotonic() - self._renewed_at < RENEW_SECONDS:
            return True
        self._renewed_at = time.monotonic()
        note = {"step": step, "steps": total} if total else {}
        return scheduling.renew(self.claim, now=timezone.now(), **note)

    def send_heartbeats(self) -> None:
        """Renews the claim and the process's row, also while one step of a fit takes longer than a lease."""
        try:
            while not self.stopping.wait(max(0.5, settings.WORKER_LEASE_SECONDS / 4)):
                try:
                    self.record_heartbeat()
                    if claim := self.claim:
                        scheduling.renew(claim, now=timezone.now())
                    if job := self.job:
                        job[1].renew(now=timezone.now())
                except DatabaseError:
                    logger.exception("The heartbeat did not reach the database; trying again.")
                    connections.close_all()
        finally:
            connections.close_all()

    def record_heartbeat(self) -> None:
        claim = self.claim
        project_id = claim.project_id if claim else None
        scheduling.record_heartbeat(self.name, started_at=self.started_at, now=timezone.now(), project_id=project_id)
