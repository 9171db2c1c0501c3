"""A scale of each unconnected part beside tastes and reliabilities: CollaborativeGP, CrowdGPPL."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.simulate import Crowd

pytestmark = pytest.mark.usefixtures("quick_draws")

N_PARTS, PART, N_PEOPLE = 6, 4, 10
BY_PART, ONE_SCALE = CollaborativeGP(), CollaborativeGP(part_scales=False)


def uneven_parts(n_labels: int, n_parts: int = N_PARTS) -> tuple[Comparisons, np.ndarray]:
    """Parts of 4 items whose utilities spread by .3 and 2.5 in turn; everybody reliable and of one taste."""
    rng = np.random.default_rng(5)
    part = np.repeat(np.arange(n_parts), PART)
    utilities = rng.standard_normal(len(part)) * np.where(part % 2, 2.5, 0.3)
    own = np.tile(utilities, (N_PEOPLE, 1))
    people = Crowd(utilities, own, np.ones(N_PEOPLE), np.zeros(N_PEOPLE), link="probit")
    first, other = rng.integers(PART, size=n_labels), rng.integers(1, PART, size=n_labels)
    start = PART * rng.integers(n_parts, size=n_labels)
    shown = np.stack([start + first, start + (first + other) % PART], axis=1)
    return people.pairs(n_labels, rng, shown=shown), part


def spread_of(posterior: CollaborativePosterior, part: np.ndarray) -> np.ndarray:
    return np.array([posterior.utilities()[part == p].std() for p in range(part.max() + 1)])


@cache
def fitted_by_part() -> CollaborativePosterior:
    return BY_PART.fit(uneven_parts(600)[0])


@pytest.mark.slow
def test_parts_have_scales_of_their_own_which_a_stored_fit_hands_on():
    data, part = uneven_parts(600)
    posterior = fitted_by_part()
    sds = posterior.tastes.item_sds
    assert sds[part % 2 == 1].min() > 1.3 * sds[part % 2 == 0].max()
    assert all(len(set(sds[part == one])) == 1 for one in range(N_PARTS))
    loaded = CollaborativePosterior.from_arrays(posterior.to_arrays())
    again = BY_PART.fit(data, start=loaded)
    assert_array_equal(again.tastes.item_sds, sds)
    assert_allclose(again.tastes.mean, posterior.tastes.mean, atol=1e-3)
    plain = ONE_SCALE.fit(data, start=loaded)
    assert not len(plain.tastes.item_sds), "fits with one scale do not take these over"
    assert spread_of(posterior, part)[1::2].mean() > spread_of(plain, part)[1::2].mean(), "what spreads is shrunk less"
    old = {name: value for name, value in posterior.to_arrays().items() if name != "tastes/item_sds"}
    assert not len(CollaborativePosterior.from_arrays(old).tastes.item_sds)


@pytest.mark.slow
def test_where_an_answer_joins_two_parts_their_scales_are_not_handed_on():
    data, part = uneven_parts(600)
    before = fitted_by_part()
    bridge = Comparisons.from_pairs([0], [PART], [1.0], [0], n_items=data.n_items, n_annotators=data.n_annotators)
    after = BY_PART.fit(Comparisons.concatenate([data, bridge]), start=before)
    joined = after.tastes.item_sds[part < 2]
    assert len(set(joined)) == 1
    assert joined[0] not in before.tastes.item_sds


@pytest.mark.slow
def test_crowd_gppl_has_scales_of_parts_too():
    data, part = uneven_parts(600)
    sds = CrowdGPPL().fit(data).tastes.item_sds
    assert sds[part % 2 == 1].min() > 1.3 * sds[part % 2 == 0].max()


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 4])
def test_of_one_part_or_few_the_fit_is_the_same_to_the_last_bit(n_parts):
    data, _ = uneven_parts(200, n_parts)
    found = [one.fit(data) for one in (BY_PART, ONE_SCALE)]
    kept = {name: values for name, values in found[0].to_arrays().items() if name != "meta"}  # which has the seconds
    for name, values in kept.items():
        assert_array_equal(values, found[1].to_arrays()[name], err_msg=name)
    assert not len(found[0].tastes.item_sds)
