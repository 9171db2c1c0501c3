"""What features tell of withheld items: found where it is there, not where it is not, and its standard error."""

import numpy as np
import pytest
from scipy.special import expit

from models_engine.analysis.held_out_items import dyadic_error, held_out_gain
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData, InvalidData
from models_engine.estimators.bradley_terry import BradleyTerry


def labels(share: float, seed: int, n_items: int = 40, n_labels: int = 800) -> Comparisons:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_items, 3))
    utility = 1.5 * (np.sqrt(share) * x[:, 0] + np.sqrt(1 - share) * rng.standard_normal(n_items))
    left, right = rng.integers(n_items, size=(2, n_labels))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < expit(utility[left] - utility[right])
    return Comparisons.from_pairs(left, right, won.astype(float), n_items=n_items, item_features=x)


def test_the_gain_is_there_where_features_tell_and_not_where_they_do_not():
    everything = np.ones(40, bool)
    told = held_out_gain(labels(0.8, 1), BradleyTerry(), everything)
    assert told.gain > 3 * told.error
    assert told.gain == pytest.approx(told.loss_without - told.loss)
    assert told.accuracy > told.accuracy_without
    assert (told.n_items, told.explained) == (40, pytest.approx(0.8, abs=0.15))
    nothing = [held_out_gain(labels(0.0, seed), BradleyTerry(), everything) for seed in range(2, 6)]
    assert np.mean([one.gain for one in nothing]) < 0.01
    assert sum(one.gain > one.error for one in nothing) <= 1


def test_answers_about_withheld_items_are_not_fitted():
    """Answers that contradict the features change nothing about what is predicted for their items."""
    data = labels(0.8, 1)
    with pytest.raises(InsufficientData, match="items have features"):
        held_out_gain(data, BradleyTerry(), np.arange(40) < 19)
    plain = Comparisons.from_pairs([0], [1], [1.0], n_items=2)
    with pytest.raises(InvalidData, match="no item_features"):
        held_out_gain(plain, BradleyTerry(), np.ones(2, bool))


def test_the_error_counts_pairs_that_share_an_item_as_dependent():
    """Against the double sum over pairs of pairs; and against the spread of means over many crowds."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(8, size=(2, 60))
    values = rng.standard_normal(60) + rng.standard_normal(8)[one] + rng.standard_normal(8)[other]
    apart = values - values.mean()
    shares = np.array(
        [[len({one[a], other[a]} & {one[b], other[b]}) > 0 for b in range(60)] for a in range(60)], dtype=float
    )
    direct = np.sqrt(apart @ shares @ apart) / 60
    assert dyadic_error(values, one, other) == pytest.approx(direct)
    means, errors = [], []
    for _ in range(300):
        item = rng.standard_normal(30)
        one, other = rng.integers(30, size=(2, 100))
        values = rng.standard_normal(100) + item[one] + item[other]
        means.append(values.mean())
        errors.append(dyadic_error(values, one, other))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)
