"""The search of the scales: the slope of EP's evidence against differences, and its top against EP run anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.inference.tastes.covariance import learn_taste
from models_engine.inference.tastes.scales import (
    LeftOut,
    PriorScales,
    ScalePriors,
    evidence_gradient,
    most_probable_scales,
    sites_among,
)
from models_engine.kernels import ItemKernel
from models_engine.simulate import simulate_crowd

PRIORS = ScalePriors(1.0, 0.7, 0.75)
N_ITEMS, N_ANNOTATORS = 15, 12


def sites_of(seed: int, n_labels: int) -> PairSites:
    rng = np.random.default_rng(seed)
    data = simulate_crowd(rng, N_ITEMS, N_ANNOTATORS, utility_sd=1.2, taste_sd=0.5).pairs(n_labels, rng)
    return build_sites(data.pairs(), data.weights)


def ep_at(sites: PairSites, scales: PriorScales, features: np.ndarray | None, lapse: np.ndarray | None) -> EPResult:
    kernel = ItemKernel(features, N_ITEMS, scales.share, scales.length).matrix()
    crowd = CrowdPrior(scales.taste_sd**2 * kernel, scales.consensus_sd**2 * kernel, np.zeros(N_ITEMS), lapse=lapse)
    return run_ep(sites, build_blocks(sites), crowd, tolerance=1e-8, max_iterations=300)


def test_the_slope_of_the_evidence_is_that_of_ep_run_anew():
    rng, sites = np.random.default_rng(0), sites_of(1, 150)
    roots = rng.standard_normal((4, N_ITEMS, N_ITEMS)) / np.sqrt(N_ITEMS)
    taste, consensus, *directions = (root @ root.T for root in roots)
    mean = rng.standard_normal(N_ITEMS)

    def at(step: float) -> tuple[CrowdPrior, EPResult]:
        one, other = directions
        crowd = CrowdPrior(taste + np.eye(N_ITEMS) + step * one, consensus + np.eye(N_ITEMS) + step * other, mean)
        return crowd, run_ep(sites, build_blocks(sites), crowd, tolerance=1e-9, max_iterations=300)

    nothing = np.zeros((N_ITEMS, N_ITEMS))
    both, alone, rest = evidence_gradient(
        *at(0.0), [(directions[0], directions[1]), (directions[0], nothing), (nothing, directions[1])]
    )
    expected = (at(1e-4)[1].log_evidence - at(-1e-4)[1].log_evidence) / 2e-4
    assert both == pytest.approx(expected, rel=1e-4)
    assert both == pytest.approx(alone + rest)
    assert abs(alone) > 0.1
    assert abs(rest) > 0.1


@pytest.mark.parametrize("kind", ["reliable", "features", "reversed"])
def test_no_scales_beside_those_found_are_clearly_more_probable(kind):
    sites = sites_of(2, 400)
    features = np.random.default_rng(3).standard_normal((N_ITEMS, 2)) if kind == "features" else None
    lapse = np.full(N_ANNOTATORS, 0.05) if kind == "reversed" else None
    start = np.random.default_rng(0)
    found = most_probable_scales(sites, features, PRIORS, start, lambda _: None, lapse)
    again = most_probable_scales(sites, features, PRIORS, start, lambda _: None, lapse, near=found)
    assert_allclose([again.consensus_sd, again.taste_sd], [found.consensus_sd, found.taste_sd], rtol=0.1)

    def value(consensus: float, taste: float) -> float:
        scales = PriorScales(consensus * found.consensus_sd, taste * found.taste_sd, found.share, found.length)
        x = np.log([scales.consensus_sd / PRIORS.consensus_sd, scales.taste_sd / PRIORS.taste_sd]) / PRIORS.log_sd
        return ep_at(sites, scales, features, lapse).log_evidence - float(x @ x) / 2

    top = value(1.0, 1.0)
    for way in ((1.15, 1.0), (1 / 1.15, 1.0), (1.0, 1.15), (1.0, 1 / 1.15)):
        assert value(*way) < top + 0.05
    assert value(2.0, 1.0) < top - 0.5
    assert value(1.0, 3.0) < top - 0.5


def test_the_evidence_of_those_left_out_is_that_of_all_less_that_of_the_others():
    """p(own labels | the others') = p(all labels) / p(the others'), which EP run on each gives without the other."""
    sites, rng = sites_of(4, 200), np.random.default_rng(5)
    root = rng.standard_normal((N_ITEMS, 2)) / 2
    prior = CrowdPrior(0.5 * np.eye(N_ITEMS), 1.5 * np.eye(N_ITEMS), np.zeros(N_ITEMS))
    out = sites.annotator < 3
    own, others = sites.select(np.flatnonzero(out)), sites.select(np.flatnonzero(~out))
    learned = root @ root.T + 0.1 * np.eye(N_ITEMS)
    candidates = [(1.0, 0.02), (0.0, 1.0), (0.4, 0.6)]

    def evidence(some: PairSites, a: float, r: float) -> float:
        crowd = prior.changed(taste=a * learned + r * prior.taste)
        return run_ep(some, build_blocks(some), crowd, tolerance=1e-8, max_iterations=300).log_evidence

    found = list(LeftOut(own, prior, learned, others).log_evidences(candidates))
    assert_allclose(found, [evidence(sites, *one) - evidence(others, *one) for one in candidates], atol=0.1)
    alone = list(LeftOut(own, prior, learned).log_evidences(candidates))
    assert_allclose(alone, [evidence(own, *one) for one in candidates], atol=0.1)
    assert min(np.subtract(found, alone)) > 0.5, "what the others said helps to predict them"


def test_sites_and_prior_among_items_are_those_of_their_pairs():
    sites, items = sites_of(6, 100), np.array([1, 4, 5, 9, 12])
    found = sites_among(sites, items)
    pairs = set(zip(items[found.low].tolist(), items[found.high].tolist(), found.annotator.tolist(), strict=True))
    every = zip(sites.low.tolist(), sites.high.tolist(), sites.annotator.tolist(), strict=True)
    assert pairs == {(low, high, who) for low, high, who in every if {low, high} <= set(items.tolist())}
    assert found.n_items == 5
    root = np.random.default_rng(7).standard_normal((N_ITEMS, N_ITEMS))
    few = CrowdPrior(root @ root.T, 2 * root @ root.T, root[0], lapse=np.full(N_ANNOTATORS, 0.1)).among(items)
    assert_allclose(few.taste[1, 3], root[4] @ root[9])
    assert_allclose(few.consensus, 2 * few.taste)
    assert_allclose(few.mean, root[0, items])
    assert few.lapse.shape == (N_ANNOTATORS,)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_few_peoples_consensus_is_not_learned_as_a_direction_of_their_tastes(seed):
    """Along what all of five people say, tastes vary by about .16; a prior of .5 for them leaves it under 10. With
    the consensus under its own prior it comes out ten times as large or more."""
    rng, n = np.random.default_rng(seed), 100
    crowd = simulate_crowd(rng, n, 5, taste_sd=0.4, link="probit")
    data = crowd.pairs(500, rng)
    sites = build_sites(data.pairs(), data.weights)
    prior = CrowdPrior(0.5 * np.eye(n), np.eye(n), np.zeros(n))
    along = crowd.utilities / np.linalg.norm(crowd.utilities)
    closed, opened = (
        along @ learn_taste(sites, build_blocks(sites), one, 20.0).taste @ along
        for one in (prior, prior.open_by(100.0))
    )
    assert opened < 10
    assert opened < closed / 10
