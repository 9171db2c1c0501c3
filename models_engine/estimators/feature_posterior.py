"""FeaturePosterior: utilities with weights of item features, so that new items can be ranked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.covariance.forms import LowRankCovariance
from models_engine.errors import Unsupported
from models_engine.kernels import standardise
from models_engine.linalg import centre
from models_engine.posterior import GaussianPosterior
from models_engine.stored_posteriors import gaussian_fields
from models_engine.validation import check_new_features

__all__ = ["FeaturePosterior", "scaled_features"]

Floats = NDArray[np.float64]


def scaled_features(features: Floats, reference: Floats) -> Floats:
    """Standardise columns by `reference` and divide by the root of their number: rows have length about 1."""
    columns = standardise(features, reference)
    return columns / np.sqrt(max(1, columns.shape[1]))


@dataclass(frozen=True, eq=False)
class FeaturePosterior(GaussianPosterior):
    """Posterior of f_i = weights'x_i + an item's effect ~ N(0, item_sd^2); x_i from `scaled_features`.

    weights (d,) posterior mean, weights_root (d, r): weights_root weights_root' is their posterior covariance.
    reference (n_items, columns): the features fitted, None where there were none.
    prior_sd (of GaussianPosterior): prior standard deviation of the part of a utility that features explain.
    """

    weights: Floats | None = None
    weights_root: Floats | None = None
    reference: Floats | None = None
    item_sd: float = 0.0

    @property
    def uses_item_features(self) -> bool:
        return self.weights is not None

    def at(self, item_features: ArrayLike) -> GaussianPosterior:
        """Predict items never compared, features (n_new, columns). Raises InvalidData; Unsupported without features."""
        if self.weights is None or self.weights_root is None or self.reference is None:
            raise Unsupported("this fit had no item_features, so it cannot rank new items; fit with item_features.")
        given = check_new_features(item_features, self.reference.shape[1], "item_features")
        x = scaled_features(given, self.reference)
        spread = LowRankCovariance(x @ self.weights_root, np.full(len(x), self.item_sd**2))
        return GaussianPosterior(centre(x @ self.weights), spread, self.diagnostics, self.likelihood)

    def to_arrays(self) -> dict[str, NDArray]:
        own = {"weights": self.weights, "weights_root": self.weights_root, "reference": self.reference}
        stored = {name: value for name, value in own.items() if value is not None}
        return super().to_arrays() | stored | {"item_sd": np.array(self.item_sd)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        own: dict[str, Any] = {
            name: np.asarray(arrays[name]) for name in ("weights", "weights_root", "reference") if name in arrays
        }
        return cls(**gaussian_fields(arrays), **own, item_sd=float(arrays["item_sd"]))
