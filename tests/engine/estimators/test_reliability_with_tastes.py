"""Carelessness is not taken for taste, nor taste for carelessness: reliabilities of CollaborativeGP and CrowdGPPL."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.metrics import calibration_slope, coverage
from models_engine.data import Comparisons
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.inference.tastes.reliability import KNOTS, P_CARELESS, summarise_evidence
from models_engine.simulate import Crowd, opposed_camps, simulate_crowd

pytestmark = pytest.mark.usefixtures("quick_draws")

CARELESS = {3: 0.05, 4: 0.5, 5: 0.5, 6: 0.5}


def two_camps(careless: dict[int, float], n_pairs: int = 60, taste_sd: float = 1.0) -> tuple[Crowd, Comparisons]:
    rng = np.random.default_rng(0)
    people = opposed_camps(rng, 20, 20, taste_sd=taste_sd, own_sd=0.2)
    reliability = np.array([careless.get(j, 1.0) for j in range(20)])
    people = replace(people, reliability=reliability)
    return people, people.pairs(20 * n_pairs, rng)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [CollaborativeGP(), CollaborativeGP(covariance="full"), CrowdGPPL()])
def test_careless_people_neither_hide_the_consensus_nor_pass_for_a_taste(estimator):
    people, data = two_camps(CARELESS, taste_sd=0.7)
    posterior = estimator.fit(data)
    found, figures = posterior.utilities(), posterior.annotator_summary()
    assert np.corrcoef(found, people.utilities)[0, 1] > 0.95
    assert found.std() > 0.7 * people.utilities.std()
    assert figures.reliability[3] < 0.4
    assert figures.reliability[[4, 5, 6]].max() < 0.85
    assert np.delete(figures.reliability, [3, 4, 5, 6]).min() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("utility_sd", [0.0, 1.0])
@pytest.mark.parametrize("estimator", [CollaborativeGP(), CollaborativeGP(covariance="full")])
def test_two_camps_of_one_size_are_tastes(estimator, utility_sd):
    people, _ = two_camps({})
    rng = np.random.default_rng(1)
    own = people.own - (1 - utility_sd) * people.utilities
    data = replace(people, own=own).pairs(20 * 60, rng)
    posterior = estimator.fit(data)
    assert posterior.annotator_summary().reliability.min() > 0.75
    apart = posterior.for_annotator(0).utilities() - posterior.for_annotator(19).utilities()
    assert np.corrcoef(apart, own[0] - own[19])[0, 1] > 0.9


@pytest.mark.slow
def test_predictions_of_an_answer_include_the_chance_that_it_is_reversed():
    _, data = two_camps({3: 0.05}, n_pairs=15)
    posterior = CollaborativeGP(covariance="prior", log_scale_sd=0).fit(data)
    own = posterior.for_annotator(3)
    assert own.likelihood.lapse == posterior.lapses[3] > 0.5
    assert posterior.for_annotator(4).likelihood.lapse == 0
    plain = replace(own, likelihood=replace(own.likelihood, lapse=0.0)).preference(np.array([0]), np.array([1]))
    expected = own.likelihood.lapse + (1 - 2 * own.likelihood.lapse) * plain
    assert_allclose(posterior.pairwise_probabilities([0], [1], 3), expected)
    one = Comparisons.from_pairs([0], [1], [1.0], [3], n_items=20, n_annotators=20)
    assert_allclose(np.exp(posterior.log_predictive(one)), expected * (1 - posterior.likelihood.tie_rate))
    assert posterior.for_annotator(None).likelihood.lapse == pytest.approx(posterior.likelihood.lapse)
    assert posterior.restrict([0, 1]).for_annotator(3).likelihood.lapse == own.likelihood.lapse


def test_fits_of_versions_without_reliability_still_load():
    _, data = two_camps({}, n_pairs=5)
    plain = CollaborativeGP(covariance="prior", log_scale_sd=0, reliability=False).fit(data)
    assert not any("reliab" in name or "lapses" in name for name in plain.to_arrays())
    loaded = CollaborativePosterior.from_arrays(plain.to_arrays())
    assert loaded.reliabilities() is None
    assert_allclose(loaded.log_predictive(data), plain.log_predictive(data))


def test_fewer_than_four_annotators_all_count_as_reliable():
    _, data = two_camps({}, n_pairs=5)
    few = data.subset(np.flatnonzero(data.annotators < 3))
    assert CollaborativeGP().fit(few).annotator_summary().reliability is None


def test_without_evidence_everybody_counts_as_reliable_and_nothing_is_sure():
    found = summarise_evidence(np.zeros((len(KNOTS), 3)), np.ones(3, dtype=bool))
    assert not found.lapse.any()
    best = 1 / (1 + np.exp(-KNOTS[-1]))
    assert_allclose(found.mean, (1 - P_CARELESS) * best + P_CARELESS / 2, atol=0.002)
    assert (found.sd > 0.1).all()


def test_reliabilities_found_by_evidence_are_those_of_the_mixture():
    """Against the sum over a fine grid of 20 answers of known chances, 6 of them right."""
    right, wrong = 6, 14
    reliability = 1 / (1 + np.exp(-KNOTS))
    evidence = (right * np.log(reliability) + wrong * np.log1p(-reliability))[:, None]
    found = summarise_evidence(evidence, np.ones(1, dtype=bool))
    assert found.mean[0] == pytest.approx((right + 1) / (right + wrong + 2), abs=0.03)  # Laplace's rule of succession
    assert found.lapse[0] == pytest.approx(1 - found.mean[0], abs=0.001)
    assert found.crowd == pytest.approx(1 - found.lapse[0])


def large_crowd(careless: int) -> tuple[Crowd, Comparisons]:
    """100 people, too many for draws; the first `careless` answer by chance, three of them the wrong way round."""
    rng = np.random.default_rng(3)
    people = simulate_crowd(rng, 40, 100, taste_sd=0.7, link="probit")
    if careless:
        people = replace(people, reliability=np.repeat([0.5, 0.1, 1.0], [careless - 3, 3, 100 - careless]))
    return people, people.pairs(2_000, rng)


@pytest.mark.slow
def test_a_reliable_crowd_too_large_for_draws_is_fitted_as_one():
    people, data = large_crowd(0)
    posterior, plain = CollaborativeGP().fit(data), CollaborativeGP(reliability=False).fit(data)
    assert (posterior.lapses > 0).sum() <= 2
    assert_allclose(posterior.utilities(), plain.utilities(), atol=0.15)
    assert 0.8 < calibration_slope(posterior, people.utilities) < 1.2


def test_rankings_of_a_crowd_too_large_for_draws_tell_of_no_reliability():
    """Evidence takes each two neighbours of a ranking for reversed by themselves: it called tastes careless."""
    rng = np.random.default_rng(3)
    data = simulate_crowd(rng, 12, 80, taste_sd=0.7, link="probit").rankings(90, 6, rng)
    posterior = CollaborativeGP(covariance="prior", log_scale_sd=0).fit(data)
    assert posterior.annotator_summary().reliability is None


@pytest.mark.slow
def test_careless_people_of_a_crowd_too_large_for_draws_are_found():
    """Without reliabilities utilities are too small and their intervals miss them."""
    people, data = large_crowd(22)
    posterior, plain = CollaborativeGP().fit(data), CollaborativeGP(reliability=False).fit(data)
    assert np.corrcoef(posterior.utilities(), people.utilities)[0, 1] > 0.93
    assert 0.75 < calibration_slope(posterior, people.utilities) < 1.25 < calibration_slope(plain, people.utilities)
    assert coverage(posterior, people.utilities) > coverage(plain, people.utilities) + 0.1
    assert (posterior.lapses[22:] > 0).sum() <= 4
    assert posterior.annotator_summary().reliability[19:22].max() < 0.5
