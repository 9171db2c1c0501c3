"""CollaborativeGP: what it adds to the conformance suite - tastes, new items and annotators, refits, nasty data."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr

from models_engine.analysis.metrics import coverage
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting, NotConverged, Unsupported
from models_engine.estimators.collaborative import steps as collaborative_steps
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.simulate import simulate_crowd
from tests.budget import examples

pytestmark = pytest.mark.usefixtures("quick_draws")

PLAIN = CollaborativeGP(covariance="prior", log_scale_sd=0)


def simulate_people(seed: int = 0, *, n_items: int = 10, n_annotators: int = 40, n_labels: int = 1200, **options):
    rng = np.random.default_rng(seed)
    options = {"utility_sd": 1.0, "taste_sd": 1.0, "link": "probit"} | options
    truth = simulate_crowd(rng, n_items, n_annotators, **options)
    return truth, truth.pairs(n_labels, rng)


@cache
def fitted_to_people() -> CollaborativePosterior:
    return CollaborativeGP().fit(simulate_people(n_labels=2000)[1])


def test_annotator_utilities_match_the_joint_gaussian_given_the_sites():
    _, data = simulate_people(n_annotators=3, n_items=5, n_labels=40)
    tastes = PLAIN.fit(data).tastes
    n = data.n_items
    precision = np.zeros((4 * n, 4 * n))  # over (t, h_0, h_1, h_2)
    shift = np.zeros(4 * n)
    consensus_sd = tastes.scales[0]
    for block, prior in enumerate([consensus_sd**2 * np.eye(n)] + [tastes.taste] * 3):
        where = slice(block * n, block * n + n)
        precision[where, where] = np.linalg.inv(prior)
    for row in range(len(tastes.annotator)):
        d = np.zeros(4 * n)
        for offset in (0, n * (1 + tastes.annotator[row])):
            d[offset + tastes.low[row]] += 1
            d[offset + tastes.high[row]] -= 1
        precision += tastes.copies[row] * tastes.precision[row] * np.outer(d, d)
        shift += tastes.copies[row] * tastes.shift[row] * d
    covariance = np.linalg.inv(precision)
    mean = covariance @ shift
    for annotator in range(3):
        pick = np.zeros((n, 4 * n))
        pick[:, :n] = np.eye(n)
        pick[:, n * (1 + annotator) : n * (2 + annotator)] = np.eye(n)
        own_mean, own_covariance = tastes.own(annotator)
        assert_allclose(own_mean, pick @ mean, atol=1e-3)
        assert_allclose(own_covariance, pick @ covariance @ pick.T, atol=1e-5)


def test_one_annotator_without_learning_is_a_preference_gp():
    """With one person t and h cannot be told apart: the sum has variance tau^2 + sigma^2, the consensus its share."""
    _, data = simulate_people(n_annotators=1, n_items=6, n_labels=60, taste_sd=0.0)
    posterior = PLAIN.fit(data)
    alone = replace(PLAIN, consensus_sd=np.sqrt(1 + 0.49), taste_sd=1e-4).fit(data)
    own = posterior.for_annotator(0)
    assert_allclose(own.utilities(), alone.utilities(), atol=1e-3)
    assert_allclose(own.standard_deviations(), alone.standard_deviations(), rtol=1e-3)
    assert_allclose(posterior.utilities(), alone.utilities() / 1.49, atol=1e-3)


@pytest.mark.slow
def test_personal_predictions_beat_the_consensus_where_tastes_differ():
    truth, data = simulate_people(taste_sd=1.5, n_labels=2400)
    posterior = CollaborativeGP().fit(data)
    left, right = np.triu_indices(10, 1)
    own = np.array([posterior.pairwise_probabilities(left, right, j) for j in range(40)])
    consensus = posterior.pairwise_probabilities(left, right)
    best = ndtr(truth.own[:, left] - truth.own[:, right])

    def loss(p):
        return -(best * np.log(p) + (1 - best) * np.log(1 - p)).mean()

    assert loss(own) < loss(consensus) - 0.05
    spread = truth.own - truth.own.mean(axis=1, keepdims=True)
    assert np.corrcoef(posterior.divisiveness(), spread.std(axis=0))[0, 1] > 0.5
    distance = np.sqrt(((spread - spread.mean(axis=0)) ** 2).mean(axis=1))
    figures = posterior.annotator_summary()
    assert np.corrcoef(figures.taste_distance, distance)[0, 1] > 0.6
    assert np.mean(np.abs(figures.taste_distance - distance) < 2 * figures.taste_distance_sd) > 0.8


@pytest.mark.slow
def test_components_explain_annotator_utilities():
    posterior = fitted_to_people()
    components = posterior.components()
    assert components.share.sum() == pytest.approx(1, abs=1e-6), "nine components hold all that ten items differ in"
    assert (np.diff(components.share) <= 0).all()
    assert not components.are_groups
    for j in (0, 7):
        rebuilt = posterior.tastes.mean + components.item_loadings @ components.annotator_scores[j]
        assert_allclose(posterior.for_annotator(j).utilities(), rebuilt - rebuilt.mean(), atol=1e-6)


@pytest.mark.slow
def test_items_never_compared_are_ranked_by_their_features():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((60, 2))
    utilities = 1.5 * features[:, 0] - 0.8 * features[:, 1]
    left = rng.integers(40, size=800)
    right = (left + rng.integers(1, 40, size=800)) % 40
    outcome = (rng.random(800) < ndtr(utilities[left] - utilities[right])).astype(float)
    data = Comparisons.from_pairs(left, right, outcome, rng.integers(30, size=800), item_features=features[:40])
    posterior = CollaborativeGP().fit(data)
    new = posterior.at(features[40:])
    assert new.n_items == 20
    assert np.corrcoef(new.utilities(), utilities[40:])[0, 1] > 0.9
    assert new.standard_deviations().mean() > posterior.standard_deviations().mean(), "less is known of new items"
    assert coverage(new, utilities[40:]) > 0.7
    again = posterior.at(features[:40])
    assert np.corrcoef(again.utilities(), posterior.utilities())[0, 1] > 0.98
    plain = replace(posterior, tastes=replace(posterior.tastes, consensus_factors=np.ones(2)))
    factor, sd_factor = posterior.tastes.consensus_factors
    assert sd_factor > 1
    assert_allclose(new.utilities(), factor * plain.at(features[40:]).utilities())
    assert (new.standard_deviations() > plain.at(features[40:]).standard_deviations()).all()
    assert posterior.for_annotator(3).at(features[40:]).utilities().shape == (20,)
    with pytest.raises(InvalidData, match="2"):
        posterior.at(rng.standard_normal((3, 5)))


def test_new_items_without_features_are_rejected():
    posterior = PLAIN.fit(simulate_people()[1])
    with pytest.raises(Unsupported, match="item_features"):
        posterior.at(np.zeros((2, 2)))


@pytest.mark.slow
def test_a_new_annotator_is_predicted_from_features():
    rng = np.random.default_rng(3)
    group = rng.integers(2, size=120)
    taste = rng.standard_normal(12) * 1.5
    own = rng.standard_normal(12) * 0.5 + np.where(group[:, None] == 1, taste, -taste)
    who = np.repeat(np.arange(120), 15)
    left = rng.integers(12, size=len(who))
    right = (left + rng.integers(1, 12, size=len(who))) % 12
    outcome = (rng.random(len(who)) < ndtr(own[who, left] - own[who, right])).astype(float)
    noise = rng.standard_normal((120, 2))
    features = np.column_stack([group, noise])
    posterior = CollaborativeGP().fit(Comparisons.from_pairs(left, right, outcome, who, annotator_features=features))
    for one, expected in ((1.0, taste), (0.0, -taste)):
        found = posterior.for_annotator(features=[one, 0.0, 0.0])
        assert np.corrcoef(found.utilities(), expected)[0, 1] > 0.9
        assert found.standard_deviations().mean() < posterior.for_annotator(None).standard_deviations().mean()
    with pytest.raises(InvalidData, match="3 finite numbers"):
        posterior.for_annotator(features=[1.0])


@pytest.mark.slow
def test_steepness_separates_erratic_answers_from_taste():
    rng = np.random.default_rng(1)
    truth, _ = simulate_people(4, n_annotators=30, n_items=12, taste_sd=1.0, utility_sd=1.5)
    who = np.repeat(np.arange(30), 80)
    left = rng.integers(12, size=len(who))
    right = (left + rng.integers(1, 12, size=len(who))) % 12
    margin = truth.own[who, left] - truth.own[who, right]
    outcome = (rng.random(len(who)) < np.where(who < 5, 0.5, ndtr(margin))).astype(float)
    data = Comparisons.from_pairs(left, right, outcome, who)
    steepness = CollaborativeGP(steepness=True, reliability=False).fit(data).tastes.steepness
    assert steepness[:5].max() < steepness[5:].min()
    assert 0.6 < np.exp(np.log(steepness[5:]).mean()) < 1.7


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", "low-rank", "prior"])
def test_every_form_of_taste_covariance_can_be_learned(covariance):
    truth, data = simulate_people(7, n_labels=2000)
    posterior = CollaborativeGP(covariance=covariance, n_components=3).fit(data)
    assert np.corrcoef(posterior.utilities(), truth.utilities)[0, 1] > 0.85
    spread = np.linalg.eigvalsh(posterior.tastes.taste)
    assert spread[0] > 0
    if covariance == "low-rank":
        assert_allclose(spread[:7], spread[0], rtol=1e-6)


@pytest.mark.slow
def test_a_refit_after_a_few_labels_reuses_scales_and_is_close_to_a_cold_fit(monkeypatch):
    """With as many draws as keep two chains within the limit."""
    for name in ("FEWEST_DRAWS", "MOST_DRAWS"):
        monkeypatch.setattr(f"models_engine.estimators.collaborative.sampled.{name}", 600)
    _, data = simulate_people(n_labels=2000)
    start = CollaborativeGP().fit(data.subset(np.arange(1950)))
    steps: list[int] = []
    warm = CollaborativeGP().fit(data, start=start, progress=lambda step, total, objective: steps.append(step))
    cold = CollaborativeGP().fit(data)
    assert len(steps) < 40
    assert_allclose(warm.utilities(), cold.utilities(), atol=0.5 * cold.standard_deviations().mean())
    assert warm.tastes.n_learned == len(start.tastes.annotator)


@pytest.mark.slow
def test_ep_on_changed_sites_ends_where_ep_on_all_sites_does(monkeypatch):
    """The consensus within 6% of how far it moved, its standard deviations within 1%."""
    _, data = simulate_people(n_labels=2000, n_annotators=60)
    start = CollaborativeGP().fit(data.subset(np.arange(1980)))
    whole = CollaborativeGP().fit(data, start=start)
    monkeypatch.setattr(collaborative_steps, "MAX_CHEAP_COST", 0.0)
    steps: list[int] = []
    some = CollaborativeGP().fit(data, start=start, progress=lambda step, total, objective: steps.append(step))
    assert 0 < len(steps) < 30
    moved = np.abs(whole.tastes.mean - start.tastes.mean).max()
    assert np.abs(some.tastes.mean - whole.tastes.mean).max() < 0.06 * moved
    assert_allclose(*(np.sqrt(np.diagonal(fit.tastes.covariance)) for fit in (some, whole)), rtol=0.01)
    gained = whole.diagnostics.objective[-1] - start.diagnostics.objective[-1]
    assert some.diagnostics.objective[-1] - start.diagnostics.objective[-1] == pytest.approx(gained, abs=0.02)
    changed = np.unique(data.annotators[1980:])
    assert_allclose(some.tastes.scores[changed], whole.tastes.scores[changed], atol=0.02)
    assert_allclose(some.tastes.scores, whole.tastes.scores, atol=0.1)  # the others' were not computed again
    distances = (some.annotators.taste_distance, whole.annotators.taste_distance, start.annotators.taste_distance)
    assert np.abs(distances[0] - distances[1])[changed].max() < 0.1 * np.abs(distances[2] - distances[1])[changed].max()
    new = data.annotators[-1]
    assert_allclose(some.for_annotator(new).utilities(), whole.for_annotator(new).utilities(), atol=0.02)
    voided = CollaborativeGP().fit(data.subset(np.arange(10, 2000)), start=start)
    assert len(voided.tastes.annotator) < len(some.tastes.annotator), "a voided label takes the way over everybody"


@pytest.mark.slow
def test_a_quick_refit_handles_new_annotators_and_repeated_answers(monkeypatch):
    _, data = simulate_people(n_labels=2000, n_annotators=60)
    late = data.annotators == 59
    first = data.subset(np.flatnonzero(~late))
    start = CollaborativeGP().fit(first)
    more = Comparisons.concatenate([data, first.subset(np.arange(15))])
    whole = CollaborativeGP().fit(more, start=start)
    monkeypatch.setattr(collaborative_steps, "MAX_CHEAP_COST", 0.0)
    some = CollaborativeGP().fit(more, start=start)
    moved = np.abs(whole.tastes.mean - start.tastes.mean).max()
    assert np.abs(some.tastes.mean - whole.tastes.mean).max() < 0.05 * moved
    assert_allclose(some.for_annotator(59).utilities(), whole.for_annotator(59).utilities(), atol=0.05)
    assert_allclose(some.annotators.taste_distance[59], whole.annotators.taste_distance[59], rtol=0.02)


def test_annotators_above_the_cap_still_count():
    truth, data = simulate_people(n_annotators=4, n_labels=400)
    posterior = replace(PLAIN, max_pairs=20).fit(data)
    assert np.bincount(posterior.tastes.annotator).max() == 20
    assert np.corrcoef(posterior.utilities(), truth.utilities)[0, 1] > 0.5


def test_limits_are_reported():
    with pytest.raises(InvalidSetting, match="taste_sd"):
        CollaborativeGP(taste_sd=0.0).fit(simulate_people()[1])


def test_not_converging_warns():
    with pytest.warns(NotConverged, match="raise max_iterations"):
        posterior = replace(PLAIN, max_iterations=1).fit(simulate_people()[1])
    assert not posterior.diagnostics.converged


@st.composite
def difficult_labels(draw) -> Comparisons:
    """Few labels: disconnected, one annotator, all ties, contradictions, zero weights, constant or equal features."""
    n_items, n_annotators = draw(st.integers(2, 7)), draw(st.integers(1, 5))
    n_labels = draw(st.integers(0, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    left = rng.integers(n_items, size=n_labels)
    right = (left + rng.integers(1, n_items, size=n_labels)) % n_items
    outcome = {
        "ties": np.full(n_labels, 0.5),
        "same side": np.ones(n_labels),
        "low": (left < right).astype(float),
        "mixed": rng.choice([0, 0.5, 1], n_labels),
    }[draw(st.sampled_from(["ties", "same side", "low", "mixed"]))]
    features = draw(st.sampled_from([None, "constant", "equal rows", "huge", "random"]))
    given_features = {
        None: None,
        "constant": np.ones((n_items, 2)),
        "equal rows": np.tile([1.0, 2.0], (n_items, 1)) * (np.arange(n_items) % 2)[:, None],
        "huge": 1e12 * rng.standard_normal((n_items, 2)),
        "random": rng.standard_normal((n_items, 3)),
    }[features]
    return Comparisons.from_pairs(
        left,
        right,
        outcome,
        rng.integers(n_annotators, size=n_labels),
        n_items=n_items,
        n_annotators=n_annotators,
        weights=rng.choice([0.0, 0.3, 1.0, 2.5, 50.0], n_labels),
        item_features=given_features,
        annotator_features=None if draw(st.booleans()) else np.ones((n_annotators, 1)),
    )


@pytest.mark.slow
@settings(max_examples=examples(15), deadline=None)
@given(difficult_labels(), st.sampled_from(["full", "low-rank"]), st.booleans())
def test_difficult_data_give_finite_results(data, covariance, steepness):
    estimator = CollaborativeGP(covariance=covariance, n_components=2, max_steps=5, steepness=steepness)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = estimator.fit(data)
    assert isinstance(posterior, CollaborativePosterior)
    for values in (
        posterior.utilities(),
        posterior.standard_deviations(),
        posterior.divisiveness(),
        posterior.annotator_summary().taste_distance,
        posterior.log_predictive(data),
        posterior.for_annotator(0).utilities(),
    ):
        assert np.isfinite(values).all()
    assert (posterior.standard_deviations() > 0).all()
