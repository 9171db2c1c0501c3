"""Posteriors: forms of covariance against the dense one, draws against formulas, tastes, lapses, storage, limits."""

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from models_engine.covariance.forms import DenseCovariance, LowRankCovariance, SumCovariance, pack, unpack
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting, TooLarge, Unsupported
from models_engine.posterior import (
    AnnotatorSummary,
    Diagnostics,
    GaussianPosterior,
    Likelihood,
    Posterior,
    SamplePosterior,
)

N = 6
CONVERGED = Diagnostics(True, 3, (-2.0, -1.0), 0.1, "fine")
LEFT, RIGHT = np.triu_indices(N, 1)


def dense(seed: int = 0, scale: float = 0.5) -> DenseCovariance:
    root = np.random.default_rng(seed).normal(size=(N, N)) * scale
    return DenseCovariance.of(root @ root.T)


def low_rank() -> LowRankCovariance:
    rng = np.random.default_rng(1)
    return LowRankCovariance(rng.normal(size=(N, 2)), rng.random(N))


def gaussian(**fields) -> GaussianPosterior:
    return GaussianPosterior(**{"mean": np.linspace(1, -1, N), "spread": dense(), "diagnostics": CONVERGED, **fields})


@pytest.mark.parametrize("make", [dense, low_rank, lambda: SumCovariance(dense(), low_rank())])
def test_every_form_of_covariance_agrees_with_its_dense_matrix(make):
    form = make()
    matrix = form.dense()
    assert_allclose(matrix.sum(axis=0), 0, atol=1e-12)
    assert_allclose(form.variances(), np.diagonal(matrix), rtol=1e-12)
    expected = matrix[LEFT, LEFT] + matrix[RIGHT, RIGHT] - 2 * matrix[LEFT, RIGHT]
    assert_allclose(form.difference_variance(LEFT, RIGHT), expected, rtol=1e-10)
    assert_allclose(form.difference_variance(LEFT, LEFT), 0, atol=1e-15)
    draws = form.sample(200_000, np.random.default_rng(0))
    assert_allclose(np.cov(draws.T), matrix, atol=0.03 * matrix.max())
    kept = np.array([4, 0, 2])
    part = matrix[np.ix_(kept, kept)]
    centring = np.eye(3) - 1 / 3
    assert_allclose(form.restrict(kept).dense(), centring @ part @ centring, atol=1e-12)
    stored = unpack("here", pack("here", form))
    assert_allclose(stored.dense(), matrix, atol=0)


def test_both_posteriors_satisfy_the_protocol():
    drawn = SamplePosterior.of(gaussian().sample(10, rng=np.random.default_rng(0)), CONVERGED)
    assert isinstance(gaussian(), Posterior)
    assert isinstance(drawn, Posterior)


def test_superiority_is_the_normal_probability_of_the_difference():
    posterior = gaussian()
    difference = posterior.utilities()[LEFT] - posterior.utilities()[RIGHT]
    expected = norm.cdf(difference / np.sqrt(posterior.difference_variance(LEFT, RIGHT)))
    assert_allclose(posterior.superiority(LEFT, RIGHT), expected, rtol=1e-12)
    certain = gaussian(spread=DenseCovariance(np.zeros((N, N))))
    assert_array_equal(certain.superiority([0, 1, 2], [1, 0, 2]), [1, 0, 0.5])


def test_draws_of_a_gaussian_give_the_same_results():
    exact = gaussian(likelihood=Likelihood(tie=0.5, side=0.2))
    drawn = SamplePosterior.of(exact.sample(40_000, rng=np.random.default_rng(0)), CONVERGED, exact.likelihood)
    assert_allclose(drawn.utilities(), exact.utilities(), atol=0.03)
    assert_allclose(drawn.standard_deviations(), exact.standard_deviations(), rtol=0.03)
    assert_allclose(drawn.covariance(), exact.covariance(), atol=0.03)
    assert_allclose(
        drawn.difference_variance(LEFT, RIGHT), exact.difference_variance(LEFT, RIGHT), rtol=0.05, atol=1e-3
    )
    assert_allclose(drawn.superiority(LEFT, RIGHT), exact.superiority(LEFT, RIGHT), atol=0.01)
    assert_allclose(drawn.pairwise_probabilities(LEFT, RIGHT), exact.pairwise_probabilities(LEFT, RIGHT), atol=0.01)
    data = Comparisons.from_pairs([0, 1, 2], [3, 4, 5], [1, 0.5, 0])
    assert_allclose(drawn.log_predictive(data), exact.log_predictive(data), atol=0.02)


def test_rank_distribution_against_two_items_known_exactly():
    posterior = gaussian(mean=np.array([0.3, -0.3]), spread=DenseCovariance.of(np.diag([0.5, 0.4])))
    summary = posterior.rank_summary(k=1, rng=np.random.default_rng(0))
    better = norm.cdf(0.6 / np.sqrt(0.9))
    assert_allclose(summary.p_top_k, [better, 1 - better], atol=0.03)
    assert_allclose(summary.expected, [2 - better, 1 + better], atol=0.03)
    assert_array_equal(summary.rank, [1, 2])
    assert_array_equal(summary.low, [1, 1])
    assert_array_equal(summary.high, [2, 2])


def test_rank_intervals_have_their_probability():
    posterior = gaussian(spread=dense(3))
    summary = posterior.rank_summary(level=0.8, rng=np.random.default_rng(0))
    draws = posterior.sample(20_000, rng=np.random.default_rng(1))
    ranks = 1 + np.argsort(np.argsort(-draws, axis=1), axis=1)
    inside = ((ranks >= summary.low) & (ranks <= summary.high)).mean(axis=0)
    assert (inside > 0.78).all()
    narrower = ((ranks > summary.low) & (ranks < summary.high)).mean(axis=0)
    assert (narrower < 0.82).all(), "no interval is wider than it need be"


def test_a_new_annotator_adds_the_variance_of_tastes():
    shared, wide = gaussian(), gaussian(taste=dense(5, scale=1.5))
    assert_allclose(
        wide.for_annotator(None).difference_variance(LEFT, RIGHT),
        shared.difference_variance(LEFT, RIGHT) + wide.taste.difference_variance(LEFT, RIGHT),
    )
    assert_allclose(wide.superiority(LEFT, RIGHT), shared.superiority(LEFT, RIGHT)), "the consensus is unchanged"
    nearer = np.abs(wide.pairwise_probabilities(LEFT, RIGHT) - 0.5)
    assert (nearer < np.abs(shared.pairwise_probabilities(LEFT, RIGHT) - 0.5)).all()
    assert_allclose(wide.divisiveness(), np.sqrt(np.diagonal(wide.taste.dense())))
    assert_allclose(shared.divisiveness(), 0)


def test_each_annotator_has_their_own_lapse():
    posterior = gaussian(lapses=np.array([0.0, 0.5, 1.0]), likelihood=Likelihood(lapse=0.2))
    careful, guessing, reversed_ = (posterior.pairwise_probabilities(0, 5, annotator) for annotator in range(3))
    assert float(careful) > 0.6
    assert float(guessing) == pytest.approx(0.5)
    assert float(careful + reversed_) == pytest.approx(1)
    new = float(posterior.pairwise_probabilities(0, 5))
    assert new == pytest.approx(0.2 + 0.6 * float(careful))
    data = Comparisons.from_pairs([0, 0, 0, 0], [5, 5, 5, 5], [1] * 4, [0, 1, 2, 9], n_items=N)
    assert_allclose(np.exp(posterior.log_predictive(data)), [careful, 0.5, reversed_, new], rtol=1e-9)


@pytest.mark.parametrize(
    "posterior",
    [
        gaussian(),
        gaussian(spread=low_rank(), taste=dense(2), likelihood=Likelihood("probit", tie_rate=0.1), prior_sd=1.5),
        gaussian(lapses=np.array([0.1, 0.2]), annotators=AnnotatorSummary(reliability=np.array([0.9, 0.8]))),
        gaussian(along_scale=np.linspace(0.1, -0.1, N)),
    ],
)
def test_storage_round_trip(posterior):
    file = io.BytesIO()
    np.savez_compressed(file, **posterior.to_arrays())
    file.seek(0)
    loaded = GaussianPosterior.from_arrays(np.load(file, allow_pickle=False))
    assert loaded.diagnostics == posterior.diagnostics
    assert loaded.likelihood == posterior.likelihood
    assert loaded.prior_sd == posterior.prior_sd
    assert_array_equal(loaded.utilities(), posterior.utilities())
    assert_allclose(loaded.covariance(), posterior.covariance(), atol=0)
    assert_allclose(loaded.pairwise_probabilities(LEFT, RIGHT, 1), posterior.pairwise_probabilities(LEFT, RIGHT, 1))
    assert_allclose(loaded.divisiveness(), posterior.divisiveness())
    assert_array_equal(loaded.deviations_at_scale(), posterior.deviations_at_scale())
    for name, value in posterior.annotator_summary().to_arrays().items():
        assert_array_equal(loaded.annotator_summary().to_arrays()[name], value)


def test_unsupported_requests_suggest_an_alternative():
    with pytest.raises(Unsupported, match="CollaborativeGP"):
        gaussian().at(np.zeros((1, 2)))
    large = LowRankCovariance(np.zeros((5_001, 1)), np.ones(5_001))
    with pytest.raises(TooLarge, match=r"difference_variance.*sample"):
        large.dense()
    with pytest.raises(InvalidData, match="two draws"):
        SamplePosterior.of(np.zeros((1, 3)), CONVERGED)
    with pytest.raises(InvalidData, match="9 items and the posterior 6"):
        gaussian().log_predictive(Comparisons.from_pairs([0], [8], [1]))


def test_sample_posterior_uses_each_draw_before_repeating_any():
    draws = np.random.default_rng(0).normal(size=(50, N))
    posterior = SamplePosterior.of(draws, CONVERGED)
    taken = posterior.sample(50, rng=np.random.default_rng(1))
    assert len(np.unique(taken[:, 0])) == 50
    assert_allclose(np.sort(posterior.sample(100, rng=np.random.default_rng(1))[:, 0])[::2], np.sort(taken[:, 0]))


QUESTIONS = {
    "difference_variance": lambda posterior, items: posterior.difference_variance(items, 0),
    "pairwise_probabilities": lambda posterior, items: posterior.pairwise_probabilities(items, 0),
    "superiority": lambda posterior, items: posterior.superiority(0, items),
    "restrict": lambda posterior, items: posterior.restrict(items),
}
NO_ITEMS = [["a"], [[0], [1, 2]], [0.5], [np.nan], [2**70], [-1], [99], None, {0: 1}, [1j], [True, False], [0, None]]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("items", NO_ITEMS, ids=repr)
def test_what_is_no_item_is_refused_by_name(question, items):
    draws = np.random.default_rng(0).normal(size=(50, 4))
    for posterior in (
        SamplePosterior.of(draws, CONVERGED),
        GaussianPosterior(np.zeros(4), DenseCovariance.of(np.eye(4)), CONVERGED),
    ):
        with pytest.raises(InvalidData):
            QUESTIONS[question](posterior, items)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda posterior: posterior.difference_variance([0, 1], [0, 1, 2]), "one of each per pair"),
        (lambda posterior: posterior.restrict([]), "one item or more"),
        (lambda posterior: posterior.restrict([1, 1]), "item 1 is named twice"),
        (lambda posterior: posterior.for_annotator(-1), "annotator is -1"),
        (lambda posterior: posterior.pairwise_probabilities(0, 1, annotator=-1), "annotator is -1"),
        (lambda posterior: posterior.sample(-1, rng=np.random.default_rng(0)), "n is -1"),
        (lambda posterior: posterior.rank_summary(level=2.0), "level is 2.0"),
        (lambda posterior: posterior.log_predictive([1]), "data is a list"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_by_name(ask, message):
    covariance = DenseCovariance.of(np.eye(4))
    posterior = GaussianPosterior(np.zeros(4), covariance, CONVERGED, lapses=np.array([0.1, 0.2]))
    with pytest.raises((InvalidData, InvalidSetting), match=message):
        ask(posterior)


@pytest.mark.parametrize("kind", ["gaussian", "drawn"])
def test_the_prior_is_kept_by_a_part_and_in_storage(kind):
    prior = {"prior_sd": 1.5, "prior_shape": 0.7}
    posterior = gaussian(**prior)
    if kind == "drawn":
        draws = posterior.sample(10, rng=np.random.default_rng(0))
        posterior = SamplePosterior.of(draws, CONVERGED, **prior)
    stored = type(posterior).from_arrays(posterior.to_arrays())
    for one in (posterior.restrict([0, 2]), stored):
        assert (one.prior_sd, one.prior_shape) == (1.5, 0.7)
        assert one.hyperparameters()["prior_sd"] == 1.5
    without = type(posterior).from_arrays({n: v for n, v in posterior.to_arrays().items() if not n.startswith("prior")})
    assert (without.prior_sd, without.prior_shape) == (None, None)


def test_what_the_scale_adds_to_deviations_is_taken_out_in_a_part_too():
    own, along = dense().dense(), np.linspace(1, -1, N) ** 3
    along -= along.mean()
    posterior = gaussian(spread=DenseCovariance.of(own + np.outer(along, along)), along_scale=along)
    assert_allclose(posterior.deviations_at_scale(), np.sqrt(np.diagonal(own)))
    kept = [0, 2, 3]
    alone = gaussian(spread=DenseCovariance.of(own)).restrict(kept)
    assert_allclose(posterior.restrict(kept).deviations_at_scale(), alone.standard_deviations())
    assert_array_equal(gaussian().deviations_at_scale(), gaussian().standard_deviations())
