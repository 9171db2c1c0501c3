"""EP on some sites with the others kept, against EP on all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.data import Comparisons
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.active_sites import ActiveSites, FixedPoint, run_active_ep, solve_kept_sites

N = 5


def labels(seed: int, n_labels: int) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(N, size=n_labels)
    right = (left + rng.integers(1, N, size=n_labels)) % N
    outcome, who = rng.choice([0.0, 0.5, 1.0], size=n_labels), rng.integers(4, size=n_labels)
    return Comparisons.from_pairs(left, right, outcome, who, n_items=N, n_annotators=4)


def converge(sites: PairSites, crowd: CrowdPrior) -> EPResult:
    return run_ep(sites, build_blocks(sites), crowd, tolerance=1e-10, max_iterations=500)


def with_grades(data: Comparisons) -> Comparisons:
    """Say of two in three winners whether they are slightly or clearly better, of the others not."""
    pairs = data.pairs()
    grades = np.where(pairs.outcome == 0.5, 0, np.arange(len(pairs)) % 3)
    columns = (pairs.left, pairs.right, pairs.outcome, pairs.annotator)
    return Comparisons.from_pairs(*columns, grades=grades, n_grades=2, n_items=N, n_annotators=4)


@pytest.mark.parametrize("cuts", [None, np.array([0.4, 1.3])])
@pytest.mark.parametrize("n_before", [12, 60])  # in the space of margins, of items
def test_with_every_site_active_the_result_is_ep_on_all_sites(n_before, cuts):
    before, new = (labels(seed, n) for seed, n in enumerate((n_before, 9)))
    if cuts is not None:
        before, new = with_grades(before), with_grades(new)
    both = Comparisons.concatenate([before, new])
    old, sites = (build_sites(one.pairs(), one.weights, graded=cuts is not None) for one in (before, both))
    rng = np.random.default_rng(2)
    loadings = rng.standard_normal((N, 2))
    crowd = CrowdPrior(0.5 * loadings @ loadings.T + 0.3 * np.eye(N), 1.5 * np.eye(N), np.zeros(N), cuts=cuts)
    start, end = converge(old, crowd), converge(sites, crowd)
    where = [int(np.flatnonzero((sites.keys == key).all(axis=1))[0]) for key in old.keys]
    kept, copies = Sites.empty(len(sites)), np.zeros(len(sites))
    kept.precision[where], kept.shift[where] = start.sites.precision, start.sites.shift
    copies[where] = old.copies
    fixed_point = FixedPoint(crowd.taste, start.mean, start.covariance, cuts=cuts)
    active = ActiveSites.of(sites, solve_kept_sites(old, start.sites, fixed_point), fixed_point)
    heard: list[float] = []
    options = {"tolerance": 1e-9, "max_iterations": 300, "on_iteration": heard.append}
    result = run_active_ep(active, kept, copies, fixed_point, **options)
    assert result.change < 1e-9
    assert heard[-1] == result.change
    assert_allclose(result.sites.precision, end.sites.precision, atol=1e-7)
    assert_allclose(result.mean, end.mean, atol=1e-7)
    assert_allclose(result.covariance, end.covariance, atol=1e-7)
    assert_allclose(start.mean + result.move, result.mean)
    assert result.gain == pytest.approx(end.log_evidence - start.log_evidence, abs=1e-6)


def test_the_fixed_point_is_unchanged_without_new_labels():
    before = labels(3, 20)
    sites = build_sites(before.pairs(), before.weights)
    crowd = CrowdPrior(0.4 * np.eye(N), np.eye(N), np.zeros(N))
    start = converge(sites, crowd)
    fixed_point = FixedPoint(crowd.taste, start.mean, start.covariance)
    active = ActiveSites.of(sites, solve_kept_sites(sites, start.sites, fixed_point), fixed_point)
    result = run_active_ep(
        active, start.sites, sites.copies, fixed_point, tolerance=1e-6, on_iteration=lambda change: None
    )
    assert result.n_iterations == 0
    assert_allclose(result.shift_change, 0.0, atol=1e-12)
    assert_allclose(result.covariance, start.covariance, atol=1e-12)
    assert result.gain == pytest.approx(0.0, abs=1e-9)
