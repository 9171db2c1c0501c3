"""Haar wavelets, and two-state quad trees over their coefficients, for the benchmark of pictures."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["TreeStates", "analyse", "infer_tree", "synthesise"]

Floats = NDArray[np.float64]
TreeStates = tuple[list[Floats], list[Floats]]
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


def infer_tree(evidence: list[Floats], root: Floats, steps: list[Floats]) -> TreeStates:
    """Return P(state) of every node, (2, 3, m, m) by level, and for each level but the first the expected number of
    (parent, child) states, (2, 2): the sum-product algorithm.

    evidence: log evidence of each state, (2, 3, m, m) by level. root: (2,), of the first level. steps: (2, 2) by level
    from the second on, P(child's state | parent's) in rows.
    """
    up, told = [one.copy() for one in evidence], []
    for level in range(len(evidence) - 1, 0, -1):
        logs = np.log(steps[level - 1])[:, :, None, None, None] + up[level]
        message = np.logaddexp(logs[:, 0], logs[:, 1])
        told.append(message)
        up[level - 1] += sum(message[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1))
    told = told[::-1]
    first = up[0] + np.log(root)[:, None, None, None]
    chances, pairs = [np.exp(first - np.logaddexp(first[0], first[1]))], []
    for level in range(1, len(evidence)):
        parent = chances[-1].repeat(2, axis=2).repeat(2, axis=3)
        logs = np.log(steps[level - 1])[:, :, None, None, None] + up[level] - told[level - 1][:, None]
        joint = np.exp(logs) * parent[:, None]
        pairs.append(joint.sum(axis=(2, 3, 4)))
        chances.append(joint.sum(axis=0))
    return chances, pairs
