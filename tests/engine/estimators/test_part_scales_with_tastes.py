"""A scale of each unconnected part beside tastes and reliabilities: CollaborativeGP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.collaborative.sampled import count_components, told_taste
from models_engine.inference.tastes.draws import Sampled
from models_engine.simulate import Crowd

N_PARTS, PART, N_PEOPLE = 6, 4, 10
BY_PART, ONE_SCALE = CollaborativeGP(), CollaborativeGP(part_scales=False)


def uneven_parts(n_labels: int) -> tuple[Comparisons, np.ndarray]:
    """Parts of 4 items whose utilities spread by .3 and 2.5 in turn; everybody reliable and of one taste."""
    rng = np.random.default_rng(5)
    part = np.repeat(np.arange(N_PARTS), PART)
    utilities = rng.standard_normal(len(part)) * np.where(part % 2, 2.5, 0.3)
    own = np.tile(utilities, (N_PEOPLE, 1))
    people = Crowd(utilities, own, np.ones(N_PEOPLE), np.zeros(N_PEOPLE), link="probit")
    first, other = rng.integers(PART, size=n_labels), rng.integers(1, PART, size=n_labels)
    start = PART * rng.integers(N_PARTS, size=n_labels)
    shown = np.stack([start + first, start + (first + other) % PART], axis=1)
    return people.pairs(n_labels, rng, shown=shown), part


@pytest.mark.slow
def test_parts_have_scales_of_their_own_which_a_stored_fit_hands_on():
    data, part = uneven_parts(600)
    posterior = BY_PART.fit(data)
    sds = posterior.tastes.item_sds
    assert sds[part % 2 == 1].min() > 1.3 * sds[part % 2 == 0].max()
    assert all(len(set(sds[part == one])) == 1 for one in range(N_PARTS))
    loaded = CollaborativePosterior.from_arrays(posterior.to_arrays())
    again = BY_PART.fit(data, start=loaded)
    assert_array_equal(again.tastes.item_sds, sds)
    assert_allclose(again.tastes.mean, posterior.tastes.mean, atol=1e-3)
    plain = ONE_SCALE.fit(data, start=loaded)
    assert not len(plain.tastes.item_sds), "fits with one scale do not take these over"
    uneven, even = ([one.tastes.mean[part == p].std() for p in range(N_PARTS)] for one in (posterior, plain))
    assert np.mean(uneven[1::2]) > np.mean(even[1::2]), "clear differences are shrunk less"
    old = {name: value for name, value in posterior.to_arrays().items() if name != "tastes/item_sds"}
    assert not len(CollaborativePosterior.from_arrays(old).tastes.item_sds)


@pytest.mark.slow
def test_of_one_connected_part_the_fit_is_the_same_to_the_last_bit():
    rng = np.random.default_rng(6)
    left = rng.integers(5, size=120)
    data = Comparisons.from_pairs(
        left, (left + rng.integers(1, 5, size=120)) % 5, rng.random(120) < 0.6, np.arange(120) % 9
    )
    found = [one.fit(data) for one in (BY_PART, ONE_SCALE)]
    assert_array_equal(found[0].utilities(), found[1].utilities())
    assert not len(found[0].tastes.item_sds)


def sampled(shared: np.ndarray, spectra: np.ndarray, own: float) -> Sampled:
    one, taste = np.ones(1), shared + own * np.eye(len(shared))
    return Sampled(shared, taste, 1.0, one, spectra, *(one,) * 7, 1.0, one, one)


def test_what_is_told_of_tastes_keeps_its_shape_and_the_rest_has_none():
    rng = np.random.default_rng(7)
    directions = np.linalg.qr(np.column_stack([np.ones(12), rng.standard_normal((12, 2))]))[0][:, 1:]
    shared = (directions * [6.0, 1.0]) @ directions.T
    clear = sampled(shared, np.array([[6.5, 4.0]]), 0.1)  # the second keeps a quarter of what draws have
    assert count_components(clear) == 1
    found = told_taste(clear)
    values, vectors = np.linalg.eigh(found)
    assert np.trace(found) == pytest.approx(np.trace(clear.taste))
    assert abs(vectors[:, -1] @ directions[:, 0]) == pytest.approx(1.0)
    assert_allclose(values[:-1], (1.0 + 1.2) / 12)
    assert values[-1] == pytest.approx(6.0 + (1.0 + 1.2) / 12)
    noise = sampled(shared, np.array([[20.0, 9.0]]), 0.1)
    assert_allclose(told_taste(noise), np.trace(noise.taste) / 12 * np.eye(12), atol=1e-12)
