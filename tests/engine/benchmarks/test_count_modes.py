"""Counts at their mode: the mode by another minimiser, and what each way leaves open."""

import numpy as np
import pytest
from scipy.optimize import minimize

from models_engine.benchmarks.count_modes import CountModes
from models_engine.inference.counts.bound import Scales
from models_engine.inference.counts.cells import CountCells

SCALES = Scales(0.4, 0.3, np.array([0.5]), 0.2)


def some_counts(n_items=8, n_annotators=6, seed=0):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(0, 0.9, (n_items, 1)) @ rng.normal(0, 0.9, (1, n_annotators)))
    item, who = np.nonzero(rng.random(rate.shape) < 0.7)
    return CountCells.from_rows(item, who, rng.poisson(rate[item, who]), n_items=n_items, n_annotators=n_annotators)


def test_the_mode_is_that_of_the_log_joint_density():
    cells = some_counts()
    found = CountModes("MAP", SCALES, max_evaluations=5_000).fit(cells).effects

    def loss(x):
        constant, b, a, v, w = np.split(x, [1, 9, 15, 23])
        f = constant + b[cells.items] + a[cells.annotators] + v[cells.items] * w[cells.annotators]
        prior = (b @ b) / 0.4 + (a @ a) / 0.3 + (v @ v + w @ w) / 0.5 + (constant[0] - 0.2) ** 2 / 9
        return -(cells.counts * f - np.exp(f)).sum() + prior / 2

    parts = [[found.constant], found.item_mean[:, 0], found.annotator_mean[:, 0]]
    at = np.concatenate([*parts, found.item_mean[:, 1], found.annotator_mean[:, 1]])
    assert loss(at) == pytest.approx(minimize(loss, at + 0.01, method="BFGS").fun, abs=1e-4)


@pytest.mark.parametrize(("way", "sizes", "of_items", "of_annotators"), [
    ("MAP", (8, 6), False, False), ("EM", (8, 6), True, False), ("EM", (6, 8), False, True), ("MF", (8, 6), True, True),
])  # fmt: skip
def test_each_way_leaves_open_what_it_says(way, sizes, of_items, of_annotators):
    found = CountModes(way, SCALES).fit(some_counts(*sizes)).effects
    for variance, is_open in ((found.item_variance, of_items), (found.annotator_variance, of_annotators)):
        assert (variance > 1e-3).all() if is_open else (variance < 1e-10).all()


def test_the_bound_over_both_variances_is_above_that_over_one():
    cells = some_counts()
    bounds = [CountModes(way, SCALES).fit(cells).bound for way in ("MAP", "EM", "MF")]
    assert bounds == sorted(bounds)
    assert np.diff(bounds).min() > 10, "a side at its mode costs the entropy of its effects"


@pytest.mark.parametrize("prior", [0.2, 0.7])
def test_what_was_never_counted_keeps_the_prior_variances(prior):
    cells = some_counts()
    seen = (cells.items != 3) & (cells.annotators != 2)
    scales = Scales(0.4, 0.3, np.array([prior]), 0.2)
    found = CountModes("MF", scales).fit(cells.subset(seen)).effects
    assert found.item_variance[3] == pytest.approx([0.4, prior], rel=1e-2)
    assert found.annotator_variance[2] == pytest.approx([0.3, prior], rel=1e-2)
    assert (found.item_variance[[0, 1, 2]] < [0.4, prior]).all()
