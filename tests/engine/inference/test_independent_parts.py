"""EP over the connected parts of annotators' pairs, against EP over whole annotators."""

import numpy as np
from numpy.testing import assert_allclose

from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, run_ep
from models_engine.inference.probit_ep.independent_parts import IndependentParts, is_diagonal
from models_engine.inference.probit_ep.pair_sites import build_sites_with_rankings
from models_engine.simulate import simulate_crowd


def test_parts_have_the_consensus_and_evidence_of_whole_annotators():
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 40, 6, utility_sd=1.0, taste_sd=0.5)
    for data in (people.pairs(90, rng), people.rankings(20, 3, rng)):
        sites = build_sites_with_rankings(data)
        crowd = CrowdPrior(
            np.diag(rng.uniform(0.2, 0.6, 40)), np.eye(40), np.zeros(40), rng.uniform(0.5, 2.0, 6), np.full(6, 0.02)
        )
        assert is_diagonal(crowd.taste)
        whole = run_ep(sites, build_blocks(sites), crowd, tolerance=1e-9, max_iterations=200)
        parts = IndependentParts.of(sites)
        own, found = parts.run(crowd, None, None, tolerance=1e-9, max_iterations=200)
        assert len(parts.owner) > 6
        assert_allclose(found.mean, whole.mean, atol=1e-7)
        assert_allclose(found.covariance, whole.covariance, atol=1e-7)
        assert_allclose(found.log_evidence, whole.log_evidence, atol=1e-6)
        assert_allclose(own.precision, whole.sites.precision, atol=1e-7)
        again = parts.run(crowd, own, found.mean, tolerance=1e-6, max_iterations=5)[1]
        assert again.n_iterations == 1


def test_a_matrix_is_diagonal_only_without_numbers_beside_the_diagonal():
    assert is_diagonal(np.zeros((3, 3)))
    assert not is_diagonal(np.ones((2, 2)))
