"""Counts of what comes next: chances by hand, probabilities that sum to one, and the choice against the network."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.errors import Cancelled, InsufficientData, InvalidData
from models_engine.inference.sequences.choosing import COUNTS, choose_model, gain
from models_engine.inference.sequences.data import Sequences, mean_loss
from models_engine.inference.sequences.ngrams import DECAY, EXPERTS, Ngrams

pytestmark = pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")


def test_each_expert_gives_its_own_frequency():
    sequences = Sequences.from_lists([[0, 1, 0, 1, 1], [2, 2]], 3)
    chances, buckets = Ngrams().fit(sequences).of_experts(sequences)
    last = dict(zip(EXPERTS, chances[4], strict=True))  # 1 after 0, 1, 0, 1
    assert last["uniform"] == pytest.approx(1 / 3)
    assert last["shared"] == pytest.approx((3 + 1 / 3) / 8)
    assert last["own"] == pytest.approx(1 / 2)
    assert last["own after the last"] == 0  # after the one 1 so far came 0
    weights = DECAY ** np.array([2, 0]), DECAY ** np.arange(4)
    assert last["recent"] == pytest.approx(weights[0].sum() / weights[1].sum())
    assert (buckets[0], buckets[4]) == (0, 2)


def test_probabilities_sum_to_one_and_agree_with_what_came():
    rng = np.random.default_rng(0)
    sequences = Sequences.from_lists([rng.integers(0, 5, n) for n in (0, 1, 7, 40)], 5)
    found = Ngrams().fit(sequences)
    own = sequences.of(3)
    for history in ([], own[:1], own[:20], [4, 4, 4]):
        assert np.exp(found.log_next(history)).sum() == pytest.approx(1, abs=1e-9)
    assert_allclose(found.log_tokens(sequences)[8 + 20], found.log_next(own[:20])[own[20]], rtol=1e-10)
    assert (np.diff(found.objective) >= -1e-12).all()


def test_tokens_by_another_name_are_as_likely():
    rng = np.random.default_rng(1)
    lists = [rng.integers(0, 4, 30) for _ in range(5)]
    one, other = (Sequences.from_lists(some, 4) for some in (lists, [3 - each for each in lists]))
    assert_allclose(Ngrams().fit(one).log_tokens(one), Ngrams().fit(other).log_tokens(other), rtol=1e-9)


def test_bad_input_is_named():
    with pytest.raises(InsufficientData):
        Ngrams().fit(Sequences.from_lists([[]], 3))
    with pytest.raises(InvalidData):
        Sequences.from_lists([[0, -1]], 3)
    with pytest.raises(InvalidData):
        Sequences.from_lists([[0, 3]], 3)
    with pytest.raises(InvalidData):
        Sequences.from_lists([], 0)
    with pytest.raises(InvalidData):
        Ngrams().fit(Sequences.from_lists([[0, 1]], 2)).log_next([0, 7])
    with pytest.raises(Cancelled):
        Ngrams().fit(Sequences.from_lists([[0, 1]], 2), progress=lambda *_: False)


def test_tails_and_their_losses():
    sequences = Sequences.from_lists([[0, 1, 1], [], [1]], 2)
    heads = sequences.heads(np.array([2, 0, 1]))
    assert (list(heads.tokens), list(heads.starts)) == ([0, 1, 1], [0, 2, 2, 3])
    losses = mean_loss(np.array([-1.0, -2.0, -4.0, -8.0]), sequences, np.array([1, 0, 0]))
    assert_allclose(losses, [3.0, 8.0])


def test_a_network_is_chosen_only_where_it_wins_by_a_standard_error():
    assert gain(np.array([2.0, 4.0]), np.array([1.0, 1.0])) == (2.0, 1.0)
    assert gain(np.array([2.0]), np.array([1.0]))[1] == np.inf
    rng = np.random.default_rng(2)
    noise = Sequences.from_lists([rng.integers(0, 4, 20) for _ in range(8)], 4)
    chosen = choose_model(noise, ("pooled",), width=3)
    mean, error = chosen.gains["pooled"]
    assert (chosen.name == COUNTS) == (mean <= error)


@pytest.mark.slow
def test_what_depends_on_the_second_last_token_is_the_networks():
    # 0 0 1 1 0 0 1 1: the last token says nothing, the last two everything
    lists = [np.roll(np.tile([0, 0, 1, 1], 15), shift) for shift in range(12)]
    chosen = choose_model(Sequences.from_lists(lists, 2), ("pooled",), width=8)
    assert chosen.name == "pooled"
    assert chosen.losses["pooled"] < 0.2 < chosen.losses[COUNTS]
    assert np.exp(chosen.model.log_next([0, 0, 1], None))[1] > 0.8
