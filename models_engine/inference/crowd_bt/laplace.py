"""Laplace's approximation at the mode for noisy pairs: covariance of the marginal objective, reliabilities."""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance, DenseCovariance
from models_engine.covariance.graph import GraphCovariance
from models_engine.graphs import GraphPrecision
from models_engine.inference.crowd_bt.beliefs import MAX_DENSE_ITEMS
from models_engine.inference.crowd_bt.log_posterior import Point

__all__ = ["laplace"]

Floats = NDArray[np.float64]


def laplace(point: Point) -> tuple[Covariance, Floats, float | None]:
    """Approximate the posterior at a mode by a Gaussian.

    Returns (covariance of the utilities, variance of each annotator's mean reliability due to the utilities, sd of the
    side effect).

    The curvature is that of the objective with reliabilities integrated out, so that their uncertainty counts. Where
    the objective is convex, or less curved than the prior, the prior's curvature is used. Above 2,000 items the
    curvature treats reliabilities as known at their mean, and the second result is 0.
    """
    target, n = point.target, point.target.n_items
    if len(point.x) > MAX_DENSE_ITEMS:
        weights = np.maximum(point.pair_curvatures(known=False), 0.0)
        covariance = GraphCovariance.of(GraphPrecision(target.pairs.graph, weights, target.precision[:n]))
        return covariance, np.zeros(target.pairs.n_annotators), None
    inverse = _bounded_inverse(point.dense(), target.precision)
    side_sd = float(np.sqrt(inverse[n, n])) if target.side_sd is not None else None
    return DenseCovariance.of(inverse[:n, :n]), _from_utilities(point, inverse), side_sd


def _bounded_inverse(matrix: Floats, prior: Floats) -> Floats:
    """Invert the curvature, with no direction less certain than under the prior."""
    root = np.sqrt(prior)
    scaled = matrix / root[:, None] / root[None, :]
    try:
        scipy.linalg.cholesky(scaled - 0.99 * np.eye(len(prior)), lower=True, check_finite=False)
        lower = scipy.linalg.cholesky(scaled, lower=True, check_finite=False)
        inverse = scipy.linalg.cho_solve((lower, True), np.eye(len(prior)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        inverse = (vectors / np.maximum(values, 1.0)) @ vectors.T
    return (inverse + inverse.T) / 2 / root[:, None] / root[None, :]


def _from_utilities(point: Point, inverse: Floats) -> Floats:
    """Return g' C g, (n_annotators,), g the gradient in x of an annotator's mean reliability.

    g is the covariance of reliability and score: the former's standard deviation times the first direction of `shared`.
    """
    crowd = point.evaluation.crowd
    mean = (crowd.mass * crowd.eta).sum(axis=1)
    variance = (crowd.mass * (crowd.eta - mean[:, None]) ** 2).sum(axis=1)
    first = point.shared[0]
    return variance * np.asarray((first.multiply((first.T @ inverse).T)).sum(axis=0)).ravel()
