"""Conjugate gradients for several right-hand sides at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["solve_by_gradients"]

Floats = NDArray[np.float64]


def solve_by_gradients(
    product: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    right: Floats,
    start: Floats | None = None,
    *,
    tolerance: float = 1e-4,
    max_steps: int = 200,
    on_step: Callable[[], None] | None = None,
) -> Floats:
    """Return x with product(x) = right, columns (n, m), to a residual of `tolerance` of the right-hand side's.

    Both in the norm of the preconditioner. Products are of a positive definite matrix (Hestenes & Stiefel 1952).
    """
    x = np.zeros_like(right) if start is None else start.copy()
    residual = right - product(x) if start is not None else right.copy()
    step = precondition(residual)
    size = (residual * step).sum(axis=0)
    enough = tolerance**2 * np.maximum((right * precondition(right)).sum(axis=0), 1e-300)
    direction = step
    for _ in range(max_steps):
        if (size <= enough).all():
            break
        if on_step is not None:
            on_step()
        moved = product(direction)
        curvature = (direction * moved).sum(axis=0)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        x += length * direction
        residual = residual - length * moved
        step = precondition(residual)
        before, size = size, (residual * step).sum(axis=0)
        direction = step + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
    return x
