"""No inference refuses a collection for its number of items: another takes its place, and the fit says so."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.data import Comparisons
from models_engine.estimators import bradley_terry, feature_plackett_luce, gppl
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.feature_plackett_luce import FeaturePlackettLuce
from models_engine.estimators.gppl import GPPL
from models_engine.messages import Message
from models_engine.simulate import simulate_crowd

N_MANY = 10_000
# The setting that asks for a matrix over all items, what is used without one, and the number of items.
ASKED = (
    (BradleyTerry(inference="variational"), "map", N_MANY),
    pytest.param(FeaturePlackettLuce(inference="vi", prior_sd=1.0), "map", N_MANY, marks=pytest.mark.slow),
    pytest.param(GPPL(inference="ep"), "vg", 2_001, marks=pytest.mark.slow),
    pytest.param(GPPL(inference="linearised"), "vg", 2_001, marks=pytest.mark.slow),
)


def simulate(n_items: int, n_labels: int, seed: int = 3) -> Comparisons:
    rng = np.random.default_rng(seed)
    return simulate_crowd(rng, n_items, 5, utility_sd=1.0).pairs(n_labels, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "used", "n_items"), ASKED)
def test_many_items_are_ranked_by_another_inference(asked, used, n_items):
    data = simulate(n_items, 300)
    found, expected = asked.fit(data), replace(asked, inference=used).fit(data)
    assert found.n_items == n_items
    assert_array_equal(found.utilities(), expected.utilities())
    assert_array_equal(found.standard_deviations(), expected.standard_deviations())
    said = f'inference="{asked.inference}" takes at most '
    assert said in found.diagnostics.message
    assert f'inference="{used}" was used' in found.diagnostics.message
    assert said not in expected.diagnostics.message
    assert isinstance(found.diagnostics.message, Message)
    assert len(found.diagnostics.message.parts) == len(expected.diagnostics.message.parts) + 1


@pytest.mark.parametrize(
    ("asked", "module", "limit"),
    [
        (BradleyTerry(inference="variational"), bradley_terry, "MAX_DENSE_ITEMS"),
        (FeaturePlackettLuce(inference="vi", prior_sd=1.0), feature_plackett_luce, "MAX_MATRIX_ITEMS"),
        (GPPL(inference="ep"), gppl, "MAX_ITEMS"),
    ],
)
def test_as_many_items_as_it_takes_are_ranked_as_asked(monkeypatch, asked, module, limit):
    data = simulate(30, 200)
    monkeypatch.setattr(module, limit, 30)
    assert "was used" not in asked.fit(data).diagnostics.message
    monkeypatch.setattr(module, limit, 29)
    assert "at most 29 items and there are 30" in asked.fit(data).diagnostics.message


def test_ep_over_features_gives_way_to_inducing_points():
    rng = np.random.default_rng(4)
    crowd = simulate_crowd(rng, 30, 5, utility_sd=1.0)
    plain = crowd.pairs(200, rng)
    data = replace(plain, item_features=np.column_stack([crowd.utilities, rng.normal(size=30)]))
    asked = GPPL(inference="ep", share=1.0, length_scale=1.0, n_inducing=10)
    found, expected = asked.fit(data), replace(asked, inference="vg").fit(data)
    assert_array_equal(found.utilities(), expected.utilities())
    assert "at most 10 items and there are 30" in found.diagnostics.message
    assert "was used" not in replace(asked, n_inducing=30).fit(data).diagnostics.message
