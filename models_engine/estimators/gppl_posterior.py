"""The posterior of GPPL: a consensus that predicts items never compared from their features."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from models_engine.covariance.forms import DenseCovariance
from models_engine.errors import Unsupported
from models_engine.kernels import Form, ItemKernel, standardise
from models_engine.linalg import centre, cholesky
from models_engine.posterior import GaussianPosterior
from models_engine.stored_posteriors import gaussian_fields
from models_engine.validation import check_new_features

__all__ = ["FittedProcess", "GPPLPosterior"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedProcess:
    """The Gaussian process behind a fit.

    features (n_items, d), kernel (3,): share, length and the number of the form in FORMS.   points (m, d'):
    standardised features of the inducing points, m = 0 where the items themselves are the points.   mean (m,) and
    covariance (m, m) of the utilities at the points.   inverse_scale: E[s], so that a utility has prior variance 1/s.
    """

    features: Floats
    kernel: Floats
    points: Floats
    mean: Floats
    covariance: Floats
    inverse_scale: NDArray[np.float64]

    def item_kernel(self) -> ItemKernel:
        share, length, form = self.kernel
        return ItemKernel(self.features, len(self.features), float(share), float(length), FORMS[int(form)])

    def at(self, features: Floats) -> tuple[Floats, Floats]:
        """Return mean (n_new,) and covariance (n_new, n_new) at features (n_new, d) (crowd_gppl (21), K over E[s])."""
        kernel = self.item_kernel()
        cross, among = kernel.cross(features)
        inner = kernel.matrix() if not len(self.points) else kernel.share * kernel.correlation(self.points, self.points)
        if len(self.points):
            inner[np.diag_indices(len(inner))] += 1e-6
            cross = kernel.share * kernel.correlation(standardise(features, self.features), self.points)
        reach = scipy.linalg.cho_solve((cholesky(inner), True), cross.T).T
        open_ = among - reach @ cross.T
        covariance = reach @ self.covariance @ reach.T + (open_ + open_.T) / (2 * float(self.inverse_scale))
        return reach @ self.mean, covariance


FORMS: tuple[Form, ...] = ("matern32", "matern32-product", "rbf")


@dataclass(frozen=True, eq=False)
class GPPLPosterior(GaussianPosterior):
    """Posterior of the consensus; `source` is None if the fit used no features."""

    source: FittedProcess | None = field(default=None, kw_only=True)

    @property
    def uses_item_features(self) -> bool:
        return self.source is not None

    def at(self, item_features: ArrayLike) -> GaussianPosterior:
        if self.source is None:
            raise Unsupported(
                "this fit used no item features, so nothing distinguishes items that were never compared; "
                "give item_features to Comparisons and fit again, or collect comparisons of the new items."
            )
        width = self.source.features.shape[1]
        mean, covariance = self.source.at(check_new_features(item_features, width, "item_features"))
        return GaussianPosterior(centre(mean), DenseCovariance.of(covariance), self.diagnostics, self.likelihood)

    def to_arrays(self) -> dict[str, NDArray]:
        arrays = super().to_arrays()
        if self.source is None:
            return arrays
        return arrays | {
            f"source/{one.name}": np.asarray(getattr(self.source, one.name)) for one in fields(FittedProcess)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        source = None
        if "source/features" in arrays:
            source = FittedProcess(
                **{one.name: np.asarray(arrays[f"source/{one.name}"]) for one in fields(FittedProcess)}
            )
        return cls(**gaussian_fields(arrays), source=source)
