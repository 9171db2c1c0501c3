"""How much an estimator's gain on held-out labels says about how near its order is to the truth."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from models_engine.analysis.evaluation import evaluate_estimators
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.crowd_bt import CrowdBT

N_ITEMS, N_ANNOTATORS, N_LABELS_EACH, N_CROWDS = 30, 40, 40, 2


def crowd(seed: int, careless: float) -> tuple[np.ndarray, Comparisons]:
    """Utilities of standard deviation 1.2, and pairs answered by Bradley-Terry's law; this share clicks anything."""
    rng = np.random.default_rng(seed)
    utility = 1.2 * rng.normal(size=N_ITEMS)
    annotator = np.repeat(np.arange(N_ANNOTATORS), N_LABELS_EACH)
    left = rng.integers(N_ITEMS, size=len(annotator))
    right = (left + 1 + rng.integers(N_ITEMS - 1, size=len(left))) % N_ITEMS
    p = np.where(annotator < careless * N_ANNOTATORS, 0.5, 1 / (1 + np.exp(utility[right] - utility[left])))
    outcome = (rng.random(len(p)) < p).astype(float)
    return utility, Comparisons.from_pairs(left, right, outcome, annotator, n_items=N_ITEMS, n_annotators=N_ANNOTATORS)


def gain_and_nearness(careless: float) -> tuple[float, float]:
    """Mean gain of CrowdBT over BradleyTerry in nats, and by how much its Kendall's tau to the truth is higher."""
    gains, nearer = [], []
    candidates = {"BradleyTerry": BradleyTerry(), "CrowdBT": CrowdBT()}
    for seed in range(N_CROWDS):
        utility, data = crowd(seed, careless)
        gains.append(evaluate_estimators(data, candidates, reference="BradleyTerry")[1].gain)
        plain, weighing = (kendalltau(one.fit(data).utilities(), utility).statistic for one in candidates.values())
        nearer.append(weighing - plain)
    print(f"{careless:.0%} careless: gain {np.mean(gains):.3f} nats, tau {np.mean(nearer):+.3f}")
    return float(np.mean(gains)), float(np.mean(nearer))


@pytest.mark.slow
def test_below_the_margin_the_order_is_hardly_nearer_and_above_it_is():
    """Without careless people the means of 2 crowds have errors of .0014 nats and .006 of tau; the last two limits are
    14 and 5 of these from 0."""
    none, few, many = (gain_and_nearness(share) for share in (0.0, 0.1, 0.4))
    assert none[0] < few[0] < many[0]
    assert abs(none[1]) < 0.01
    assert many[0] > 0.02
    assert many[1] > 0.03
