"""The quick step that adds the newest answers, against the same posterior found by a general optimiser, and a fit."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit

from models_engine.analysis.newest_answers import MAX_DENSE, MAX_PAIRS, update_posterior
from models_engine.analysis.scores import common_unit
from models_engine.covariance.forms import DenseCovariance, LowRankCovariance
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.posterior import GaussianPosterior, SamplePosterior
from models_engine.predictive import Likelihood
from models_engine.simulate import simulate_crowd
from models_engine.summaries import Diagnostics

KNOWN = Diagnostics(True, 1, (), 0.0, "converged")


def a_posterior(n: int, link: str = "logit", seed: int = 0) -> GaussianPosterior:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n)) / np.sqrt(n)
    mean = rng.standard_normal(n)
    spread = DenseCovariance.of(root @ root.T + 0.2 * np.eye(n))
    return GaussianPosterior(mean - mean.mean(), spread, KNOWN, Likelihood(link=link))


def general_mode(posterior: GaussianPosterior, newest: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """The mode over the utilities without the last, which the others determine, and the inverse curvature there."""
    n, unit, pairs = posterior.n_items, common_unit(posterior), newest.pairs()
    basis = np.vstack([np.eye(n - 1), -np.ones(n - 1)])
    precision = np.linalg.inv(posterior.covariance()[:-1, :-1])
    prior = posterior.utilities()[:-1]

    def loss(free: np.ndarray) -> float:
        z = unit * (basis @ free)[pairs.left] - unit * (basis @ free)[pairs.right]
        told = pairs.weight @ (pairs.outcome * log_expit(z) + (1 - pairs.outcome) * log_expit(-z))
        return float((free - prior) @ precision @ (free - prior) / 2 - told)

    found = minimize(loss, prior, method="BFGS", options={"gtol": 1e-9}).x
    step, hessian, unit_of = 1e-3, np.empty((n - 1, n - 1)), np.eye(n - 1)
    for i in range(n - 1):
        for j in range(n - 1):
            ends = [loss(found + step * (a * unit_of[i] + b * unit_of[j])) for a in (1, -1) for b in (1, -1)]
            hessian[i, j] = (ends[0] - ends[1] - ends[2] + ends[3]) / (4 * step**2)
    return basis @ found, basis @ np.linalg.inv(hessian) @ basis.T


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_mode_and_its_curvature_are_those_of_a_general_optimiser(link):
    posterior = a_posterior(5, link)
    newest = Comparisons.from_pairs([0, 0, 1, 3, 2], [1, 1, 2, 4, 0], [1, 1, 0.5, 0, 1], n_items=5)
    updated = update_posterior(posterior, newest)
    mean, covariance = general_mode(posterior, newest)
    np.testing.assert_allclose(updated.utilities(), mean, atol=2e-5)
    np.testing.assert_allclose(updated.covariance(), covariance, atol=2e-5)


def test_sets_of_three_and_more_count_as_pairs_of_composite_weight():
    posterior = a_posterior(6)
    newest = Comparisons.from_rankings([[0, 3, 1, 5], [2, 4, 0, 1]], n_items=6)
    mean, covariance = general_mode(posterior, newest)
    updated = update_posterior(posterior, newest)
    np.testing.assert_allclose(updated.utilities(), mean, atol=2e-5)
    np.testing.assert_allclose(updated.covariance(), covariance, atol=2e-5)


def test_it_is_near_the_fit_of_all_answers():
    rng = np.random.default_rng(3)
    people = simulate_crowd(rng, 60, 20, utility_sd=1.0)
    before, newest = people.pairs(2_000, rng), people.pairs(100, rng)
    fit = BradleyTerry().fit
    updated, all_of_them = update_posterior(fit(before), newest), fit(Comparisons.concatenate([before, newest]))
    # Both are modes; they part where an item's answers so far are too one-sided for a Gaussian posterior.
    sd = all_of_them.standard_deviations()
    error, ratio = np.abs(updated.utilities() - all_of_them.utilities()) / sd, updated.standard_deviations() / sd
    assert error.mean() < 0.01
    assert error.max() < 0.1
    assert np.abs(ratio - 1).mean() < 0.01
    assert np.abs(ratio - 1).max() < 0.15


def test_more_pairs_than_a_block_holds_come_near_to_all_at_once(monkeypatch):
    rng = np.random.default_rng(4)
    people = simulate_crowd(rng, 40, 10, utility_sd=1.0)
    before, newest = people.pairs(1_000, rng), people.pairs(500, rng)
    assert len(newest.pairs().distinct().low) > MAX_PAIRS
    fitted = BradleyTerry().fit(before)
    in_blocks = update_posterior(fitted, newest)
    monkeypatch.setattr("models_engine.analysis.newest_answers.MAX_PAIRS", 10_000)
    at_once = update_posterior(fitted, newest)
    sd = at_once.standard_deviations()
    assert np.abs((in_blocks.utilities() - at_once.utilities()) / sd).max() < 0.1
    np.testing.assert_allclose(in_blocks.standard_deviations(), sd, rtol=0.03)


def test_of_many_items_only_those_asked_about_move():
    n = MAX_DENSE + 100
    posterior = GaussianPosterior(np.zeros(n), LowRankCovariance(np.zeros((n, 0)), np.ones(n)), KNOWN)
    updated = update_posterior(posterior, Comparisons.from_pairs([7, 7], [9, 9], [1, 1], n_items=n))
    moved = updated.utilities() - updated.utilities()[0]
    assert set(np.flatnonzero(np.abs(moved) > 1e-9)) == {7, 9}
    small = GaussianPosterior(np.zeros(2), DenseCovariance.of(np.eye(2)), KNOWN)
    alone = update_posterior(small, Comparisons.from_pairs([0, 0], [1, 1], [1, 1], n_items=2)).utilities()
    assert moved[7] - moved[9] == pytest.approx(alone[0] - alone[1], rel=2e-3)  # centring takes 2/n of a variance


def test_draws_are_weighed_by_the_probability_of_the_answers():
    rng = np.random.default_rng(5)
    posterior = SamplePosterior.of(rng.standard_normal((20_000, 4)), KNOWN)
    newest = Comparisons.from_pairs([0, 1, 2], [1, 2, 3], [1, 1, 0.5], n_items=4)
    z = posterior.draws[:, [0, 1, 2]] - posterior.draws[:, [1, 2, 3]]
    weight = np.exp(log_expit(z[:, 0]) + log_expit(z[:, 1]) + (log_expit(z[:, 2]) + log_expit(-z[:, 2])) / 2)
    expected = weight @ posterior.draws / weight.sum()
    np.testing.assert_allclose(
        update_posterior(posterior, newest).utilities(), expected, atol=0.02
    )  # three standard errors of 20,000 draws
    surprising = Comparisons.from_pairs(np.zeros(3_000, int), np.full(3_000, 3), np.ones(3_000), n_items=4)
    with pytest.raises(InsufficientData, match="draws; fit again"):
        update_posterior(posterior, surprising)


def test_nothing_new_changes_nothing():
    posterior = a_posterior(5)
    updated = update_posterior(posterior, Comparisons.from_pairs([], [], [], n_items=5, n_annotators=0))
    np.testing.assert_allclose(updated.utilities(), posterior.utilities(), atol=1e-12)
    np.testing.assert_allclose(updated.covariance(), posterior.covariance(), atol=1e-12)
