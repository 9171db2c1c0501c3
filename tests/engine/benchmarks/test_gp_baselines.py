"""crowd_gppl's baselines against the same thing done by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from models_engine.benchmarks.baselines import BASELINES
from models_engine.benchmarks.gp_baselines import LENGTHS, CrowdBTThenGP, GPPLPerAnnotator
from models_engine.data import Comparisons
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.gppl import GPPL
from models_engine.kernels import ItemKernel
from models_engine.linalg import centre
from models_engine.simulate import Crowd, simulate_crowd


def smooth_crowd(seed: int = 0, *, n_items: int = 20, n_seen: int = 20, taste: float = 0.0):
    """Utilities along one feature; only the first n_seen items are compared."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, size=(n_items, 1))
    worth = centre(2 * features[:, 0])
    plain = simulate_crowd(rng, n_items, 6)
    own = worth + taste * rng.standard_normal((6, n_items))
    truth = Crowd(worth, own, plain.reliability, plain.side)
    shown = np.array([rng.choice(n_seen, size=2, replace=False) for _ in range(600)])
    none = Comparisons.from_pairs([], [], [], [], n_items=n_items, n_annotators=7, item_features=features)
    return truth, Comparisons.concatenate([truth.pairs(600, rng, shown=shown), none])


@pytest.mark.slow
def test_each_annotator_is_fitted_alone():
    truth, data = smooth_crowd(taste=1.5)
    found = GPPLPerAnnotator().fit(data)
    source = GPPL().fit(data).source
    assert source is not None
    share, length = (float(value) for value in source.kernel[:2])
    alone = GPPL(share=share, length_scale=length).fit(data.annotator_subset([2]))
    assert_allclose(found.personal_utilities(2), alone.utilities(), atol=1e-3)
    assert_allclose(found.pairwise_probabilities([0], [1], 2), alone.pairwise_probabilities([0], [1]), atol=1e-3)
    assert found.pairwise_probabilities([0], [1], 6) == pytest.approx([0.5])  # annotator 6 gave no label
    assert_allclose(found.utilities(), np.mean([found.personal_utilities(j) for j in range(6)], axis=0))
    own = np.array([np.corrcoef(found.personal_utilities(j), truth.own[j])[0, 1] for j in range(6)])
    others = np.array([np.corrcoef(found.personal_utilities(j), truth.own[j - 1])[0, 1] for j in range(6)])
    assert own.mean() > others.mean() + 0.1


def test_the_regression_is_the_gaussian_conditional_of_best_evidence():
    _, data = smooth_crowd(1)
    found = CrowdBTThenGP().fit(data)
    fitted = CrowdBT().fit(data)
    targets, noise = centre(fitted.utilities()), np.diag(fitted.standard_deviations() ** 2)
    evidence = {}
    for length in LENGTHS:
        kernel = ItemKernel(data.item_features, data.n_items, 0.9, length).matrix()
        for variance in np.geomspace(0.05, 50, 60):
            joint = multivariate_normal(np.zeros(20), variance * kernel + noise)
            evidence[length, variance] = joint.logpdf(targets), variance * kernel
    best = max(evidence.values(), key=lambda one: one[0])
    assert found.log_evidence == pytest.approx(best[0], abs=0.05)
    assert found.log_evidence >= best[0] - 1e-3
    assert_allclose(found.mean, best[1] @ np.linalg.solve(best[1] + noise, targets), atol=0.05)


def test_the_regression_predicts_items_crowd_bt_has_not_seen():
    truth, data = smooth_crowd(2, n_items=30, n_seen=22)
    seen = np.arange(22)
    pairs = data.pairs()
    known = Comparisons.from_pairs(
        pairs.left, pairs.right, pairs.outcome, pairs.annotator, item_features=data.item_features[seen]
    )
    found = CrowdBTThenGP().fit(known)
    assert np.corrcoef(found.at(data.item_features[22:]), truth.utilities[22:])[0, 1] > 0.9
    forward, back = found.pairwise_probabilities([0], [1]), found.pairwise_probabilities([1], [0])
    assert forward + back == pytest.approx(1)


def test_gp_baselines_are_listed_in_the_benchmarks():
    assert {"GPPLPerAnnotator", "CrowdBTThenGP"} <= set(BASELINES)
