"""The gated recurrent network of Y. J. Ko's thesis 3.3, with matrices of all, of each annotator, or both: values and
gradients.

w = sig(Wz h + z), r = sig(Wr h + s), q = tanh(Wh (r h) + p), h' = (1 - w) h + w q, where (z, s, p) is the row of the
token plus a bias, plus a vector of the annotator's where there is one; P(next) = softmax(Wout h + b). Biases are ours.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit, log_softmax

__all__ = ["START", "Batch", "Parameters", "Run", "log_outputs", "loss_and_gradient", "run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
START = 0.1  # of every entry of h before the first token


@dataclass(eq=False)
class Parameters:
    """rows: (n_tokens, 3 d) and bias (3 d,) of the gates; matrices (3, d, d) of all; own (n_annotators, 3, d, d) and
    vectors (n_annotators, 3 d) where the variant has them, else of length 0; out (n_tokens, d), level (n_tokens,)."""

    rows: Floats
    bias: Floats
    matrices: Floats
    own: Floats
    vectors: Floats
    out: Floats
    level: Floats

    def arrays(self) -> dict[str, Floats]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def copy(self) -> "Parameters":
        return Parameters(**{name: array.copy() for name, array in self.arrays().items()})

    def of(self, annotators: Ints) -> tuple[Floats, Floats]:
        """Return matrices (n, 3, d, d) and gate vectors (n, 3 d) of these annotators; -1, unknown: the mean of all."""
        matrices = np.tile(self.matrices, (len(annotators), 1, 1, 1))
        vectors = np.tile(self.bias, (len(annotators), 1))
        for total, whole in ((matrices, self.own), (vectors, self.vectors)):
            if len(whole):
                known = (annotators >= 0).reshape(-1, *[1] * (whole.ndim - 1))
                total += np.where(known, whole[annotators], whole.mean(axis=0))
        return matrices, vectors


@dataclass(frozen=True, eq=False)
class Batch:
    """Stretches of sequences: tokens (n, t) with -1 behind their ends, annotators (n,), h (n, d) before the first."""

    tokens: Ints
    annotators: Ints
    h: Floats


@dataclass(frozen=True, eq=False)
class Run:
    """states: (t, n, d), that each token is predicted from; reset: r h; w, r, q of each step; last: (n, d)."""

    states: Floats
    reset: Floats
    w: Floats
    r: Floats
    q: Floats
    last: Floats


def run(at: Parameters, batch: Batch) -> Run:
    """Run the network over the stretches; behind its end a state stays as it is."""
    matrices, vectors = at.of(batch.annotators)
    n, d = batch.h.shape
    steps = batch.tokens.shape[1]
    states, reset, w, r, q = (np.zeros((steps, n, d)) for _ in range(5))
    h = batch.h
    both = matrices[:, :2].reshape(n, 2 * d, d)
    for t in range(steps):
        token = batch.tokens[:, t]
        gates = at.rows[token] + vectors
        states[t] = h
        halves = expit(gates[:, : 2 * d] + _times(both, h))
        w[t], r[t] = halves[:, :d], halves[:, d:]
        reset[t] = r[t] * h
        q[t] = np.tanh(gates[:, 2 * d :] + _times(matrices[:, 2], reset[t]))
        h = np.where((token >= 0)[:, None], (1 - w[t]) * h + w[t] * q[t], h)
    return Run(states, reset, w, r, q, h)


def log_outputs(at: Parameters, states: Floats) -> Floats:
    """Return (..., n_tokens) log probabilities of the next token."""
    return np.asarray(log_softmax(states @ at.out.T + at.level, axis=-1))


def loss_and_gradient(at: Parameters, batch: Batch, ridge: float = 0.0) -> tuple[float, Parameters, Floats]:
    """Return the mean of minus log P per token, its gradient, and the last states (n, d).

    The gradient's `own` and `vectors` are those of the batch's annotators, (n, ...), in its order; each is there once.
    ridge: half of it times the mean square norm of what is an annotator's own is added to the loss.
    """
    found = run(at, batch)
    given = batch.tokens.T.ravel()
    there = np.flatnonzero(given >= 0)
    states = found.states.reshape(-1, batch.h.shape[1])[there]
    logs = log_outputs(at, states)
    picked = np.arange(len(there)), given[there]
    loss = -logs[picked].mean()
    errors = np.exp(logs)
    errors[picked] -= 1
    errors /= len(there)
    from_outputs = np.zeros((len(given), states.shape[1]))
    from_outputs[there] = errors @ at.out
    gates, of_matrices = _backwards(at, batch, found, from_outputs.reshape(found.states.shape))
    flat = gates.reshape(len(given), -1)[there]
    chosen = csr_matrix((np.ones(len(there)), (given[there], np.arange(len(there)))), (len(at.rows), len(there)))
    own, vectors = (len(whole) > 0 for whole in (at.own, at.vectors))
    n = len(batch.annotators)
    gradient = Parameters(
        rows=np.asarray(chosen @ flat),
        bias=flat.sum(axis=0),
        matrices=of_matrices.sum(axis=0),
        own=of_matrices + ridge / n * at.own[batch.annotators] if own else at.own,
        vectors=gates.sum(axis=0) + ridge / n * at.vectors[batch.annotators] if vectors else at.vectors,
        out=errors.T @ states,
        level=errors.sum(axis=0),
    )
    for is_there, whole in ((own, at.own), (vectors, at.vectors)):
        loss += ridge / 2 / n * float((whole[batch.annotators] ** 2).sum()) if is_there else 0.0
    return float(loss), gradient, found.last


def _backwards(at: Parameters, batch: Batch, found: Run, from_outputs: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of the gates (t, n, 3 d) and of the matrices (n, 3, d, d)."""
    matrices, _vectors = at.of(batch.annotators)
    turned = np.swapaxes(matrices, -1, -2)
    steps, n, d = found.states.shape
    gates, carried = np.zeros((steps, n, 3 * d)), np.zeros((n, d))
    for t in range(steps - 1, -1, -1):
        h, w, r, q = found.states[t], found.w[t], found.r[t], found.q[t]
        there = (batch.tokens[:, t] >= 0)[:, None]
        inside = np.where(there, carried, 0.0)
        dw = inside * (q - h) * w * (1 - w)
        dq = inside * w * (1 - q**2)
        of_reset = _times(turned[:, 2], dq)
        dr = of_reset * h * r * (1 - r)
        gates[t] = np.concatenate([dw, dr, dq], axis=1)
        back = inside * (1 - w) + _times(turned[:, 0], dw) + _times(turned[:, 1], dr) + of_reset * r
        carried = np.where(there, back, carried) + from_outputs[t]
    of_steps = gates.transpose(1, 2, 0)  # (n, 3 d, t)
    of_halves = of_steps[:, : 2 * d] @ found.states.transpose(1, 0, 2)
    of_new = of_steps[:, 2 * d :] @ found.reset.transpose(1, 0, 2)
    return gates, np.concatenate([of_halves, of_new], axis=1).reshape(n, 3, d, d)


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.matmul(matrices, vectors[..., None])[..., 0])
