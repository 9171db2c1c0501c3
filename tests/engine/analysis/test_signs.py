"""What is said surely to differ has few wrong signs, whatever share of items truly differs."""

import numpy as np
import pytest
from scipy.stats import norm

from models_engine.analysis.signs import surely_differs


@pytest.mark.parametrize("spread", [0.3, 1.0, 4.0])
def test_of_what_is_said_the_promised_share_is_wrong(spread):
    """Truth N(0, spread^2) seen with noise 1: the posterior is known, so the expected share must hold, and be used up
    where there is something to say."""
    rng = np.random.default_rng(0)
    truth = spread * rng.standard_normal(40_000)
    gain = spread**2 / (1 + spread**2)
    mean, sd = gain * (truth + rng.standard_normal(40_000)), np.full(40_000, np.sqrt(gain))
    said = surely_differs(norm.cdf(-np.abs(mean) / sd), most_wrong=0.05)
    wrong = (np.sign(mean) != np.sign(truth))[said]
    assert wrong.sum() <= 0.05 * said.sum() + 3 * np.sqrt(0.05 * said.sum()) + 3
    if spread >= 1:
        assert wrong.mean() > 0.05 - 4 * np.sqrt(0.05 / said.sum())


def test_nothing_known_says_nothing_and_certainty_everything():
    assert not surely_differs(np.array([0.5, 0.4])).any()
    assert surely_differs(np.zeros(2)).all()
    assert len(surely_differs(np.zeros(0))) == 0


def test_one_sure_item_among_many_unsure_ones_is_said():
    assert surely_differs(np.r_[np.full(50, 0.4), 0.001]).nonzero()[0].tolist() == [50]
