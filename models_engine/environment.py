"""What the last bits of a fit depend on besides the data: versions, processor kind, BLAS and its threads."""

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from models_engine import __version__

__all__ = ["differences", "environment"]

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
CPU_INFO = Path("/proc/cpuinfo")


def environment() -> dict[str, Any]:
    """Plain values; two fits of the same labels agree bit for bit where these are equal and BLAS has one thread."""
    built: Any = np.show_config(mode="dicts")
    blas = built["Build Dependencies"]["blas"]
    return {
        "crowdrank": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "system": platform.system(),
        "processor": processor(),
        "instructions": sorted(built["SIMD Extensions"].get("found", [])),
        "blas": f"{blas['name']} {blas['version']}",
        "blas_threads": blas_threads(),
    }


def processor() -> str:
    """The machine's kind and, where the system tells it, the model of its processor."""
    named = platform.processor()
    if CPU_INFO.exists():
        lines = CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
        named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), named)
    return f"{platform.machine()} {named}".strip()


def blas_threads() -> int:
    """Threads that BLAS was told to use when it was loaded, else one for each processor."""
    for name in THREADS:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return os.cpu_count() or 1


def differences(recorded: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """What differs, in words; more than one BLAS thread differs from itself, as sums are then taken in any order."""
    found = [
        f"{name} is {here.get(name, 'unknown')} here, {recorded.get(name, 'unknown')} in the record"
        for name in here
        if name != "blas_threads" and recorded.get(name) != here[name]
    ]
    if recorded.get("blas_threads") != 1 or here["blas_threads"] != 1:
        found.append(
            f"BLAS has {here['blas_threads']} threads here, {recorded.get('blas_threads')} in the record; 1 is needed"
        )
    return found
