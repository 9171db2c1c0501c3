"""Pictures with missing pixels: posterior means and modes under Laplace priors of wavelet coefficients (thesis 2.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator

from models_engine.analysis.haar import analyse
from models_engine.benchmarks.denoising import DEPTH, Denoised, Denoiser
from models_engine.errors import InsufficientData

__all__ = ["Inpainter", "TreeNormal", "fill_by_mean", "interpolate", "normal_of_pixels", "take_nearest"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# From a node's scaling coefficient and its three bands to the scaling coefficients of its four children, and back.
MIX = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


@dataclass(frozen=True, eq=False)
class TreeNormal:
    """The normal posterior of a picture: means and variances of the coefficients (3, m, m) by level, coarsest first;
    picture and variance of the pixels, (n, n); log_determinant of the precision of all coefficients."""

    mean: list[Floats]
    spread: list[Floats]
    picture: Floats
    variance: Floats
    log_determinant: float


def normal_of_pixels(precision: Floats, shift: Floats, prior: list[Floats]) -> TreeNormal:
    """Return the exact posterior given pixels' evidence exp(shift u - precision u^2 / 2), both (n, n), 0 where missing.

    prior: precisions of the coefficients, (3, m, m) by level, coarsest first; scaling coefficients have a flat prior.
    A node of Haar's transform says what its four children are, so that coefficients are eliminated from the pixels
    up, and found from the root down: O(n^2), where the thesis solves by conjugate gradients and samples the variances.
    Raises InsufficientData where a part of the picture has no pixel at all.
    """
    seen, linear, log_determinant, eliminated = precision, shift, 0.0, []
    for own in reversed(prior):
        among = np.einsum("ik,abk,kj->abij", MIX, _children(seen), MIX)
        np.einsum("abii->abi", among)[..., 1:] += np.moveaxis(own, 0, -1)
        right = _children(linear) @ MIX
        bands = among[..., 1:, 1:]
        inverse, across = np.linalg.inv(bands), among[..., 0, 1:]
        log_determinant += float(np.linalg.slogdet(bands)[1].sum())
        gain, alone = (np.einsum("abij,abj->abi", inverse, one) for one in (across, right[..., 1:]))
        seen = among[..., 0, 0] - (across * gain).sum(axis=-1)
        linear = right[..., 0] - (across * alone).sum(axis=-1)
        eliminated.append((inverse, gain, alone))
    if seen.min() <= 0:
        raise InsufficientData("a part of the picture has no pixel at all; leave fewer out.")
    log_determinant += float(np.log(seen).sum())
    value, variance, means, spreads = linear / seen, 1 / seen, [], []
    for inverse, gain, alone in reversed(eliminated):
        mean = alone - gain * value[..., None]
        joint = np.empty((*value.shape, 4, 4))
        joint[..., 0, 0] = variance
        joint[..., 0, 1:] = joint[..., 1:, 0] = -variance[..., None] * gain
        joint[..., 1:, 1:] = inverse + variance[..., None, None] * gain[..., :, None] * gain[..., None, :]
        means.append(np.moveaxis(mean, -1, 0))
        spreads.append(np.moveaxis(np.einsum("abii->abi", joint)[..., 1:], -1, 0).copy())
        variance = _parents(np.einsum("ki,abij,jk->abk", MIX, joint, MIX))
        value = _parents(np.concatenate([value[..., None], mean], axis=-1) @ MIX)
    return TreeNormal(means, spreads, value, variance, log_determinant)


def _children(fine: Floats) -> Floats:
    """Return the four children of each node, (m, m, 4), of values (2m, 2m)."""
    return np.stack([fine[i::2, j::2] for i in (0, 1) for j in (0, 1)], axis=-1)


def _parents(children: Floats) -> Floats:
    """Return (2m, 2m) of (m, m, 4): the inverse of `_children`."""
    m = len(children)
    return children.reshape(m, m, 2, 2).transpose(0, 2, 1, 3).reshape(2 * m, 2 * m)


@dataclass(frozen=True)
class Inpainter(Denoiser):
    """As Denoiser, of pictures whose pixels are partly missing; each pass is exact given the coefficients' precisions.

    The bound of posterior means after a pass is that at the precisions with which it began; modes take the variances
    as nothing.
    """

    max_passes: int = 300
    tolerance: float = 1e-5

    def fill(self, image: Floats, known: Bools, sigma: float) -> Denoised:
        """Return the picture of the pixels known (n, n), with noise of this standard deviation; the others' values in
        image (n, n) are not read. n a multiple of 2^DEPTH. Missing pixels begin at the mean of the others."""
        precision, seen = known / sigma**2, np.where(known, image, 0.0)
        state = self.start(analyse(fill_by_mean(image, known), DEPTH)[1], sigma)
        objective: list[float] = []
        for _pass in range(self.max_passes):
            prior = state.precisions()
            found = normal_of_pixels(precision, precision * seen, prior)
            state.mean = found.mean
            bound = -float((precision * (seen - found.picture) ** 2).sum()) / 2
            if self.variational:
                state.variance = found.spread
                own = sum(float((one * z).sum()) for one, z in zip(prior, found.spread, strict=True))
                bound += (own - found.log_determinant) / 2
            state.size = [np.sqrt(z + s**2) for z, s in zip(state.variance, state.mean, strict=True)]
            log_prior, pairs = self.infer_states(state)
            objective.append(log_prior + bound)
            if len(objective) > 1 and objective[-1] - objective[-2] < self.tolerance * image.size:
                break
            self.learn(state, pairs)
        return Denoised(found.picture, state.rates, objective)


def fill_by_mean(image: Floats, known: Bools) -> Floats:
    """Return the picture with the mean of the known pixels for the others."""
    return np.where(known, image, image[known].mean())


def take_nearest(image: Floats, known: Bools) -> Floats:
    """Return the picture with the nearest known pixel for the others."""
    every = np.argwhere(np.ones_like(known))
    return np.asarray(NearestNDInterpolator(np.argwhere(known), image[known])(every)).reshape(image.shape)


def interpolate(image: Floats, known: Bools) -> Floats:
    """Return the picture, linear on the triangles between known pixels; outside them the nearest."""
    every = np.argwhere(np.ones_like(known))
    found = np.asarray(LinearNDInterpolator(np.argwhere(known), image[known])(every)).reshape(image.shape)
    return np.where(np.isnan(found), take_nearest(image, known), found)
