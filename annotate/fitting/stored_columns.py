"""Reads columns that a fit keeps under site/ in its arrays (annotate.fitting.arrays); needs numpy alone."""

import io

import numpy as np
from numpy.typing import NDArray

SITE = "site/"


def site_columns(arrays: bytes | memoryview | None, *names: str) -> list[NDArray] | None:
    """Return the columns of these names; None where the fit keeps no arrays, or not all of them."""
    if not arrays:
        return None
    with np.load(io.BytesIO(bytes(arrays)), allow_pickle=False) as file:
        if not all(SITE + name in file.files for name in names):
            return None
        return [file[SITE + name] for name in names]


# Why a leaderboard is not in the weighted total: it was fitted before its posterior was stored.
NOT_STORED = "not stored"
