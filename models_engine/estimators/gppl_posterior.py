"""The posterior of GPPL: a consensus that predicts items never compared from their features."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
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

__all__ = ["FittedProcess", "GPPLPosterior", "mix_posteriors"]

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
    """Posterior of the consensus.

    sources: the processes it averages over, the likeliest first, none if the fit used no features; shares (n,): the
    weight of each.
    """

    sources: tuple[FittedProcess, ...] = field(default=(), kw_only=True)
    shares: Floats = field(default_factory=lambda: np.zeros(0), kw_only=True)

    @property
    def source(self) -> FittedProcess | None:
        """The likeliest process; None if the fit used no features."""
        return self.sources[0] if self.sources else None

    @property
    def uses_item_features(self) -> bool:
        return bool(self.sources)

    def at(self, item_features: ArrayLike) -> GaussianPosterior:
        if not self.sources:
            raise Unsupported(
                "this fit used no item features, so nothing distinguishes items that were never compared; "
                "give item_features to Comparisons and fit again, or collect comparisons of the new items."
            )
        new = check_new_features(item_features, self.sources[0].features.shape[1], "item_features")
        found = [one.at(new) for one in self.sources]
        mean, covariance = mix_moments(self.shares, [centre(mean) for mean, _ in found], [c for _, c in found])
        return GaussianPosterior(centre(mean), DenseCovariance.of(covariance), self.diagnostics, self.likelihood)

    def to_arrays(self) -> dict[str, NDArray]:
        arrays = super().to_arrays()
        for number, source in enumerate(self.sources):
            prefix = _prefix(number)
            arrays |= {f"{prefix}/{one.name}": np.asarray(getattr(source, one.name)) for one in fields(FittedProcess)}
        return arrays | ({"shares": self.shares} if self.sources else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        names = [one.name for one in fields(FittedProcess)]
        sources: list[FittedProcess] = []
        while f"{(prefix := _prefix(len(sources)))}/features" in arrays:
            sources.append(FittedProcess(**{name: np.asarray(arrays[f"{prefix}/{name}"]) for name in names}))
        shares = np.asarray(arrays.get("shares", np.ones(len(sources))))  # fits of one process were stored without
        return cls(**gaussian_fields(arrays), sources=tuple(sources), shares=shares)


def _prefix(number: int) -> str:
    """Return what the names of a process's arrays begin with."""
    return f"source{number or ''}"


def mix_moments(shares: Floats, means: list[Floats], covariances: list[Floats]) -> tuple[Floats, Floats]:
    """Return mean and covariance of a mixture of Gaussians."""
    mean = np.asarray(shares @ np.stack(means), dtype=np.float64)
    apart = np.stack(means) - mean
    return mean, np.einsum("k,kij->ij", shares, np.stack(covariances)) + (shares[:, None] * apart).T @ apart


def mix_posteriors(shares: Floats, fits: list[GPPLPosterior]) -> GPPLPosterior:
    """Return the Gaussian with the moments of the mixture of fits by different kernels, the likeliest first.

    Cut points are averaged likewise. Where none counts the features, there are no sources. Diagnostics are those of
    the first, or of the first that did not converge.
    """
    if all(source.kernel[0] == 0 for fit in fits for source in fit.sources):
        fits = [replace(fit, sources=(), shares=np.zeros(0)) for fit in fits]
    if len(fits) == 1:
        return fits[0]
    mean, covariance = mix_moments(shares, [fit.mean for fit in fits], [fit.covariance() for fit in fits])
    likelihood = fits[0].likelihood
    if likelihood.cuts is not None:
        cuts, variances = (np.array([getattr(fit.likelihood, name) for fit in fits]) for name in ("cuts", "cut_sds"))
        middle = shares @ cuts
        sds = np.sqrt(shares @ (variances**2 + (cuts - middle) ** 2))
        likelihood = replace(likelihood, cuts=tuple(middle.tolist()), cut_sds=tuple(sds.tolist()))
    diagnostics = next((fit.diagnostics for fit in fits if not fit.diagnostics.converged), fits[0].diagnostics)
    sds = np.array([np.nan if fit.prior_sd is None else fit.prior_sd for fit in fits])
    return GPPLPosterior(
        mean,
        DenseCovariance.of(covariance),
        diagnostics,
        likelihood,
        prior_sd=float(np.sqrt(shares @ sds**2)),
        sources=tuple(one for fit in fits for one in fit.sources),
        shares=shares if fits[0].sources else np.zeros(0),
    )
