"""A posterior's components of taste as rows hold them: at most five numbers per item and annotator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from models_engine.models import MAX_COMPONENTS
from models_engine.posterior import BasePosterior

Floats = NDArray[np.float64]
DIGITS = 6  # behind the point; utilities are a few units wide


def components_of(posterior: BasePosterior) -> dict[str, Any] | None:
    """Return what Fit.components holds; None for an estimator without components."""
    found = posterior.components()
    if found is None:
        return None
    shares = [round(float(share), DIGITS) for share in found.share[:MAX_COMPONENTS]]
    return {"kind": "groups" if found.are_groups else "tastes", "shares": shares}


def loadings_of(posterior: BasePosterior) -> list[list[float]] | None:
    """Return per item one loading for each component kept."""
    found = posterior.components()
    return None if found is None else _rounded(found.item_loadings)


def scores_of(posterior: BasePosterior) -> list[list[float]] | None:
    """Return per annotator one score for each component kept."""
    found = posterior.components()
    return None if found is None else _rounded(found.annotator_scores)


def _rounded(values: Floats) -> list[list[float]]:
    """Round; adding 0 makes -0 a plain 0."""
    kept: list[list[float]] = (np.round(values[:, :MAX_COMPONENTS], DIGITS) + 0.0).tolist()
    return kept


def gamma_interval(mean: Floats, deviation: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the ends of the central interval of the Gamma distribution with these moments: above 0."""
    shape = (np.maximum(mean, 1e-12) / np.maximum(deviation, 1e-12)) ** 2
    shape = np.clip(shape, 1e-3, 1e8)
    tail = (1 - level) / 2
    return mean * gammaincinv(shape, tail) / shape, mean * gammaincinv(shape, 1 - tail) / shape
