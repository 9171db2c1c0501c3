"""The real worker, which sends fits of any size to its cluster: small ones are there sooner than those worth sending.

`python -m tests.site.cluster_worker_process`, then the arguments of `manage.py worker`.
"""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from models_engine import executor  # noqa: E402

# The processes that the worker starts for its jobs import this module too, under another name.
executor.MIN_CLUSTER_COST = 0.0

if __name__ == "__main__":
    call_command("worker", *sys.argv[1:])
