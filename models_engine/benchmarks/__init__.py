"""Measurements of the estimators on real and simulated data; every table is the output of a command."""

import os
import sys

# Set before numpy is imported: for the small matrices of a fit several BLAS threads take twice the CPU, and more time.
if "numpy" not in sys.modules:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
