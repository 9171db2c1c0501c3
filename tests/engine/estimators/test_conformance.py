"""What every estimator promises, tested for each row of ESTIMATORS as far as the row claims it."""

import io
import math
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.analysis.metrics import calibration_slope, coverage
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, InsufficientData, InvalidData
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior, Posterior
from tests.engine.simulated_data import (
    N_ANNOTATORS,
    N_ITEMS,
    features,
    labels_of_every_kind,
    own_crowd,
    quick,
    some_pairs,
)

# Whose fits take so long that most of these tests would be slow; `make check` tries the others.
SLOW = {"AngleBased", "AngleBasedMixture", "CollaborativeGP", "CrowdGPPL"}
pytestmark = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ESTIMATORS]
)

LEFT, RIGHT = np.triu_indices(N_ITEMS, 1)
SEED = 7


def fitted(name: str, data: Comparisons, **options) -> BasePosterior:
    """A fit from a fixed seed. Warnings are errors here, so it has converged."""
    options.setdefault("rng", np.random.default_rng(SEED))
    return quick(name).fit(data, **options)


@cache
def fitted_to_pairs(name: str) -> BasePosterior:
    """The fit of `some_pairs()`, made once for all tests that only ask it."""
    return fitted(name, some_pairs())


@cache
def fitted_to_every_kind(name: str) -> BasePosterior:
    """The fit of `labels_of_every_kind()`, made once for all tests that only ask it."""
    return fitted(name, labels_of_every_kind())


@cache
def fitted_to_sixty_pairs(name: str) -> BasePosterior:
    """The fit of the first labels, each of weight one."""
    return fitted(name, some_pairs(n_labels=60))


def assert_same(name: str, claim: str, found: Posterior, mean, sd, control) -> None:
    """`found` has these means and sds, as exactly as claimed, and by the same measure differs from `control`."""
    holds = ESTIMATORS[name].holds(claim)
    if holds in ("no", "objective"):
        pytest.skip(f"{name} claims for {claim!r}: {holds}")
    within = 1e-5 if holds == "exactly" else 0.25
    scale = float(np.mean(sd))
    assert_allclose(found.utilities(), mean, atol=within * scale, rtol=0)
    assert_allclose(found.standard_deviations(), sd, rtol=within)
    off = within * scale if holds == "exactly" else np.abs(found.utilities() - mean).max()
    assert np.abs(found.utilities() - control).max() > 2 * off, "the comparison could not have failed"


def test_the_entry_says_when_to_choose_the_estimator(name):
    entry = ESTIMATORS[name]
    assert entry.when.endswith(".")
    assert len(entry.when) < 200
    assert entry.estimator.__doc__
    assert hash(entry.estimator()) == hash(entry.estimator()), "an estimator is a frozen dataclass of plain settings"


def test_no_data_gives_the_prior(name):
    data = Comparisons.from_pairs(
        [], [], [], [], n_items=N_ITEMS, n_annotators=N_ANNOTATORS, **features(np.random.default_rng(0))
    )
    if ESTIMATORS[name].holds("prior") == "insufficient":
        with pytest.raises(InsufficientData):
            fitted(name, data)
        return
    posterior = fitted(name, data)
    exactly = ESTIMATORS[name].holds("prior") == "exactly"
    assert_allclose(posterior.utilities(), 0, atol=1e-8 if exactly else 0.2 * posterior.standard_deviations().mean())
    assert (posterior.standard_deviations() > 0.01).all()
    assert_allclose(posterior.pairwise_probabilities(LEFT, RIGHT), 0.5, atol=1e-8 if exactly else 0.1)


def test_probabilities_of_both_directions_add_up_to_one(name):
    posterior = fitted_to_pairs(name)
    for annotator in (None, 0, N_ANNOTATORS - 1):
        forward = posterior.pairwise_probabilities(LEFT, RIGHT, annotator)
        assert_allclose(forward + posterior.pairwise_probabilities(RIGHT, LEFT, annotator), 1, atol=1e-9)
        assert ((forward > 0) & (forward < 1)).all()
    assert_allclose(posterior.superiority(LEFT, RIGHT) + posterior.superiority(RIGHT, LEFT), 1, atol=1e-9)


def test_renaming_items_renames_results(name):
    data, new = some_pairs(), np.random.default_rng(3).permutation(N_ITEMS)
    before, after = fitted_to_pairs(name), fitted(name, data.renamed(new))
    mean, sd = np.empty(N_ITEMS), np.empty(N_ITEMS)
    mean[new], sd[new] = before.utilities(), before.standard_deviations()
    assert_same(name, "renaming", after, mean, sd, control=before.utilities())


def test_reversing_every_pair_negates_utilities(name):
    data = some_pairs()
    pairs = data.pairs()
    reversed_data = Comparisons.from_pairs(
        pairs.left,
        pairs.right,
        1 - pairs.outcome,
        pairs.annotator,
        n_items=N_ITEMS,
        n_annotators=N_ANNOTATORS,
        item_features=data.item_features,
        annotator_features=data.annotator_features,
    )
    before, after = fitted_to_pairs(name), fitted(name, reversed_data)
    assert_same(name, "reversal", after, -before.utilities(), before.standard_deviations(), before.utilities())


def test_weight_two_equals_the_row_twice(name):
    data = some_pairs(n_labels=60)
    twice = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    repeated = Comparisons.concatenate([data, data.subset(twice == 2)])
    before, after = fitted(name, data.with_weights(twice)), fitted(name, repeated)
    once = fitted_to_sixty_pairs(name)
    assert_same(name, "weights", after, before.utilities(), before.standard_deviations(), control=once.utilities())


def test_weight_zero_leaves_the_row_out(name):
    data = some_pairs(n_labels=60)
    kept = np.arange(60) % 3 > 0
    before, after = fitted(name, data.with_weights(kept.astype(float))), fitted(name, data.subset(kept))
    everything = fitted_to_sixty_pairs(name)
    assert_same(name, "weights", after, before.utilities(), before.standard_deviations(), everything.utilities())


def test_same_seed_same_result_and_inputs_unchanged(name):
    data, estimator = labels_of_every_kind(), quick(name)
    settings, digest = asdict(estimator), data.data_hash()
    first = fitted_to_every_kind(name)
    stored = {key: value.copy() for key, value in first.to_arrays().items() if key != "meta"}
    second = estimator.fit(data, rng=np.random.default_rng(SEED))
    estimator.fit(data, start=first, rng=np.random.default_rng(6))
    for key, value in second.to_arrays().items():
        if key != "meta":  # holds the seconds
            assert_array_equal(value, stored[key])
            assert_array_equal(first.to_arrays()[key], stored[key])
    assert asdict(estimator) == settings
    assert data.data_hash() == digest


def test_a_warm_start_ends_where_a_cold_one_does(name):
    data = some_pairs()
    start = fitted(name, data.subset(np.arange(100)))
    cold, warm = fitted_to_pairs(name), fitted(name, data, start=start)
    if ESTIMATORS[name].holds("warm start") == "objective":
        reached, before = warm.diagnostics.objective[-1], cold.diagnostics.objective[-1]
        assert reached >= before - 1e-3 * abs(before)
        return
    assert_same(name, "warm start", warm, cold.utilities(), cold.standard_deviations(), control=start.utilities())


def test_a_start_may_have_fewer_items_and_annotators(name):
    small = Comparisons.from_pairs([0, 1, 0], [1, 2, 2], [1, 1, 1], [0, 1, 0])
    small = Comparisons.concatenate([small, _only_features(small)])
    data = some_pairs()
    posterior = fitted(name, data, start=fitted(name, small))
    assert posterior.n_items == N_ITEMS


def _only_features(data: Comparisons) -> Comparisons:
    given = features(np.random.default_rng(0), data.n_items, data.n_annotators)
    return Comparisons.from_pairs([], [], [], [], n_items=data.n_items, n_annotators=data.n_annotators, **given)


def test_covariance_is_that_of_centred_utilities_and_of_the_samples(name):
    posterior = fitted_to_pairs(name)
    covariance = posterior.covariance()
    assert_allclose(covariance, covariance.T, rtol=0, atol=0)
    values, vectors = np.linalg.eigh(covariance)
    scale = values[-1]
    assert values[0] > -1e-10 * scale
    assert abs(values[0]) < 1e-8 * scale
    assert values[1] > 1e-6 * scale, "only the constant vector may have no variance"
    assert_allclose(np.abs(vectors[:, 0]), 1 / math.sqrt(N_ITEMS), atol=1e-4)
    assert_allclose(posterior.standard_deviations(), np.sqrt(np.diagonal(covariance)), rtol=1e-6)
    differences = np.diagonal(covariance)[LEFT] + np.diagonal(covariance)[RIGHT] - 2 * covariance[LEFT, RIGHT]
    assert_allclose(posterior.difference_variance(LEFT, RIGHT), differences, rtol=1e-6)
    draws = posterior.sample(40_000, rng=np.random.default_rng(0))
    assert draws.shape == (40_000, N_ITEMS)
    assert_allclose(draws.mean(axis=1), 0, atol=1e-9)
    assert_allclose(draws.mean(axis=0), posterior.utilities(), atol=0.05 * math.sqrt(scale))
    assert_allclose(np.cov(draws.T), covariance, atol=0.05 * scale)


def test_superiority_is_the_share_of_samples(name):
    posterior = fitted_to_pairs(name)
    draws = posterior.sample(40_000, rng=np.random.default_rng(0))
    assert_allclose(posterior.superiority(LEFT, RIGHT), (draws[:, LEFT] > draws[:, RIGHT]).mean(axis=0), atol=0.02)


def test_rank_summary(name):
    posterior = fitted_to_pairs(name)
    summary = posterior.rank_summary(k=3, rng=np.random.default_rng(0))
    assert_array_equal(summary.rank, 1 + np.argsort(np.argsort(-posterior.utilities(), kind="stable")))
    assert summary.p_top_k.sum() == pytest.approx(3)
    assert summary.expected.sum() == pytest.approx(N_ITEMS * (N_ITEMS + 1) / 2)
    assert ((summary.low >= 1) & (summary.low <= summary.high) & (summary.high <= N_ITEMS)).all()
    assert ((summary.low <= summary.expected) & (summary.expected <= summary.high)).all()


def test_storing_and_loading_keeps_predictions(name):
    posterior, data = fitted_to_every_kind(name), labels_of_every_kind(1)
    some = data.subset(np.arange(data.n_labels) % 5 == 0)  # of every kind a few
    file = io.BytesIO()
    np.savez(file, **posterior.to_arrays())
    file.seek(0)
    loaded = ESTIMATORS[name].posterior.from_arrays(np.load(file, allow_pickle=False))
    assert loaded.diagnostics == posterior.diagnostics
    assert_allclose(loaded.utilities(), posterior.utilities(), atol=1e-12)
    assert_allclose(loaded.covariance(), posterior.covariance(), atol=1e-12)
    assert_allclose(loaded.log_predictive(some), posterior.log_predictive(some), atol=1e-9)
    for annotator in (None, 1):
        expected = posterior.pairwise_probabilities(LEFT, RIGHT, annotator)
        assert_allclose(loaded.pairwise_probabilities(LEFT, RIGHT, annotator), expected, atol=1e-12)


def test_restricting_keeps_differences(name):
    posterior, kept = fitted_to_pairs(name), np.array([6, 1, 3])
    part = posterior.restrict(kept)
    mean = posterior.utilities()[kept]
    assert_allclose(part.utilities(), mean - mean.mean(), atol=1e-9)
    assert_allclose(part.difference_variance(0, [1, 2]), posterior.difference_variance(6, [1, 3]), rtol=1e-6)
    assert_allclose(part.standard_deviations(), np.sqrt(np.diagonal(part.covariance())), rtol=1e-6)
    assert_allclose(part.pairwise_probabilities(0, [1, 2]), posterior.pairwise_probabilities(6, [1, 3]), atol=1e-6)


def test_the_probabilities_of_all_answers_to_a_pair_add_up_to_one(name):
    posterior = fitted(name, some_pairs(tie=0.5))
    counts = {"n_items": N_ITEMS, "n_annotators": N_ANNOTATORS}
    total = np.zeros(2)
    for outcome in (0.0, 0.5, 1.0):
        data = Comparisons.from_pairs([0, 3], [5, 2], [outcome] * 2, [0, 1], **counts)
        log_probability = posterior.log_predictive(data)
        assert (log_probability < 0).all()
        total += np.exp(log_probability)
    assert_allclose(total, 1, atol=1e-6)


def test_every_kind_of_label_is_fitted_and_predicted(name):
    data = labels_of_every_kind()
    posterior = fitted_to_every_kind(name)
    assert np.isfinite(posterior.utilities()).all()
    assert (posterior.standard_deviations() > 0).all()
    some = data.subset(np.arange(0, data.n_labels, 4))  # of every kind
    scores = posterior.log_predictive(some)
    assert scores.shape == (some.n_labels,)
    assert (scores < 0).all()
    assert np.isfinite(scores).all()


def test_held_out_labels_are_predicted_better_than_chance(name):
    data = some_pairs(n_labels=600)
    held_out = np.arange(600) >= 400
    posterior = fitted(name, data.subset(~held_out))
    test = data.subset(held_out).pairs()
    forward = posterior.pairwise_probabilities(test.left, test.right)
    loss = -np.log(np.where(test.outcome == 1, forward, 1 - forward)).mean()
    assert loss < math.log(2) - 0.03
    assert -np.log(np.where(test.outcome == 1, 1 - forward, forward)).mean() > math.log(2), "reversed, it is worse"


def test_personal_posteriors_and_figures_have_the_right_shapes(name):
    posterior = fitted_to_pairs(name)
    for annotator in (None, 0):
        own = posterior.for_annotator(annotator)
        assert own.n_items == N_ITEMS
        assert own.utilities().shape == (N_ITEMS,)
        assert own.utilities().mean() == pytest.approx(0, abs=1e-9)
    assert posterior.divisiveness().shape == (N_ITEMS,)
    for value in posterior.annotator_summary().to_arrays().values():
        assert value.shape == (N_ANNOTATORS,)
    components = posterior.components()
    if components is not None:
        assert components.item_loadings.shape[0] == N_ITEMS
        assert components.annotator_scores.shape == (N_ANNOTATORS, components.item_loadings.shape[1])
        assert components.share.shape == (components.item_loadings.shape[1],)
        assert (components.share >= 0).all()
        assert components.share.sum() <= 1 + 1e-9


def test_items_that_do_not_exist_are_reported(name):
    posterior = fitted_to_pairs(name)
    with pytest.raises(InvalidData, match="item 8 does not exist"):
        posterior.pairwise_probabilities([0], [8])


def test_progress_is_reported_and_false_cancels(name):
    seen: list[tuple[int, int, float]] = []
    fitted(name, some_pairs(), progress=lambda *step: seen.append(step))
    assert seen
    assert [step for step, _, _ in seen] == sorted(step for step, _, _ in seen)
    assert all(step <= total and math.isfinite(objective) for step, total, objective in seen)
    with pytest.raises(Cancelled):
        fitted(name, some_pairs(), progress=lambda *_: False)


def test_diagnostics(name):
    diagnostics = fitted_to_pairs(name).diagnostics
    assert diagnostics.converged
    assert diagnostics.n_iterations >= 1
    assert diagnostics.objective
    assert np.isfinite(diagnostics.objective).all()
    assert diagnostics.seconds > 0
    assert "; ".join(msgid % arguments for msgid, arguments in diagnostics.message.parts) == diagnostics.message


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_known_utilities_are_recovered_with_intervals_that_cover(name):
    """Eight small crowds of the estimator's own kind. Draws of tastes take hardly longer for twice as many items: over
    80 such crowds coverage was .90 and slopes .96 on average, with standard deviations of .065 and .126 between crowds,
    so that means of eight have standard errors of .023 and .045, a third of what is allowed or less."""
    if ESTIMATORS[name].holds("coverage") == "no":
        pytest.skip(f"{name} does not claim coverage; its docstring says why")
    n_items = 30 if name in SLOW else 15
    covered, slopes, correlations = [], [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        people = own_crowd(name, rng, n_items, 12)
        posterior = fitted(name, people.pairs(400 * n_items // 15, rng))
        covered.append(coverage(posterior, people.utilities))
        slopes.append(calibration_slope(posterior, people.utilities))
        correlations.append(np.corrcoef(posterior.utilities(), people.utilities)[0, 1])
    assert min(correlations) > 0.75, "twelve people who differ in taste"
    assert np.mean(correlations) > 0.85
    assert 0.80 <= np.mean(covered) <= 0.98
    assert 0.85 <= np.mean(slopes) <= 1.15
