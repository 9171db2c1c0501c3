"""log P(label) at the extremes: never above 0, never nan, and the answers to one question add up to 1."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.posterior import Diagnostics, GaussianPosterior, Likelihood

EVERY = range(4)
ENDS = [(best, worst) for best in EVERY for worst in EVERY if best != worst]
ANSWERS = {
    "pairs": Comparisons.from_pairs([0, 0], [3, 3], [0, 1], n_items=4),
    "rankings": Comparisons.from_rankings([list(order) for order in permutations(EVERY)]),
    "choices": Comparisons.from_choices(EVERY, [list(EVERY)] * 4),
    "best and worst": Comparisons.from_best_worst(*zip(*ENDS, strict=True), [list(EVERY)] * 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize(("scale", "sd"), [(1.0, 1.0), (30.0, 1e-6), (1.0, 100.0), (1e5, 1e-6)])
def test_the_answers_to_a_question_add_up_to_one_however_far_apart_items_are(kind, link, scale, sd):
    posterior = GaussianPosterior(
        np.array([-1.0, 0.0, 0.3, 1.0]) * scale,
        DenseCovariance.of(np.eye(4) * sd**2),
        Diagnostics(True, 1, (0.0,), 0.1, ""),
        Likelihood(link),
    )
    found = posterior.log_predictive(ANSWERS[kind])
    assert np.isfinite(found).all()
    assert (found <= 0).all()
    assert_allclose(np.exp(found).sum(), 1, atol=2e-4)
    chances = posterior.pairwise_probabilities(np.arange(4)[:, None], np.arange(4))
    assert ((chances >= 0) & (chances <= 1)).all()
