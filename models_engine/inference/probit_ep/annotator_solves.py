"""All annotators of a block solved at once: each one's utilities given Gaussian sites and the consensus."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.linalg import inverse_and_log_determinant

__all__ = [
    "LocalSolution",
    "consensus_margins",
    "local_prior",
    "multiply_stack",
    "shift_solution",
    "solve_block",
    "told_of_consensus",
]

Floats = NDArray[np.float64]
MIN_PRECISION = 1e-7  # of a site solved in pair space: below it, rounding errors dominate the variance


@dataclass(frozen=True, eq=False)
class LocalSolution:
    """A block's posterior in local coordinates, given Gaussian sites and the consensus at a fixed mean.

    With S the prior covariance, L the sites' precision and b their shift, per annotator: covariance Xi = (S^-1+L)^-1,
    mean xi (U, d), residual e = b - L xi (U, d), transfer D = I - Xi L (derivative of the mean by the consensus)
    and information E = L D (about the consensus), both (U, d, d); variance (U, P): of the sites'
    margins under Xi; log_integral (U,): log of the integral of prior times sites, the consensus where it was given.
    """

    mean: Floats
    residual: Floats
    transfer: Floats
    information: Floats
    variance: Floats
    log_integral: Floats


def multiply_stack(stack: Floats, vectors: Floats) -> Floats:
    """Multiply each matrix of a stack (U, d, d) by its own vector (U, d)."""
    if stack.strides[0] < stack.strides[-1]:  # the matrices are last in memory
        return np.einsum("uij,uj->ui", stack, vectors)
    return np.matmul(stack, vectors[:, :, None])[:, :, 0]


def local_prior(block: Block, taste: Floats) -> Floats:
    """Return the prior covariance of the local coordinates, (U, d, d), given the consensus."""
    prior = block.gather(taste)
    if block.noise is not None:
        prior += block.noise
    return prior


def solve_block(
    block: Block, taste: Floats, mean: Floats, precision: Floats, shift: Floats, prior: Floats | None = None
) -> LocalSolution:
    """Solve every annotator of a block; precision, shift (n_sites,): of the sites with all their copies.

    prior: `local_prior(block, taste)` where the caller has it; it is not changed. Cost: annotators times the cube of
    the local width.
    """
    solve = _in_items if block.in_items else _in_pairs
    known = local_prior(block, taste) if prior is None else prior
    return solve(block, known, block.project(mean), precision, block.shift(shift))


def _in_items(block: Block, prior: Floats, prior_mean: Floats, at_sites: Floats, shift: Floats) -> LocalSolution:
    """Solve with Xi = (I + S L)^-1 S, because L may be singular."""
    precision = block.precision(at_sites)
    inflated = _plus_identity(prior @ precision)
    covariance = np.linalg.solve(inflated, prior)
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    transfer = _plus_identity(-(covariance @ precision))
    move = multiply_stack(covariance, shift - multiply_stack(precision, prior_mean))
    mean = prior_mean + move
    residual = shift - multiply_stack(precision, mean)
    integral = _log_integral(
        shift, mean, multiply_stack(precision, mean), residual, move, np.linalg.slogdet(inflated)[1]
    )
    return LocalSolution(mean, residual, transfer, precision @ transfer, block.margin_variances(covariance), integral)


def _in_pairs(block: Block, prior: Floats, prior_mean: Floats, at_sites: Floats, shift: Floats) -> LocalSolution:
    """Solve with L diagonal and G = (I + L^1/2 S L^1/2)^-1 (Rasmussen & Williams 2006, section 3.6.3).

    E = L^1/2 G L^1/2, D = L^-1/2 G L^1/2, Xi = D S, and the mean moves by S e. Xi is also L^-1 - L^-1 E L^-1, but there
    rounding errors are divided by the smallest precision.
    """
    precision = np.where(block.real, np.maximum(at_sites[block.site], MIN_PRECISION), 0.0)
    root = np.sqrt(precision)
    inverse_root = np.where(block.real, 1 / np.where(block.real, root, 1.0), 0.0)
    inflated = prior * root[:, :, None]
    inflated *= root[:, None, :]
    shrunk, log_determinant = inverse_and_log_determinant(_plus_identity(inflated))
    pull = inverse_root * (shift - precision * prior_mean)
    residual = root * multiply_stack(shrunk, pull)
    move = multiply_stack(prior, residual)
    mean = prior_mean + move
    shrunk *= root[:, None, :]
    information = shrunk * root[:, :, None]
    shrunk *= inverse_root[:, :, None]
    variance = np.einsum("udk,udk->ud", shrunk, prior)
    integral = _log_integral(shift, mean, precision * mean, residual, move, log_determinant)
    return LocalSolution(mean, residual, shrunk, information, variance, integral)


def _log_integral(
    shift: Floats, mean: Floats, weighted: Floats, residual: Floats, move: Floats, log_determinant: Floats
) -> Floats:
    """Return log of the integral of N(x; prior mean, S) exp(b'x - x'Lx/2), at the posterior mean; weighted: L
    times it.
    """
    quadratic = (shift * mean).sum(axis=1) - (mean * weighted).sum(axis=1) / 2
    return np.asarray(quadratic - (residual * move).sum(axis=1) / 2 - log_determinant / 2)


def consensus_margins(
    block: Block, local: LocalSolution, move: Floats, covariance: Floats
) -> tuple[Floats, Floats, Floats | None]:
    """Return margin means and variances (U, P) with the consensus integrated out, and D C (U, d, d) in local
    coordinates, None of small blocks, which need it for their variances no more than their triangle of C.

    The consensus has moved by `move` (n_items,) and has covariance C (n_items, n_items).
    """
    mean = local.mean + multiply_stack(local.transfer, block.project(move))
    inner = block.gather(covariance)
    if block.is_small:
        return mean, local.variance + _spread_variances(local.transfer, inner), None
    spread = local.transfer @ inner
    if not block.in_items:
        return mean, local.variance + np.einsum("uij,uij->ui", spread, local.transfer), spread
    wide = spread @ local.transfer.transpose(0, 2, 1)
    return block.margins(mean), local.variance + block.margin_variances(wide), spread


def _spread_variances(transfer: Floats, covariance: Floats) -> Floats:
    """Return the diagonals of D C D', (U, d): twice their sum over the lower triangle of C, its diagonal halved.

    Quick where the annotators are last in memory.
    """
    columns, inner = transfer.transpose(2, 1, 0), covariance.transpose(1, 2, 0)
    total = np.zeros(columns.shape[1:])
    for j in range(len(columns)):
        row = inner[j, : j + 1].copy()
        row[j] /= 2
        part = np.einsum("kiu,ku->iu", columns[: j + 1], row)
        part *= columns[j]
        total += part
    return np.asarray(2 * total.T)


def told_of_consensus(
    block: Block, local: LocalSolution, precision: Floats, spread: Floats | None, covariance: Floats
) -> Floats:
    """Return E C E (U, d, d), C the covariance of the consensus (n_items, n_items); precision (n_sites,): as in
    `solve_block`, spread: D C where `consensus_margins` has it, as L D = E.
    """
    if spread is not None:
        return block.weighted(precision, spread) @ local.information
    information = np.ascontiguousarray(local.information)
    return np.asarray(information @ np.ascontiguousarray(block.gather(covariance)) @ information)


def shift_solution(local: LocalSolution, move: Floats) -> tuple[Floats, Floats]:
    """Return mean and residual (U, d) after the consensus moved by `move` (U, d) in local coordinates."""
    return local.mean + multiply_stack(local.transfer, move), local.residual - multiply_stack(local.information, move)


def _plus_identity(stack: Floats) -> Floats:
    np.einsum("udd->ud", stack)[...] += 1.0
    return stack
