"""The real engine with more estimators: Slow, whose fits take as long as a test needs, and some that misbehave.

`python -m tests.site.slow_worker_process SECONDS`, then the arguments of `manage.py worker`.
"""

import os
import signal
import sys
import time
from dataclasses import dataclass

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from annotate.fitting import lanes  # noqa: E402
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


class Busy(BradleyTerry):
    """Uses a processor for as long as Slow sleeps."""

    def fit(self, data, start=None, rng=None, progress=None):
        log = FitLog(round(Slow.seconds / PAUSE), progress)
        for step in range(log.total):
            until = time.process_time() + PAUSE
            while time.process_time() < until:
                pass
            log.step(float(step))
        return super().fit(data)


class Hanging(BradleyTerry):
    """Never ends and reports nothing."""

    def fit(self, data, start=None, rng=None, progress=None):
        while True:
            time.sleep(PAUSE)


class Spinning(BradleyTerry):
    """Never ends and uses the processor."""

    def fit(self, data, start=None, rng=None, progress=None):
        while True:
            pass


class Greedy(BradleyTerry):
    """Takes memory as long as it gets some."""

    def fit(self, data, start=None, rng=None, progress=None):
        kept = []
        while True:
            kept.append(bytearray(2**24))


class Dying(BradleyTerry):
    """Is killed, as by a machine without memory."""

    def fit(self, data, start=None, rng=None, progress=None):
        os.kill(os.getpid(), signal.SIGKILL)


# The processes that the worker starts for its jobs import this module too, under another name.
for one in (Slow, Busy, Hanging, Spinning, Greedy, Dying):
    ESTIMATORS[one.__name__] = EstimatorEntry(one, GaussianPosterior, "For tests.")

if __name__ == "__main__":
    lanes.SHORT_FIT_SECONDS = float(os.environ.get("SHORT_FIT_SECONDS", lanes.SHORT_FIT_SECONDS))
    call_command("worker", *sys.argv[2:])
