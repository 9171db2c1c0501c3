"""Peak memory of a process, by the standard library alone, because the peers' environment runs it too."""

import resource
import sys
from pathlib import Path

__all__ = ["peak_mib"]

STATUS = Path("/proc/self/status")


def peak_mib() -> float:
    """Return the peak resident memory of this process in MiB.

    Uses /proc if available, because the figure of getrusage includes the parent's memory at the start of the process.
    """
    if STATUS.is_file():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
