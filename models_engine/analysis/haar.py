"""The orthonormal Haar transform of a square picture, and back."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["analyse", "synthesise"]

Floats = NDArray[np.float64]
ROOT2 = np.sqrt(2.0)


def analyse(image: Floats, depth: int) -> tuple[Floats, list[Floats]]:
    """Return the scaling coefficients and the three bands (3, m, m) of each level, coarsest first; orthonormal.

    image: (n, n), n a multiple of 2^depth.
    """
    bands, rest = [], image
    for _level in range(depth):
        low, high = (rest[0::2] + rest[1::2]) / ROOT2, (rest[0::2] - rest[1::2]) / ROOT2
        parts = [(one[:, 0::2] + sign * one[:, 1::2]) / ROOT2 for one in (low, high) for sign in (1, -1)]
        rest = parts[0]
        bands.append(np.stack(parts[1:]))
    return rest, bands[::-1]


def synthesise(scaling: Floats, bands: list[Floats]) -> Floats:
    """Return the image of these coefficients: the inverse of `analyse`."""
    rest = scaling
    for first, second, third in bands:
        m = len(rest)
        low, high = np.empty((m, 2 * m)), np.empty((m, 2 * m))
        for whole, one, other in ((low, rest, first), (high, second, third)):
            whole[:, 0::2], whole[:, 1::2] = (one + other) / ROOT2, (one - other) / ROOT2
        rest = np.empty((2 * m, 2 * m))
        rest[0::2], rest[1::2] = (low + high) / ROOT2, (low - high) / ROOT2
    return rest
