"""Tiers against their definition, and the three states of a pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from models_engine.analysis.tiers import assign_tiers, classify_pairs
from models_engine.covariance.forms import DenseCovariance, LowRankCovariance
from models_engine.posterior import Diagnostics, GaussianPosterior, Likelihood, SamplePosterior
from tests.budget import examples

CONVERGED = Diagnostics(True, 1, (0.0,), 0.1, "fine")


def by_definition(posterior, order, level=0.95):
    """A tier starts where every item above is separated from every item below."""
    result = [1]
    for start in range(1, len(order)):
        apart = all(posterior.superiority(above, below) >= level for above in order[:start] for below in order[start:])
        result.append(result[-1] + apart)
    return result


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.05, 0.2, 0.6]), st.booleans(), st.booleans())
def test_tiers_match_the_definition(seed, n, noise, ranked, drawn):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) * noise
    posterior = GaussianPosterior(2 * rng.normal(size=n), DenseCovariance.of(root @ root.T), CONVERGED)
    if drawn:
        posterior = SamplePosterior.of(posterior.sample(300, rng=rng), CONVERGED)
    order = np.argsort(-posterior.utilities()) if ranked else rng.permutation(n)
    assert_array_equal(assign_tiers(posterior, order), by_definition(posterior, order))


def test_tiers_of_very_precise_and_very_vague_posteriors():
    def posterior(mean, sd):
        return GaussianPosterior(
            mean, LowRankCovariance(np.zeros((len(mean), 1)), np.full(len(mean), sd**2)), CONVERGED
        )

    mean = np.arange(2_000.0)[::-1]
    assert_array_equal(assign_tiers(posterior(mean, 0.01), np.arange(2_000)), np.arange(1, 2_001))
    assert_array_equal(assign_tiers(posterior(mean, 1e6), np.arange(2_000)), np.ones(2_000))
    assert_array_equal(assign_tiers(posterior(mean, 0.01), []), [])


def test_states_of_a_pair():
    spread = DenseCovariance.of(np.diag([1e-4, 1e-4, 1e-4, 25.0]))
    posterior = GaussianPosterior(np.array([0.05, 0.0, -1.0, -0.2]), spread, CONVERGED)
    assert_array_equal(
        classify_pairs(posterior, [0, 0, 2, 1], [1, 2, 0, 3], margin=0.1),
        ["separated", "separated", "separated", "not enough data"],
    )
    near = GaussianPosterior(np.array([0.005, 0.0, -1.0, -0.2]), spread, CONVERGED)
    assert_array_equal(classify_pairs(near, [0, 1, 0], [1, 0, 3]), ["tied", "tied", "not enough data"])


@pytest.mark.parametrize(("link", "state"), [("logit", "tied"), ("probit", "not enough data")])
def test_the_margin_is_in_logits_whatever_the_link(link, state):
    """At 0.08, logit P = .520 but probit P = .532: as far apart as 0.128 logits."""
    spread = DenseCovariance.of(np.eye(2) * 1e-12)
    posterior = GaussianPosterior(np.array([0.08, 0.0]), spread, CONVERGED, Likelihood(link))
    assert classify_pairs(posterior, 0, 1, superiority=1.1)[()] == state
