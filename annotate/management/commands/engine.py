"""manage.py engine: fits every project whose labels have changed; does what was asked for, and what can wait."""

import logging
import os
import secrets
import signal
import socket
import threading
import time
from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any, Protocol

# One BLAS thread per process, before numpy is imported: two threads on a busy machine are many times slower than one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connections
from django.utils import timezone

from annotate import cohort_runs, evaluating, fitting, import_jobs, portraying, reconciler, recording, tidying
from annotate.delivering import keep_delivering
from annotate.fitting import Progress
from annotate.outgoing import AT_MOST
from annotate.reconciler import Claim, LostClaim
from annotate.stored_words import in_words
from models_engine.errors import Cancelled, EngineError

logger = logging.getLogger("annotate.engine")
NOTE_EVERY = 0.5  # seconds between two notes of how far a fit is
DAILY = 24 * 3600.0
IDLE_EVERY = 2.0  # seconds between two looks for work that can wait
POLITENESS = 5  # on a machine that is busy, whoever waits for a page goes before fits


class Task(Protocol):
    """What an engine does besides fits, each a module: claimed as a row with a lease, made, or given back."""

    def claim_next(self, *, owner: str, now: datetime) -> Any: ...
    def make(self, row: Any, *, progress: Progress) -> None: ...
    def renew(self, row: Any, *, now: datetime) -> bool: ...
    def give_back(self, row: Any) -> None: ...
    def record_failure(self, row: Any, *, message: str, now: datetime) -> None: ...


class Patient(Task, Protocol):
    """What also gives way to fits."""

    def gives_way(self, row: Any, *, now: datetime) -> bool: ...


ASKED_FOR: tuple[Task, ...] = (recording, cohort_runs)
CAN_WAIT: tuple[Patient, ...] = (portraying, evaluating)


class Engine:
    """One engine process: claims, fits, and keeps its claim and its own row fresh from a second thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        # Two processes of one name never take each other's word for their own.
        self.owner = f"{name}#{secrets.token_hex(4)}"
        self.stopping = threading.Event()
        self.started_at = timezone.now()
        self.claim: Claim | None = None
        self.task: tuple[Task, Any] | None = None
        self._noted = self._looked = 0.0
        self._tidied: float | None = None

    def run(self, *, poll: float, once: bool) -> int:
        """Fits until told to stop, or, once, until nothing is due; how many fits were published."""
        heart = threading.Thread(target=self.beat, name="heartbeat", daemon=True)
        courier = threading.Thread(target=keep_delivering, args=[self.stopping], name="webhooks", daemon=True)
        n_fits = 0
        self.sign_on()
        heart.start()
        if not once:
            courier.start()
        try:
            while not self.stopping.is_set():
                fitted = self.one_fit(rest=timedelta(0) if once else reconciler.REST)
                n_fits += bool(fitted)
                imported = self.one_task(import_jobs)  # a slice of it; fits and imports take turns
                if fitted is None and not imported and not any(self.one_task(task) for task in ASKED_FOR):
                    if once:
                        break
                    if not self.idle():
                        self.stopping.wait(poll)
        finally:
            self.stopping.set()
            heart.join()
            if courier.ident:
                courier.join(timeout=AT_MOST)
            self.sign_off()
        return n_fits

    def one_fit(self, *, rest: timedelta) -> bool | None:
        """Whether a fit was published; None where nothing was due or the database did not answer."""
        try:
            self.claim = reconciler.claim_next(owner=self.owner, now=timezone.now(), rest=rest)
            return self.fit(self.claim) if self.claim else None
        except DatabaseError:
            logger.exception("The database did not answer; trying again in a second.")
            connections.close_all()
            self.stopping.wait(1)
            return None
        finally:
            self.claim = None

    def one_task(self, task: Task) -> bool:
        """Whether something of the kind was claimed, whatever became of it."""
        try:
            row = task.claim_next(owner=self.owner, now=timezone.now())
            if row is not None:
                self.task = (task, row)
                self.work(task, row)
            return row is not None
        except DatabaseError:
            logger.exception("The database did not answer; trying again in a second.")
            connections.close_all()
            self.stopping.wait(1)
            return False
        finally:
            self.task = None

    def idle(self) -> bool:
        """Work that can wait for everything else, looked for now and then."""
        if time.monotonic() - self._looked < IDLE_EVERY:
            return False
        self._looked = time.monotonic()
        self.tidy_daily()
        return any(self.one_task(task) for task in CAN_WAIT)

    def tidy_daily(self) -> None:
        if self._tidied is not None and time.monotonic() - self._tidied < DAILY:
            return
        self._tidied = time.monotonic()
        try:
            tidying.tidy(timezone.now())
        except Exception:  # it must not end an engine; tomorrow is another day
            logger.exception("Tidying failed.")
            connections.close_all()

    def work(self, task: Task, row: Any) -> None:
        self._noted = time.monotonic()
        try:
            task.make(row, progress=self.task_progress)
        except LostClaim:
            logger.warning("The %s was taken over by another engine, or is gone.", row)
        except Cancelled:
            task.give_back(row)
        except DatabaseError:
            raise
        except EngineError as error:
            task.record_failure(row, message=str(error), now=timezone.now())
        except Exception as error:
            logger.exception("The %s failed.", row)
            task.record_failure(row, message=f"{type(error).__name__}: {error}", now=timezone.now())
        else:
            logger.info("Worked on the %s.", row)

    def task_progress(self, step: int, total: int, objective: float) -> bool:
        """False to give up: asked to stop, the row is another's or gone, or, of what can wait, a fit is due."""
        if self.stopping.is_set() or self.task is None:
            return False
        if time.monotonic() - self._noted < NOTE_EVERY:
            return True
        self._noted = time.monotonic()
        task, row = self.task
        if task in CAN_WAIT and task.gives_way(row, now=timezone.now()):
            return False
        return task.renew(row, now=timezone.now())

    def fit(self, claim: Claim) -> bool:
        self._noted = time.monotonic()
        try:
            fit = fitting.run(claim, progress=self.progress)
        except LostClaim:
            logger.warning("Project %s was taken over by another engine.", claim.project_id)
        except Cancelled:
            reconciler.give_back(claim)
            logger.info("Gave project %s back.", claim.project_id)
        except DatabaseError:
            raise
        except fitting.Resting as rest:
            logger.info("Nothing to fit: %s", rest)
        except EngineError as error:  # its message was written for the project's owner
            logger.warning("Fitting project %s failed: %s", claim.project_id, in_words(str(error)))
            reconciler.record_failure(claim, message=str(error), now=timezone.now())
        except Exception as error:
            logger.exception("Fitting project %s failed.", claim.project_id)
            reconciler.record_failure(claim, message=f"{type(error).__name__}: {error}", now=timezone.now())
        else:
            logger.info("%s of project %s: %d labels, %.2f s.", fit, claim.project_id, fit.n_labels, fit.seconds)
            return True
        return False

    def progress(self, step: int, total: int, objective: float) -> bool:
        """Notes how far the fit is, twice a second at most; False to give up."""
        if self.stopping.is_set() or self.claim is None:
            return False
        if time.monotonic() - self._noted < NOTE_EVERY:
            return True
        self._noted = time.monotonic()
        note = {"step": step, "steps": total} if total else {}
        return reconciler.renew(self.claim, now=timezone.now(), **note)

    def beat(self) -> None:
        """Renews the claim and the process's row, also while one step of a fit takes longer than a lease."""
        try:
            while not self.stopping.wait(max(0.5, settings.ENGINE_LEASE_SECONDS / 4)):
                try:
                    self.sign_on()
                    if claim := self.claim:
                        reconciler.renew(claim, now=timezone.now())
                    if held := self.task:
                        held[0].renew(held[1], now=timezone.now())
                except DatabaseError:
                    logger.exception("The heartbeat did not reach the database; trying again.")
                    connections.close_all()
        finally:
            connections.close_all()

    def sign_on(self) -> None:
        claim = self.claim
        project_id = claim.project_id if claim else None
        reconciler.heard_of(self.name, started_at=self.started_at, now=timezone.now(), project_id=project_id)

    def sign_off(self) -> None:
        reconciler.forget(self.name)


class Command(BaseCommand):
    help = (
        "Fits every project whose labels have changed, until told to stop. Several may run at once, on several hosts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="fit what is due, then end")
        parser.add_argument("--poll", type=float, default=0.2, help="seconds between two looks for work (0.2)")
        parser.add_argument("--name", help="what this process is called on the dashboard (host and process id)")

    def handle(self, *args: Any, **options: Any) -> None:
        settings.DEBUG = False  # with it, Django keeps every query; an engine shows no pages
        engine = Engine(options["name"] or f"{socket.gethostname()}:{os.getpid()}")
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: engine.stopping.set())
        if not options["once"] and hasattr(os, "nice"):
            os.nice(POLITENESS)
        reconciler.release_former(engine.name)
        n_fits = engine.run(poll=options["poll"], once=options["once"])
        if options["once"]:
            self.stdout.write(f"{n_fits} fit{'' if n_fits == 1 else 's'} published.")
