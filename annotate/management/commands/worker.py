"""manage.py worker: fits every project whose labels have changed; runs requested jobs and idle jobs."""

import os
import signal
import socket
from argparse import ArgumentParser
from typing import Any

# One BLAS thread in each process for jobs, which take this over: two threads on a busy machine are many times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import BaseCommand

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.annotators.machines import queue as machines_queue
from annotate.annotators.tastes import queue as tastes_queue
from annotate.core.database_outages import require_database
from annotate.fitting import (
    evaluation_queue,
    forecast_queue,
    predictions_queue,
    provisional_queue,
    savings_queue,
    scheduling,
)
from annotate.fitting.job_process import CONTEXT
from annotate.fitting.job_runner import WorkerJobs
from annotate.fitting.worker import Worker
from annotate.imports import queue as imports_queue
from annotate.publishing.run_records import queue as run_records_queue

NICENESS = 5  # on a busy machine, web requests go before fits
REQUESTED_JOBS = (run_records_queue.QUEUE, cohorts_queue.QUEUE, machines_queue.QUEUE)
IDLE_JOBS = (
    forecast_queue.QUEUE,
    tastes_queue.QUEUE,
    evaluation_queue.QUEUE,
    savings_queue.QUEUE,
    predictions_queue.QUEUE,
)
CLEAN_UP = "annotate.operations.daily_cleanup.clean_up"

# Imported by the fork server, so that a process for jobs starts with all of the site there.
PRELOADED = ["annotate.management.job_server"]


def create_jobs() -> WorkerJobs:
    """Returns every kind of job of the site."""
    first = (provisional_queue.QUEUE,)
    return WorkerJobs(imports_queue.QUEUE, REQUESTED_JOBS, IDLE_JOBS, CLEAN_UP, first)


def create_worker(name: str, *, isolated: bool = False) -> Worker:
    """Creates a worker that knows every kind of job; isolated: jobs run in processes of their own."""
    return Worker(name, create_jobs(), create_jobs if isolated else None)


class Command(BaseCommand):
    help = (
        "Fits every project whose labels have changed, until told to stop. Several may run at once, on several hosts."
    )
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="fit what is due, then end")
        parser.add_argument("--poll", type=float, default=0.2, help="seconds between checks for work (0.2)")
        parser.add_argument("--name", help="what this process is called on the dashboard (host and process id)")

    def handle(self, *args: Any, **options: Any) -> None:
        settings.DEBUG = False  # with it, Django keeps every query; a worker shows no pages
        CONTEXT.set_forkserver_preload(PRELOADED)
        worker = create_worker(options["name"] or f"{socket.gethostname()}:{os.getpid()}", isolated=True)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stopping.set())
        if not options["once"] and hasattr(os, "nice"):
            os.nice(NICENESS)
        require_database()
        scheduling.release_former_claims(worker.name)
        n_fits = worker.run(poll=options["poll"], once=options["once"])
        if options["once"]:
            self.stdout.write(f"{n_fits} fit{'' if n_fits == 1 else 's'} published.")
