"""Description of the machine and versions of a measurement."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import scipy

__all__ = ["describe_machine"]


def describe_machine() -> str:
    """Return commit (with a plus if files differ from it), machine, versions and BLAS threads, in one line."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    return (
        f"commit {_commit()}, {platform.machine()} {platform.system()} with {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, BLAS threads {threads}"
    )


def _commit() -> str:
    git = shutil.which("git")
    if git is None:
        return "unknown"
    command = [git, "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own fixed command)
    return found.stdout.strip() or "unknown"
