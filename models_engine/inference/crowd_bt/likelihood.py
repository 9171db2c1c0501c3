"""The likelihood of noisy pairs with every annotator's reliability integrated out, and its derivatives."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.implied_pairs import nu_by_row
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior, Reliabilities, build_grid, integrate_reliabilities
from models_engine.linalg import sum_by_group

__all__ = ["N_DIRECTIONS", "LikelihoodDerivatives", "evaluate_likelihood", "log_scale", "normaliser"]

Floats = NDArray[np.float64]
N_DIRECTIONS = 3


@dataclass(frozen=True, eq=False)
class LikelihoodDerivatives:
    """log P(labels | margins, log nu), reliabilities integrated out, and its derivatives.

    score (n_rows,), score_nu: gradient in the margins and in log nu.
    curvature (n_rows,): minus the second derivative in a margin, reliabilities known; may be negative.
    curvature_known (n_rows,): the same if it were known which answers are reversed; never negative.
    cross (n_rows,), curvature_nu: minus the second derivatives in margin and log nu, and in log nu.
    shared (n_wins, n_directions): minus the Hessian in the margins is diag(curvature) - sum over annotators and
        directions of b b', b = sum over the annotator's wins of shared * (unit vector of the win's row).
    crowd: the posterior of the reliabilities.   score_cuts (n_grades,): gradient in the cut points of graded answers.
    """

    value: float
    score: Floats
    score_nu: float
    curvature: Floats
    curvature_known: Floats
    cross: Floats
    curvature_nu: float
    shared: Floats
    crowd: Reliabilities
    score_cuts: Floats | None = None


def evaluate_likelihood(
    pairs: NoisyPairs,
    margins: Floats,
    log_nu: float,
    prior: BetaPrior,
    modes: Floats | None = None,
    n_directions: int = N_DIRECTIONS,
) -> LikelihoodDerivatives:
    """Evaluate at margins (n_rows,) and log nu (-inf: no ties), which is that of the rows that can tie.

    modes (n_annotators,): log-odds to start the grid from.

    A win of margin d adds log(eta e^(d/2) + (1-eta) e^(-d/2)) - A, a tie log nu - A, A = log(2 cosh(d/2) + nu): the
    reversing annotator swaps wins and not ties. eta is integrated out per annotator, after the sum over labels.
    """
    d = pairs.sign * margins[pairs.row]
    grid = build_grid(prior, pairs, d, modes)
    crowd = integrate_reliabilities(pairs, d, grid, prior, n_directions)
    scale, slope, curvature, tie = normaliser(margins, nu_by_row(log_nu, pairs.can_tie))
    log_cosh = pairs.weight @ log_scale(d, -np.inf)
    tied = float(pairs.ties.sum()) * log_nu if np.isfinite(log_nu) else 0.0

    def by_row(values: Floats) -> Floats:
        return sum_by_group(pairs.row, pairs.weight * values, len(margins))

    return LikelihoodDerivatives(
        value=float(crowd.log_annotators.sum() + log_cosh + tied - pairs.total @ scale),
        score=by_row(pairs.sign * (crowd.right - 0.5)) - pairs.total * slope,
        score_nu=float((pairs.ties - pairs.total * tie).sum()),
        curvature=pairs.total * curvature - by_row(crowd.spread),
        curvature_known=pairs.total * curvature,
        cross=-pairs.total * tie * slope,
        curvature_nu=float(pairs.total @ (tie * (1 - tie))),
        shared=(pairs.weight * pairs.sign)[:, None] * crowd.shared,
        crowd=crowd,
    )


def log_scale(z: Floats, log_nu: Floats | float) -> Floats:
    """Return log(exp(z/2) + exp(-z/2) + nu), the normaliser of Davidson (1970), eq. 2.4; log_nu = -inf without ties."""
    return np.logaddexp(np.abs(z) / 2 + np.log1p(np.exp(-np.abs(z))), log_nu)


def normaliser(z: Floats, log_nu: Floats | float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return A = log_scale, its first and second derivative in z, and P(tie) = its derivative in log nu."""
    scale = log_scale(z, log_nu)
    left, right = np.exp(z / 2 - scale), np.exp(-z / 2 - scale)
    slope = (left - right) / 2
    return scale, slope, (left + right) / 4 - slope**2, np.exp(log_nu - scale)
