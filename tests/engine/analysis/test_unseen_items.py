"""Items never compared: the second stage against dense formulas, coverage, places, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from models_engine.analysis.unseen_items import (
    Predictions,
    place_predictions,
    predict_unseen,
    restricted_likelihood,
)
from models_engine.covariance.forms import DenseCovariance
from models_engine.errors import InvalidData
from models_engine.posterior import Diagnostics, GaussianPosterior

DONE = Diagnostics(True, 1, (0.0,), 0.0, "")


def posterior_of(mean, sd, prior_sd=None) -> GaussianPosterior:
    return GaussianPosterior(np.asarray(mean), DenseCovariance(np.diag(np.square(sd))), DONE, prior_sd=prior_sd)


def contrasts(parts) -> np.ndarray:
    """An orthonormal basis of what sums to nothing within each part."""
    dummies = (parts[:, None] == np.unique(parts)).astype(float)
    return np.linalg.qr(np.column_stack([dummies, np.eye(len(parts))]))[0][:, dummies.shape[1] : len(parts)]


def test_the_restricted_likelihood_is_that_of_contrasts():
    """Patterson & Thompson: the density of what no part's mean enters, up to a constant that all scales share."""
    rng = np.random.default_rng(0)
    x, parts = rng.standard_normal((12, 3)), np.repeat([0, 1, 2], [3, 4, 5])
    y, precision = rng.standard_normal(12), rng.uniform(0.5, 4, 12)
    basis = contrasts(parts)

    def direct(slope: float, own: float) -> float:
        covariance = slope**2 * x @ x.T + np.diag(own**2 + 1 / precision)
        return multivariate_normal(cov=basis.T @ covariance @ basis).logpdf(basis.T @ y)

    def ours(slope: float, own: float) -> float:
        return restricted_likelihood(y, precision, x, parts, slope_sd=slope, item_sd=own)

    scales = [(0.0, 0.3), (0.5, 0.3), (0.5, 2.0), (3.0, 0.01)]
    at_first = [ours(*scales[0]), direct(*scales[0])]
    for one in scales[1:]:
        assert ours(*one) - at_first[0] == pytest.approx(direct(*one) - at_first[1], abs=1e-9)


def test_predictions_are_those_of_the_dense_normal_distribution(monkeypatch):
    """With one pair of scales: condition one large Gaussian with a nearly flat prior of each part's mean."""
    monkeypatch.setattr("models_engine.analysis.unseen_items.SCALES", np.array([0.5]))
    monkeypatch.setattr("models_engine.analysis.unseen_items.LEAST_WEIGHT", 1.0)
    rng = np.random.default_rng(1)
    n = 24
    x, parts = rng.standard_normal((n, 2)), np.repeat([0, 1], 12)
    compared = np.arange(n) % 4 != 0
    sd = rng.uniform(0.2, 0.6, n)
    mean = 2 * x[:, 0] + rng.standard_normal(n) * 0.3
    for part in (0, 1):
        mean[parts == part] -= mean[(parts == part) & compared].mean()
    mean -= mean.mean()
    posterior = posterior_of(mean, sd, prior_sd=2.0)
    new = np.flatnonzero(~compared)
    found = predict_unseen(posterior, x, parts, compared, new, parts[new])

    centre = np.array([mean[compared & (parts == part)].mean() for part in (0, 1)])
    own = 1 / sd**2 - 1 / 4
    y = ((mean - centre[parts]) / sd**2 / own)[compared]
    spread = np.sqrt(np.average((y - y.mean()) ** 2, weights=own[compared]))
    z = (x - x[compared].mean(axis=0)) / x[compared].std(axis=0) / np.sqrt(2)
    scale = 0.5 * spread
    prior = scale**2 * z @ z.T + scale**2 * np.eye(n) + 1e7 * (parts[:, None] == parts)
    noisy = prior[np.ix_(compared, compared)] + np.diag(1 / own[compared])
    cross = prior[np.ix_(new, np.flatnonzero(compared))]
    assert_allclose(found.mean, cross @ np.linalg.solve(noisy, y), atol=1e-5)
    variance = np.diag(prior[np.ix_(new, new)] - cross @ np.linalg.solve(noisy, cross.T))
    assert_allclose(found.sd**2, variance, rtol=1e-4, atol=1e-5)
    assert found.explained == pytest.approx(0.5)


def simulate(rng, share: float, n: int = 60, d: int = 5):
    """Utilities with sd 1, of which features explain `share`; a posterior of the first three quarters."""
    x = rng.standard_normal((n, d))
    slope = rng.standard_normal(d)
    explained = x @ slope / np.linalg.norm(slope)
    truth = np.sqrt(share) * explained + np.sqrt(1 - share) * rng.standard_normal(n)
    compared = np.arange(n) < 3 * n // 4
    noise = 0.4
    shrink = 1.5**2 / (1.5**2 + noise**2)
    seen = np.where(compared, shrink * (truth + noise * rng.standard_normal(n)), 0.0)
    sd = np.where(compared, np.sqrt(shrink) * noise, 1.5)
    return x, truth, compared, posterior_of(seen, sd, prior_sd=1.5)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_intervals_hold_what_they_say_and_features_count_for_what_they_explain(share):
    rng = np.random.default_rng(2)
    inside, errors, told = [], [], []
    for _ in range(60):
        x, truth, compared, posterior = simulate(rng, share)
        new, zeros = np.flatnonzero(~compared), np.zeros(60, int)
        found = predict_unseen(posterior, x, zeros, compared, new, zeros[new])
        away = truth[new] - truth[compared].mean() - found.mean
        inside.append(np.abs(away) < 1.645 * found.sd)
        errors.append(away)
        told.append(found.explained)
    assert 0.87 < np.mean(inside) < 0.93  # 900 items: standard error .01
    assert np.mean(told) == pytest.approx(share, abs=0.1)
    assert np.std(errors) < {0.0: 1.06, 0.5: 0.82, 0.9: 0.45}[share]


def test_places_are_those_of_many_draws():
    rng = np.random.default_rng(3)
    posterior = posterior_of([2.0, 1.0, 0.0, -1.0, -2.0], [0.3] * 5)
    predicted = Predictions(np.array([0.5, -3.0]), np.array([0.7, 0.1]), 0.5)
    found = place_predictions(predicted, posterior, k=2, rng=rng)
    draws = posterior.sample(200_000, rng=rng)
    own = predicted.mean + predicted.sd * rng.standard_normal((200_000, 2))
    places = 1 + (draws[:, :, None] > own[:, None, :]).sum(axis=1)
    assert found.rank.tolist() == [3, 6]
    assert_allclose(found.p_top_k, (places <= 2).mean(axis=0), atol=0.03)
    assert found.low.tolist() == np.quantile(places, 0.05, axis=0).tolist()
    assert found.high.tolist() == np.quantile(places, 0.95, axis=0).tolist()


def test_an_unhelpful_question_is_refused():
    rng = np.random.default_rng(4)
    x, _truth, compared, posterior = simulate(rng, 0.5)
    zeros, new = np.zeros(60, int), np.array([59])
    with pytest.raises(InvalidData, match="home"):
        predict_unseen(posterior, x, zeros, compared, new, np.array([3]))
    with pytest.raises(InvalidData, match="5 are needed"):
        predict_unseen(posterior, x, zeros, np.arange(60) < 4, new, zeros[new])
    with pytest.raises(InvalidData, match="not finite"):
        predict_unseen(posterior, np.where(x > 1, np.nan, x), zeros, compared, new, zeros[new])
    with pytest.raises(InvalidData, match="rows of each"):
        predict_unseen(posterior, x[:5], zeros, compared, new, zeros[new])
