"""Python imports this at its start where the folder is on PYTHONPATH: a wall clock that a file moves by seconds."""

import datetime
import os
import time
from functools import partial

_real_time, _monotonic = time.time, time.monotonic
_file = os.environ["CLOCK_FILE"]
_seen = {"at": float("-inf"), "by": 0.0}


def _offset() -> float:
    if _monotonic() - _seen["at"] > 0.05:
        with open(_file) as file:
            _seen.update(at=_monotonic(), by=float(file.read() or 0))
    return _seen["by"]


def _time() -> float:
    return _real_time() + _offset()


def _now() -> datetime.datetime:
    return datetime.datetime.fromtimestamp(_time(), tz=datetime.UTC)


# As the real one it is no method of whatever class has it as an attribute, as REST framework's throttles do.
time.time = partial(_time)

# Django's is the one clock of the site's own code: replaced as soon as its module is there.
from django.utils import timezone  # noqa: E402

timezone.now = _now
