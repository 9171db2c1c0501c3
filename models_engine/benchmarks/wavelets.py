"""Two-state quad trees over wavelet coefficients, for the benchmark of pictures."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["TreeStates", "infer_tree"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeStates:
    """chances: P(state) of every node, (2, 3, m, m) by level. pairs: for each level but the first, the expected number
    of (parent, child) states, (2, 2). log_evidence: of all trees together, nats."""

    chances: list[Floats]
    pairs: list[Floats]
    log_evidence: float


def infer_tree(evidence: list[Floats], root: Floats, steps: list[Floats]) -> TreeStates:
    """Return the states of the trees given the evidence of their nodes: the sum-product algorithm.

    evidence: log evidence of each state, (2, 3, m, m) by level. root: (2,), of the first level. steps: (2, 2) by level
    from the second on, P(child's state | parent's) in rows.
    """
    up, messages = [one.copy() for one in evidence], []
    for level in range(len(evidence) - 1, 0, -1):
        logs = np.log(steps[level - 1])[:, :, None, None, None] + up[level]
        message = np.logaddexp(logs[:, 0], logs[:, 1])
        messages.append(message)
        up[level - 1] += sum(message[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1))
    messages = messages[::-1]
    first = up[0] + np.log(root)[:, None, None, None]
    total = np.logaddexp(first[0], first[1])
    chances, pairs = [np.exp(first - total)], []
    for level in range(1, len(evidence)):
        parent = chances[-1].repeat(2, axis=2).repeat(2, axis=3)
        logs = np.log(steps[level - 1])[:, :, None, None, None] + up[level] - messages[level - 1][:, None]
        joint = np.exp(logs) * parent[:, None]
        pairs.append(joint.sum(axis=(2, 3, 4)))
        chances.append(joint.sum(axis=0))
    return TreeStates(chances, pairs, float(total.sum()))
