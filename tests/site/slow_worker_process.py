"""The real engine with one more estimator, Slow, whose fits take as long as a test needs.

`python -m tests.site.slow_worker_process SECONDS`, then the arguments of `manage.py worker`.
"""

import os
import sys
import time
from dataclasses import dataclass

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from models_engine.estimators.base import EstimatorEntry  # noqa: E402
from models_engine.estimators.bradley_terry import BradleyTerry  # noqa: E402
from models_engine.estimators.table import ESTIMATORS  # noqa: E402
from models_engine.posterior import GaussianPosterior  # noqa: E402
from models_engine.progress import FitLog  # noqa: E402

PAUSE = 0.05


@dataclass(frozen=True)
class Slow(BradleyTerry):
    seconds: float = float(sys.argv[1])

    def fit(self, data, start=None, rng=None, progress=None):
        log = FitLog(round(self.seconds / PAUSE), progress)
        for _ in range(log.total):
            time.sleep(PAUSE)
            log.step(0.0)
        return super().fit(data)


if __name__ == "__main__":
    ESTIMATORS["Slow"] = EstimatorEntry(Slow, GaussianPosterior, "For tests.")
    call_command("worker", *sys.argv[2:])
