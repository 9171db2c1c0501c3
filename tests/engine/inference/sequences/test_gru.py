"""The recurrent network: gradients by finite differences, histories of any length, training, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.errors import Cancelled, InsufficientData, InvalidData, InvalidSetting
from models_engine.inference.sequences.data import Sequences, mean_loss
from models_engine.inference.sequences.gru import Batch, Parameters, loss_and_gradient
from models_engine.inference.sequences.gru_fit import VARIANTS, RecurrentNetwork

pytestmark = pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")
LISTS = [[0, 1, 3, 2, 2, 0], [1, 1, 0], [3, 2, 1, 0, 3]]


def some_parameters(variant: str, rng: np.random.Generator, d: int = 3) -> Parameters:
    _shared, own, vectors = VARIANTS[variant]
    shapes = {"rows": (4, 3 * d), "bias": (3 * d,), "matrices": (3, d, d), "own": (3 * own, 3, d, d)}
    shapes |= {"vectors": (3 * vectors, 3 * d), "out": (4, d), "level": (4,)}
    return Parameters(**{name: rng.normal(0, 0.6, shape) for name, shape in shapes.items()})


def batch_of(rng: np.random.Generator, d: int = 3) -> Batch:
    tokens = np.full((3, 6), -1)
    order = np.array([2, 0, 1])
    for row, one in enumerate(order):
        tokens[row, : len(LISTS[one])] = LISTS[one]
    return Batch(tokens, order, rng.normal(0, 0.3, (3, d)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_are_those_of_finite_differences(variant):
    rng = np.random.default_rng(1)
    at, batch, ridge = some_parameters(variant, rng), batch_of(rng), 0.3
    gradient = loss_and_gradient(at, batch, ridge)[1].arrays()
    for name, array in at.arrays().items():
        slopes = gradient[name]
        if name in ("own", "vectors") and array.size:
            slopes = np.zeros_like(array)
            slopes[batch.annotators] = gradient[name]
        for place in rng.permutation(list(np.ndindex(array.shape)))[:12]:
            one, kept, ends = tuple(place), array[tuple(place)], []
            for step in (1e-5, -1e-5):
                array[one] = kept + step
                ends.append(loss_and_gradient(at, batch, ridge)[0])
            array[one] = kept
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slopes[one], abs=1e-8)


def test_a_state_carried_on_is_that_of_the_whole():
    rng = np.random.default_rng(2)
    at, whole = some_parameters("own", rng), batch_of(rng)
    first = Batch(whole.tokens[:1, :2], whole.annotators[:1], whole.h[:1])
    rest = Batch(whole.tokens[:1, 2:5], whole.annotators[:1], loss_and_gradient(at, first)[2])
    together = Batch(whole.tokens[:1, :5], whole.annotators[:1], whole.h[:1])
    assert_allclose(loss_and_gradient(at, rest)[2], loss_and_gradient(at, together)[2], rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_comes_next_agrees_with_what_came(variant):
    sequences = Sequences.from_lists(LISTS, 4)
    found = RecurrentNetwork(variant, width=4, max_epochs=2).fit(sequences)
    logs = found.log_tokens(sequences)
    assert_allclose(logs[3], found.log_next(LISTS[0][:3], 0)[LISTS[0][3]], rtol=1e-10)
    assert_allclose(logs[6], found.log_next([], 1)[LISTS[1][0]], rtol=1e-10)
    for annotator in (None, 99):
        assert np.exp(found.log_next([0, 1], annotator)).sum() == pytest.approx(1)


@pytest.mark.slow
def test_what_repeats_is_learned_and_a_seed_repeats_the_fit():
    sequences = Sequences.from_lists([[0, 1, 2] * 12] * 6, 3)
    one, again = (RecurrentNetwork("pooled", width=6).fit(sequences, seed=4) for _ in range(2))
    losses = mean_loss(one.log_tokens(sequences), sequences, np.full(6, 30))
    assert (losses < 0.1).all()
    assert_allclose(one.log_tokens(sequences), again.log_tokens(sequences))
    assert (np.diff(one.diagnostics.objective) >= 0).all()


def test_bad_input_is_named():
    sequences = Sequences.from_lists(LISTS, 4)
    with pytest.raises(InvalidSetting):
        RecurrentNetwork("deep")
    with pytest.raises(InvalidSetting):
        RecurrentNetwork(width=0)
    with pytest.raises(InsufficientData):
        RecurrentNetwork().fit(Sequences.from_lists([[], []], 4))
    with pytest.raises(Cancelled):
        RecurrentNetwork(width=2).fit(sequences, progress=lambda *_: False)
    with pytest.raises(InvalidData):
        RecurrentNetwork(width=2, max_epochs=1).fit(sequences).log_next([4], 0)


def test_one_annotator_with_one_token_gives_an_answer():
    found = RecurrentNetwork("own", width=2).fit(Sequences.from_lists([[1]], 2))
    assert np.isfinite(found.log_next([], 0)).all()
    assert np.isfinite(found.log_next([1] * 300, 0)).all()
