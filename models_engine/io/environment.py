"""The computing environment that the last bits of a fit depend on: versions, processor, BLAS and its threads."""

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from models_engine import __version__

__all__ = ["compare_environments", "describe_environment"]

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
CPU_INFO = Path("/proc/cpuinfo")


def describe_environment() -> dict[str, Any]:
    """Return plain values; two fits agree bit for bit if they are equal and BLAS has one thread."""
    built: Any = np.show_config(mode="dicts")
    blas = built["Build Dependencies"]["blas"]
    return {
        "crowdrank": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "system": platform.system(),
        "processor": describe_processor(),
        "instructions": sorted(built["SIMD Extensions"].get("found", [])),
        "blas": f"{blas['name']} {blas['version']}",
        "blas_threads": count_blas_threads(),
    }


def describe_processor() -> str:
    """Return the machine type and, if the system reports it, the processor model."""
    named = platform.processor()
    if CPU_INFO.exists():
        lines = CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
        named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), named)
    return f"{platform.machine()} {named}".strip()


def count_blas_threads() -> int:
    """Return the number of threads BLAS was configured with when loaded, else one for each processor."""
    for name in THREADS:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return os.cpu_count() or 1


def compare_environments(recorded: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """List the differences in words; more than one BLAS thread always counts, because the order of sums then varies."""
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
