"""Items never compared: the second stage against dense formulas, coverage, places, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, polygamma
from scipy.stats import multivariate_normal

from models_engine.analysis.unseen_items import (
    Predictions,
    place_predictions,
    predict_unseen,
    restricted_likelihood,
)
from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.posterior import BasePosterior, Diagnostics, GaussianPosterior, SamplePosterior

DONE = Diagnostics(True, 1, (0.0,), 0.0, "")


def posterior_of(mean, sd, **prior) -> GaussianPosterior:
    return GaussianPosterior(np.asarray(mean), DenseCovariance(np.diag(np.square(sd))), DONE, **prior)


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


@pytest.mark.parametrize("drawn", [False, True])
def test_a_gamma_prior_is_taken_out_of_a_gamma_posterior(drawn, monkeypatch):
    """Log density s f - b e^f less the prior's a f - a e^f: slope and curvature of the rest by finite differences."""
    rng, a, n = np.random.default_rng(5), 0.8, 30
    shapes = a + rng.uniform(0.5, 6, n)
    modes = rng.standard_normal(n)
    modes -= np.log(np.mean(np.exp(modes)))
    rates = shapes * np.exp(-modes)
    sd, mean = np.sqrt(polygamma(1, shapes)), digamma(shapes) - np.log(rates)
    posterior: BasePosterior = posterior_of(modes - modes.mean(), sd, prior_sd=1.0, prior_shape=a)
    if drawn:
        two = np.stack([mean + sd / np.sqrt(2), mean - sd / np.sqrt(2)])  # whose mean and standard deviation are these
        posterior = SamplePosterior(two - mean.mean(), DONE, prior_sd=1.0, prior_shape=a)
    found = {}
    monkeypatch.setattr(
        "models_engine.analysis.unseen_items._regress",
        lambda y, precision, *_others: found.update(y=y, precision=precision),
    )
    zeros = np.zeros(n, int)
    predict_unseen(posterior, np.zeros((n, 0)), zeros, np.ones(n, bool), zeros[:0], zeros[:0])

    def of_answers(f):
        return (shapes - a) * f - (rates - a) * np.exp(f)

    step = 1e-4
    low, middle, high = (of_answers(modes + move) for move in (-step, 0.0, step))
    slope, curvature = (high - low) / (2 * step), (2 * middle - high - low) / step**2
    kept = curvature > 0.1 * shapes  # else the answers say hardly anything
    assert kept.sum() > 20
    assert_allclose(found["precision"][kept], curvature[kept], rtol=1e-4)
    assert_allclose(found["y"][kept], (modes - modes.mean() + slope / curvature)[kept], atol=1e-4)


def simulate_rankings(rng, n: int = 40, n_labels: int = 100) -> tuple[np.ndarray, np.ndarray, Comparisons]:
    """Features, utilities of sd 1.5 and rankings of three of the first 30 items."""
    x = rng.standard_normal((n, 2))
    utility = 1.5 * (np.sqrt(0.6) * x[:, 0] + np.sqrt(0.4) * rng.standard_normal(n))
    sets = np.stack([rng.choice(30, 3, replace=False) for _ in range(n_labels)])
    order = np.argsort(-utility[sets] - rng.gumbel(size=sets.shape), axis=1)
    return x, utility, Comparisons.from_rankings(np.take_along_axis(sets, order, axis=1), n_items=n)


def away_from(fit: BasePosterior, x, utility) -> np.ndarray:
    """How far utilities never compared are from what is predicted, in standard deviations and in logits, and what is
    predicted, (3, n)."""
    new, zeros = np.arange(30, 40), np.zeros(40, int)
    found = predict_unseen(fit, x, zeros, np.arange(40) < 30, new, zeros[new])
    away = utility[new] - utility[:30].mean() - found.mean
    return np.stack([away / found.sd, away, found.mean])


@pytest.mark.parametrize("inference", ["map", pytest.param("gibbs", marks=pytest.mark.slow)])
def test_plackett_luce_is_shrunk_once(inference):
    """With its prior left in: .49 and .54 of 90% intervals hold the utility, predictions spread by .53 and .57, mean
    squared errors of 1.39 and 1.36. BradleyTerry has .83, .92 and 1.24 of these crowds.
    """
    rng, found = np.random.default_rng(6), []
    settings = {"n_draws": 1000, "n_burn_in": 100} if inference == "gibbs" else {}
    for _ in range(15):
        x, utility, data = simulate_rankings(rng)
        found.append(away_from(PlackettLuce(1.0, inference, **settings).fit(data), x, utility))
    scaled, away, means = np.array(found).transpose(1, 0, 2).reshape(3, -1)
    assert np.mean(np.abs(scaled) < 1.645) > 0.7
    assert np.std(means) > 0.75
    assert np.mean(away**2) < 1.3


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
