"""The search of the scales: the slope of EP's evidence against differences, and its top against EP run anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.inference.tastes.scales import PriorScales, ScalePriors, evidence_gradient, most_probable_scales
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
