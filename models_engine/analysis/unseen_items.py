"""Utilities and places of items that nobody compared, predicted from item features: for any estimator's posterior.

A second stage on a posterior. Of an item i in connected part p the posterior says N(m_i, s_i^2); without the prior
N(0, t^2) that shrank it, its answers say y_i = m_i/s_i^2 / r_i with precision r_i = 1/s_i^2 - 1/t^2. Then

    y_i = a_p + x_i'b + e_i + noise,  b ~ N(0, B^2/d I),  e_i ~ N(0, E^2),  noise ~ N(0, 1/r_i),  a_p flat,

x_i the d standardised features: the model of Fay & Herriot (1979), its two scales weighed by their restricted
likelihood (Patterson & Thompson 1971) over a grid, E with a flat prior (Gelman 2006), B with one flat on its logarithm.
An item never compared has y = a_p + x'b + e. Of a Gamma prior on e^utility see _without_gamma.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, softmax

from models_engine.arrays import read_count, read_floats, read_integers, read_number
from models_engine.errors import InvalidData
from models_engine.estimators.plackett_luce import match_gamma_shapes
from models_engine.kernels import standardise
from models_engine.linalg import chunk_slices
from models_engine.posterior import BasePosterior, SamplePosterior
from models_engine.validation import check_mask

__all__ = ["PredictedPlaces", "Predictions", "place_predictions", "predict_unseen", "restricted_likelihood"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
SCALES = 2.0 ** np.arange(-5.0, 3.01, 0.5)  # of B and E, as multiples of the spread of the utilities
LEAST_WEIGHT = 1e-3  # of a pair of scales, below which it is left out
LEAST_SHARE, LEAST_GAMMA_SHARE = 1e-3, 0.1  # of a posterior's precision that is counted as the answers'
MIN_ITEMS = 5  # with answers, from which anything is learned
N_DRAWS = 2_000


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted utilities: mean and sd, both (n,), measured from the mean of the ranked items of the part.

    explained: the share of the differences between the items' utilities that features explain, 0 to 1.
    """

    mean: Floats
    sd: Floats
    explained: float


@dataclass(frozen=True, eq=False)
class PredictedPlaces:
    """Places that items would have among those of a part, each (n,): place by the mean, ends of the central interval,
    and the probability of being among the best k."""

    rank: Ints
    low: Ints
    high: Ints
    p_top_k: Floats


def predict_unseen(
    posterior: BasePosterior,
    features: ArrayLike,
    parts: ArrayLike,
    compared: ArrayLike,
    items: ArrayLike,
    homes: ArrayLike,
) -> Predictions:
    """Predict the utilities of `items`, which nobody compared, from `features` (n_items, d).

    parts (n_items,): number of each item's connected part; utilities of different parts are not comparable.
    compared (n_items,): which items have answers and a place; what features mean is learned from them.   items (n,),
    homes (n,): the part among whose items each is to have its place.

    A posterior that learned from item features itself (CollaborativeGP, GPPL, FeaturePlackettLuce) has predicted them.
    Raises InvalidData for shapes, for homes without compared items, and for fewer than 5 compared items.
    """
    x, part, known = _read(posterior, features, parts, compared)
    new, home = read_integers(items, "items"), read_integers(homes, "homes")
    if new.shape != home.shape or new.ndim != 1:
        raise InvalidData(f"items have shape {new.shape} and homes {home.shape}; give a part for each.")
    if not np.isin(home, part[known]).all():
        raise InvalidData("some home has no compared items, so nothing has a place there.")
    mean = posterior.utilities()
    counts = np.bincount(part[known], minlength=part.max() + 1)
    centre = np.bincount(part[known], mean[known], part.max() + 1) / np.maximum(counts, 1)
    if learned_from_features(posterior):
        own = posterior.standard_deviations()[new]
        return Predictions(mean[new] - centre[home], own, float("nan"))
    y, precision = _without_prior(posterior, np.flatnonzero(known), mean - centre[part])
    scaled = standardise(x, x[known]) if x.shape[1] else x
    scaled = scaled / np.sqrt(max(1, scaled.shape[1]))
    return _regress(y, precision, scaled[known], part[known], scaled[new], home)


def learned_from_features(posterior: BasePosterior) -> bool:
    """Return whether the utilities of items never compared come from their features already."""
    return bool(getattr(posterior, "uses_item_features", False))


def _read(
    posterior: BasePosterior, features: ArrayLike, parts: ArrayLike, compared: ArrayLike
) -> tuple[Floats, Ints, Bools]:
    x, part = read_floats(features, "features"), read_integers(parts, "parts")
    n = posterior.n_items
    if x.ndim != 2 or len(x) != n or part.shape != (n,):
        raise InvalidData(f"features have shape {x.shape} and parts {part.shape}; give {n} rows of each.")
    if not np.isfinite(x).all():
        raise InvalidData("features hold a number that is not finite; fill in what is not known.")
    known = check_mask(compared, n, "compared")
    if known.sum() < MIN_ITEMS:
        raise InvalidData(f"{known.sum()} items are compared; {MIN_ITEMS} are needed to learn from.", value=known.sum())
    return x, part, known


def _without_prior(posterior: BasePosterior, known: Ints, mean: Floats) -> tuple[Floats, Floats]:
    """Return what the answers alone say of each item, (n,) mean and precision; the prior stays where none is known."""
    deviation = np.maximum(posterior.deviations_at_scale()[known], 1e-6)
    precision, prior = deviation**-2, posterior.prior_sd
    if prior is None:
        return mean[known], precision
    if posterior.prior_shape is not None:
        return _without_gamma(posterior, posterior.prior_shape, known, mean[known])
    own = np.maximum(precision - prior**-2, LEAST_SHARE * precision)
    return mean[known] * precision / own, own


def _without_gamma(posterior: BasePosterior, a: float, known: Ints, mean: Floats) -> tuple[Floats, Floats]:
    """Return the same under a prior of log density a f - a e^f of a utility f, a Gamma of shape a on e^f.

    A posterior is taken as of this form, s f - b e^f, its shape s by its standard deviation: trigamma(s) = sd^2. At its
    mode f it has curvature s and the prior a e^f, and the answers have the slope a e^f - a that balances the prior's.
    The slopes of the prior sum to nothing, from which the constant of the utilities follows.
    """
    shapes, modes = match_gamma_shapes(np.maximum(posterior.standard_deviations(), 1e-6)), posterior.utilities()
    if isinstance(posterior, SamplePosterior):  # whose utilities are means, psi(s) - log b
        away = np.log(shapes) - digamma(shapes)
        modes, mean = modes + away, mean + away[known] - away[known].mean()
    worths = a * posterior.n_items * softmax(modes)[known]
    own = np.maximum(shapes[known] - worths, LEAST_GAMMA_SHARE * shapes[known])
    return mean + (worths - a) / own, own


def _regress(y: Floats, precision: Floats, x: Floats, part: Ints, new: Floats, home: Ints) -> Predictions:
    """Return the mixture of predictions over the grid of scales."""
    numbers, part_of = np.unique(part, return_inverse=True)
    home_of = np.searchsorted(numbers, home)
    spread = max(float(np.sqrt(np.average((y - y.mean()) ** 2, weights=precision))), 1e-6)
    fits = [_Stage(y, precision, x, part_of, spread * own) for own in SCALES]
    slopes = np.concatenate([[0.0], spread * SCALES])
    evidence = np.array([[fit.evidence(slope) for slope in slopes] for fit in fits])
    weight = softmax(evidence + np.log(SCALES)[:, None])
    means, variances, shares, explained_shares = [], [], [], []
    for row, column in np.argwhere(weight >= LEAST_WEIGHT * weight.max()):
        mean, variance = fits[row].predict(slopes[column], new, home_of)
        explained_shares.append(slopes[column] ** 2 / (slopes[column] ** 2 + fits[row].item_sd ** 2))
        means.append(mean)
        variances.append(variance)
        shares.append(weight[row, column])
    share = np.array(shares) / sum(shares)
    mean = share @ np.array(means)
    variance = share @ (np.array(variances) + (np.array(means) - mean) ** 2)
    explained = float(share @ explained_shares) if x.shape[1] else 0.0
    return Predictions(mean, np.sqrt(variance), explained)


class _Stage:
    """The regression at one sd of the items' own parts: everything is a matter of the eigenvectors of x'Wx then."""

    def __init__(self, y: Floats, precision: Floats, x: Floats, part: Ints, item_sd: float) -> None:
        self.item_sd = item_sd
        w = 1 / (item_sd**2 + 1 / precision)
        n_parts = int(part.max()) + 1
        self.total = np.bincount(part, w, n_parts)
        self.y_mean = np.bincount(part, w * y, n_parts) / self.total
        sums = np.zeros((n_parts, x.shape[1]))
        np.add.at(sums, part, w[:, None] * x)
        self.x_mean = sums / self.total[:, None]
        own_y, own_x = y - self.y_mean[part], x - self.x_mean[part]
        self.rest = np.log(w).sum() - np.log(self.total).sum() - float(w @ own_y**2)
        self.values, self.vectors = np.linalg.eigh((own_x * w[:, None]).T @ own_x)
        self.values = np.maximum(self.values, 0.0)
        self.pull = self.vectors.T @ (own_x.T @ (w * own_y))

    def evidence(self, slope: float) -> float:
        """Return the restricted log likelihood at B = slope, up to a constant that all scales share."""
        grown = 1 + slope**2 * self.values
        return float(self.rest - np.log(grown).sum() + slope**2 * (self.pull**2 / grown).sum()) / 2

    def predict(self, slope: float, new: Floats, home: Ints) -> tuple[Floats, Floats]:
        """Return mean and variance, both (n,), of new items' utilities."""
        shrunk = slope**2 / (1 + slope**2 * self.values)
        away = (new - self.x_mean[home]) @ self.vectors
        variance = away**2 @ shrunk + 1 / self.total[home] + self.item_sd**2
        return self.y_mean[home] + away @ (shrunk * self.pull), variance


def restricted_likelihood(
    y: ArrayLike, precision: ArrayLike, features: ArrayLike, parts: ArrayLike, *, slope_sd: float, item_sd: float
) -> float:
    """Return the restricted log likelihood of the second stage at two scales, up to a constant that all scales share.

    y, precision (n,); features (n, d) as they are, slope_sd of each; parts (n,) from 0 without gaps.
    """
    return _Stage(
        read_floats(y, "y"),
        read_floats(precision, "precision"),
        read_floats(features, "features"),
        read_integers(parts, "parts"),
        read_number(item_sd, "item_sd", above=0.0),
    ).evidence(read_number(slope_sd, "slope_sd", least=0.0))


def place_predictions(
    predicted: Predictions,
    posterior: BasePosterior,
    *,
    level: float = 0.9,
    k: int = 10,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
) -> PredictedPlaces:
    """Return the places that the predicted items would each have among the items of `posterior`, a part's.

    From draws of both, the predicted items independent of the others. Raises InvalidData, InvalidSetting.
    """
    n = len(predicted.mean)
    tail = (1 - read_number(level, "level", above=0.0, below=1.0)) / 2
    k, n_draws = read_count(k, "k"), read_count(n_draws, "n_draws")
    places = np.empty((n_draws, n), dtype=np.int64)
    for chunk in chunk_slices(n_draws, posterior.n_items + n):
        size = chunk.stop - chunk.start
        others = np.sort(posterior.sample(size, rng=rng), axis=1)
        own = predicted.mean + predicted.sd * rng.standard_normal((size, n))
        for row in range(size):
            places[chunk.start + row] = 1 + posterior.n_items - np.searchsorted(others[row], own[row])
    utilities = np.sort(posterior.utilities())
    rank = 1 + posterior.n_items - np.searchsorted(utilities, predicted.mean)
    low, high = np.quantile(places, [tail, 1 - tail], axis=0, method="inverted_cdf").astype(np.int64)
    return PredictedPlaces(rank, np.minimum(low, rank), np.maximum(high, rank), (places <= k).mean(axis=0))
