"""Peak memory of a process; nothing but the standard library, as the peers' environment runs it too."""

import resource
import sys
from pathlib import Path

__all__ = ["peak_mib"]

STATUS = Path("/proc/self/status")


def peak_mib() -> float:
    """Peak resident memory of this process in MiB: where /proc tells it from there, as the figure of getrusage begins
    at what the parent held when it started this process."""
    if STATUS.is_file():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
