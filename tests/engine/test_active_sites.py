"""EP on some sites with the others kept, against EP on all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.data import Comparisons
from models_engine.inference.active_sites import Active, Known, people_of, settle
from models_engine.inference.annotator_blocks import blocks_of
from models_engine.inference.batched_ep import CrowdPrior, EPResult, Sites, run_ep
from models_engine.inference.pair_sites import PairSites, sites_of

N = 5


def labels(seed: int, n_labels: int) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(N, size=n_labels)
    right = (left + rng.integers(1, N, size=n_labels)) % N
    outcome, who = rng.choice([0.0, 0.5, 1.0], size=n_labels), rng.integers(4, size=n_labels)
    return Comparisons.from_pairs(left, right, outcome, who, n_items=N, n_annotators=4)


def fixed_point(sites: PairSites, crowd: CrowdPrior) -> EPResult:
    return run_ep(sites, blocks_of(sites), crowd, tolerance=1e-10, max_iterations=500)


@pytest.mark.parametrize("n_before", [12, 60])  # in the space of margins, of items
def test_with_every_site_active_it_is_ep_on_all(n_before):
    before, new = labels(0, n_before), labels(1, 9)
    both = Comparisons.concatenate([before, new])
    old, sites = (sites_of(one.pairs(), one.weights) for one in (before, both))
    rng = np.random.default_rng(2)
    loadings = rng.standard_normal((N, 2))
    crowd = CrowdPrior(0.5 * loadings @ loadings.T + 0.3 * np.eye(N), 1.5 * np.eye(N), np.zeros(N))
    start, end = fixed_point(old, crowd), fixed_point(sites, crowd)
    where = [int(np.flatnonzero((sites.keys == key).all(axis=1))[0]) for key in old.keys]
    kept, copies = Sites.empty(len(sites)), np.zeros(len(sites))
    kept.precision[where], kept.shift[where] = start.sites.precision, start.sites.shift
    copies[where] = old.copies
    known = Known(crowd.taste, start.mean, start.covariance)
    active = Active.of(sites, people_of(old, start.sites, known), known)
    heard: list[float] = []
    options = {"tolerance": 1e-9, "max_iterations": 300, "on_iteration": heard.append}
    settled = settle(active, kept, copies, known, **options)
    assert settled.change < 1e-9
    assert heard[-1] == settled.change
    assert_allclose(settled.sites.precision, end.sites.precision, atol=1e-7)
    assert_allclose(settled.mean, end.mean, atol=1e-7)
    assert_allclose(settled.covariance, end.covariance, atol=1e-7)
    assert_allclose(start.mean + settled.move, settled.mean)
    assert settled.gain == pytest.approx(end.log_evidence - start.log_evidence, abs=1e-6)


def test_the_fixed_point_is_where_it_was_without_new_labels():
    before = labels(3, 20)
    sites = sites_of(before.pairs(), before.weights)
    crowd = CrowdPrior(0.4 * np.eye(N), np.eye(N), np.zeros(N))
    start = fixed_point(sites, crowd)
    known = Known(crowd.taste, start.mean, start.covariance)
    active = Active.of(sites, people_of(sites, start.sites, known), known)
    settled = settle(active, start.sites, sites.copies, known, tolerance=1e-6, on_iteration=lambda change: None)
    assert settled.n_iterations == 0
    assert_allclose(settled.pull, 0.0, atol=1e-12)
    assert_allclose(settled.covariance, start.covariance, atol=1e-12)
    assert settled.gain == pytest.approx(0.0, abs=1e-9)
