"""Prepares the fork server of a worker: imported there alone, before any process for jobs is started."""

import gc
import os
import signal

import django

gc.disable()  # until all is imported
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
django.setup()

from annotate.jobs.queues import load_work  # noqa: E402  (Django must be set up before models are imported)
from annotate.management.commands.worker import create_jobs  # noqa: E402

for name in create_jobs().work_names:
    load_work(name)

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends with the worker, which gives its jobs back first
gc.collect()
gc.freeze()  # what is here already stays shared with every process that is started
gc.enable()
