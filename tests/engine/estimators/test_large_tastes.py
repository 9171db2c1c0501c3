"""CollaborativeGP and CrowdGPPL by LargeFit, on crowds small enough to be fitted both ways."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.benchmarks.large import LargeTask, fit_without_matrix
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, Unsupported
from models_engine.estimators import crowd_gppl
from models_engine.estimators.collaborative import gp, large_fit, large_learning
from models_engine.estimators.collaborative.annotators import annotator_utilities
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.large_posterior import LargePosterior
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.simulate import simulate_crowd

pytestmark = pytest.mark.slow
FIXED = CollaborativeGP(covariance="prior", log_scale_sd=0.0, reliability=False)


@pytest.fixture
def large(monkeypatch):
    """Count every fit as one of thousands of items."""
    monkeypatch.setattr(gp, "MAX_DENSE_TASTES", 1)
    monkeypatch.setattr(crowd_gppl, "MAX_DENSE_ITEMS", 1)


def people(n_items=20, n_annotators=8, n_labels=160, seed=0, **known):
    rng = np.random.default_rng(seed)
    crowd = simulate_crowd(rng, n_items, n_annotators, taste_sd=0.7, link="probit", **known)
    return crowd, crowd.pairs(n_labels, rng)


def test_fixed_scales_give_the_fit_with_matrices(monkeypatch):
    """Without a shape only the consensus's covariance is approximate, by draws."""
    _, data = people()
    exact = FIXED.fit(data)
    monkeypatch.setattr(gp, "MAX_DENSE_TASTES", 1)
    found = FIXED.fit(data)
    assert isinstance(found, LargePosterior)
    assert found.diagnostics.converged
    assert_allclose(found.utilities(), exact.utilities(), atol=0.01)
    assert_allclose(found.standard_deviations(), exact.standard_deviations(), rtol=0.05)
    mine, theirs = (
        sorted(annotator_utilities(one.tastes), key=lambda known: known.annotator) for one in (found, exact)
    )
    for one, other in zip(mine, theirs, strict=True):
        assert one.annotator == other.annotator
        assert_allclose(one.mean, other.mean, atol=0.02)
        assert_allclose(one.sd, other.sd, rtol=0.05)
        assert_allclose(one.difference, other.difference, atol=0.02)
        assert_allclose(one.difference_sd, other.difference_sd, rtol=0.05)
    assert_allclose(found.log_predictive(data), exact.log_predictive(data), atol=0.03)
    assert_allclose(found.divisiveness(), exact.divisiveness(), atol=1e-6)


def test_a_fit_is_stored_and_taken_up_again(large):
    _, data = people(n_labels=300)
    first = replace(FIXED, reliability=True, covariance="auto").fit(data)
    again = CollaborativePosterior.from_arrays(first.to_arrays())
    assert isinstance(again, LargePosterior)
    assert_allclose(again.log_predictive(data), first.log_predictive(data))
    assert_allclose(again.standard_deviations(), first.standard_deviations())
    warm = replace(FIXED, reliability=True, covariance="auto").fit(data, start=again)
    assert warm.diagnostics.n_iterations <= first.diagnostics.n_iterations
    assert_allclose(warm.utilities(), first.utilities(), atol=0.02)


def test_a_refit_to_the_same_answers_takes_two_sweeps(large):
    _, data = people(n_labels=300)
    first = CollaborativeGP().fit(data)
    again = CollaborativeGP().fit(data, start=first)
    assert again.diagnostics.n_iterations == 2  # the second measures the covariance
    assert_allclose(again.utilities(), first.utilities(), atol=2e-3)
    assert_allclose(again.standard_deviations(), first.standard_deviations(), rtol=0.01)


@pytest.mark.parametrize("estimator", [CollaborativeGP(reliability=False), CrowdGPPL(reliability=False)])
def test_a_matrix_over_many_items_is_kept_for_features_and_sides_alone(monkeypatch, estimator):
    monkeypatch.setattr(large_fit, "MAX_FULL_ITEMS", 10)
    rng = np.random.default_rng(8)
    _, data = people(12, 4, 60)
    related = replace(data, item_features=rng.standard_normal((12, 1)))

    def has_matrix(data: Comparisons, **settings) -> bool:
        return not isinstance(replace(estimator, max_steps=1, **settings).fit(data), LargePosterior)

    assert not has_matrix(data)
    assert not has_matrix(related, features=False)
    assert has_matrix(related)
    assert has_matrix(data, side=True)
    assert has_matrix(data.subset(np.zeros(data.n_labels, bool)), side=True)
    monkeypatch.setattr(gp, "MAX_DENSE_TASTES", 11)
    monkeypatch.setattr(crowd_gppl, "MAX_DENSE_ITEMS", 11)
    assert not has_matrix(related, side=True)


def test_the_form_of_a_matrix_that_is_asked_for_is_given(monkeypatch):
    monkeypatch.setattr(large_fit, "MAX_FULL_ITEMS", 10)
    _, data = people(12, 4, 60)
    for kind in ("low-rank", "full", "prior"):
        assert not isinstance(CollaborativeGP(covariance=kind, max_steps=1).fit(data), LargePosterior)


def test_people_have_a_place_where_no_component_is_more_than_noise(large):
    """As with a matrix over items; predictions are about those without any component."""
    rng = np.random.default_rng(9)
    crowd = simulate_crowd(rng, 30, 8, taste_sd=0.3, link="probit")
    data = crowd.pairs(200, rng)
    found = CollaborativeGP().fit(data)
    assert "tastes lie along 0 components" in str(found.diagnostics.message)
    components = found.components()
    assert components is not None
    assert components.annotator_scores.shape == (8, 1)
    assert int(found.tastes.n_told) == 0
    assert all(0.8 < one.score_sds[0] <= 1 for one in annotator_utilities(found.tastes))
    without = CollaborativeGP(covariance="prior").fit(data)
    more = crowd.pairs(2_000, rng)
    assert_allclose(found.log_predictive(more).mean(), without.log_predictive(more).mean(), atol=2e-3)
    again = CollaborativeGP().fit(data, start=found)
    assert int(again.tastes.n_told) == 0


def test_a_fit_with_matrices_does_not_start_from_one_without(monkeypatch):
    _, data = people()
    cold = FIXED.fit(data)
    with monkeypatch.context() as patch:
        patch.setattr(gp, "MAX_DENSE_TASTES", 1)
        before = FIXED.fit(data)
    assert_allclose(FIXED.fit(data, start=before).utilities(), cold.utilities())


def test_features_of_items_and_annotators_count(large):
    rng = np.random.default_rng(4)
    features = rng.standard_normal((40, 1))
    _crowd, bare = people(40, 8, 200, seed=4)
    margin = 2 * (features[bare.pairs().left, 0] - features[bare.pairs().right, 0])
    outcome = (margin + rng.standard_normal(200) > 0).astype(float)
    data = Comparisons.from_pairs(
        bare.pairs().left,
        bare.pairs().right,
        outcome,
        bare.annotators,
        n_items=41,
        n_annotators=8,
        item_features=np.vstack([features, features.max(axis=0)]),
        annotator_features=rng.standard_normal((8, 2)),
    )
    found = CollaborativeGP(covariance="prior", reliability=False).fit(data)
    assert found.utilities()[40] > np.quantile(found.utilities()[:40], 0.75)  # nobody has compared it
    assert len(found.for_annotator(features=[0.0, 1.0]).utilities()) == 41
    with pytest.raises(Unsupported, match="GPPL"):
        found.at([[1.0]])


def test_sizes_are_learned_through_inducing_points(monkeypatch):
    """Of items with features the points leave nearly nothing beside them, from which no size can be told."""
    task = LargeTask.of(150, 30, 1_500, 2, "features")
    monkeypatch.setattr(large_learning, "N_POINTS", 60)
    found = fit_without_matrix(task.data, lambda *_: None)
    consensus_sd, taste_sd = found.tastes.scales[:2]
    assert consensus_sd < 1.5
    assert taste_sd < 0.9
    assert -found.log_predictive(task.held_out).mean() < 0.53


def test_rankings_grades_and_steepness_are_taken(large):
    rng = np.random.default_rng(5)
    crowd, _ = people(seed=5)
    ranked = FIXED.fit(crowd.rankings(60, 4, rng))
    assert np.corrcoef(ranked.utilities(), crowd.utilities)[0, 1] > 0.6
    graded = CollaborativeGP(covariance="prior", reliability=False).fit(crowd.graded(200, [0.0, 0.8], rng))
    assert graded.likelihood.cuts[0] == 0
    assert 0.4 < graded.likelihood.cuts[1] < 1.6
    steep = replace(FIXED, steepness=True).fit(crowd.pairs(150, rng))
    assert steep.tastes.steepness.shape == (8,)
    assert (steep.tastes.steepness != 1).all()


def test_side_biases_are_not_inferred_and_the_message_says_so(large):
    _, data = people()
    found = replace(FIXED, side=True).fit(data)
    assert "side biases are not inferred" in str(found.diagnostics.message)
    assert_allclose(found.utilities(), FIXED.fit(data).utilities())


def test_who_opposes_all_others_counts_as_reversed(large):
    rng = np.random.default_rng(6)
    crowd = simulate_crowd(rng, 15, 10, taste_sd=0.1, utility_sd=2.0, link="probit")
    turned = replace(crowd, reliability=np.append(np.ones(9), 0.0))
    found = CollaborativeGP(covariance="prior").fit(turned.pairs(400, rng))
    assert found.annotators.reliability[9] < 0.3 < 0.8 < found.annotators.reliability[:9].min()


def test_a_fit_is_cancelled_within_a_sweep(large):
    _, data = people()
    with pytest.raises(Cancelled):
        CollaborativeGP().fit(data, progress=lambda step, total, objective: step < 5)


def test_ten_thousand_items_are_not_refused():
    found = CollaborativeGP(covariance="prior", log_scale_sd=0.0).fit(
        Comparisons.from_pairs([0, 1, 2], [1, 2, 9_999], [1, 1, 1], [0, 1, 2], n_items=10_000)
    )
    assert found.utilities()[0] > found.utilities()[9_999]
    assert found.standard_deviations()[5_000] == pytest.approx(1.0, rel=0.02)
    assert CrowdGPPL().fit(Comparisons.from_pairs([0], [1], [1], n_items=10_000)).n_items == 10_000
