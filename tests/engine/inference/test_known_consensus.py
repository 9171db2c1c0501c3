"""EP given the consensus, and reliabilities by it, against EP run anew for every way of answering."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from models_engine.executor import use_executor
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, run_ep
from models_engine.inference.probit_ep.independent_parts import IndependentParts
from models_engine.inference.probit_ep.known_consensus import KnownConsensus
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.reliability import KNOTS, P_CARELESS, learn_reliabilities, summarise_evidence
from models_engine.simulate import simulate_crowd
from tests.engine.inference.counting import Counting

RELIABLE = np.array([1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.75, 0.95])


def crowd_and_sites(n_labels: int) -> tuple[CrowdPrior, PairSites]:
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 25, len(RELIABLE), utility_sd=1.0, taste_sd=0.4)
    data = replace(people, reliability=RELIABLE).pairs(n_labels, rng)
    return CrowdPrior(0.2 * np.eye(25), np.eye(25), np.zeros(25)), build_sites(data.pairs(), data.weights)


def evidence_anew(sites: PairSites, crowd: CrowdPrior, covariance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    def at(knot: float) -> np.ndarray:
        lapse = np.full(len(RELIABLE), float(expit(-knot)))
        known = CrowdPrior(crowd.taste + covariance, None, mean, lapse=lapse)
        return run_ep(sites, build_blocks(sites), known, tolerance=1e-6).by_annotator

    return np.array([at(knot) for knot in KNOTS])


def test_evidence_given_the_consensus_is_that_of_ep_run_anew():
    crowd, sites = crowd_and_sites(300)
    mean = np.linspace(-1.0, 1.0, 25)
    known = KnownConsensus(sites, build_blocks(sites), crowd.taste, mean, Sites.empty(len(sites)))
    expected = evidence_anew(sites, crowd, np.zeros((25, 25)), mean)
    for row, knot in reversed(list(enumerate(KNOTS))):
        lapse = np.full(len(RELIABLE), float(expit(-knot)))
        assert_allclose(known.evidence(replace(crowd, lapse=lapse)), expected[row], atol=0.01)


def test_people_who_have_converged_are_not_solved_again():
    crowd, sites = crowd_and_sites(300)
    mean = np.linspace(-1.0, 1.0, 25)
    expected = evidence_anew(sites, crowd, np.zeros((25, 25)), mean)
    with use_executor(Counting()) as counting:
        known = KnownConsensus(sites, build_blocks(sites), crowd.taste, mean, Sites.empty(len(sites)))
        for row, knot in enumerate(KNOTS):
            begun = len(counting.solved)
            found = known.evidence(replace(crowd, lapse=np.full(len(RELIABLE), float(expit(-knot)))))
            assert_allclose(found, expected[row], atol=0.01)
            solved = counting.solved[begun:]
            assert solved == sorted(solved, reverse=True)
    assert counting.solved[0] == len(RELIABLE)
    assert any(0 < n <= len(RELIABLE) / 2 for n in counting.solved)


def test_reliabilities_are_those_of_the_evidence_at_every_knot():
    """Though the middle knots are computed only for those who may be there."""
    crowd, sites = crowd_and_sites(1_100)
    found, shared = learn_reliabilities(sites, build_blocks(sites), crowd, lambda _: None)
    evidence = evidence_anew(sites, crowd, shared.covariance, shared.mean)
    expected = summarise_evidence(evidence, np.ones(len(RELIABLE), dtype=bool))
    middle = evidence[1:4].max(axis=0) - evidence.max(axis=0)
    assert (middle < -13).any()
    assert (middle > -1).any()
    assert_allclose(found.mean, expected.mean, atol=2e-3)
    assert_allclose(found.sd, expected.sd, atol=2e-3)
    assert_allclose(found.lapse, expected.lapse, atol=2e-3)


def test_reliabilities_found_in_parts_of_an_annotators_pairs_are_those_of_whole_annotators():
    """Tastes that hardly go together have no parts, and the same reliabilities as those that don't at all."""
    rng = np.random.default_rng(1)
    reliability = np.r_[np.ones(30), np.zeros(5), np.full(5, 0.5)]
    people = replace(simulate_crowd(rng, 120, 40, utility_sd=1.0, taste_sd=0.4), reliability=reliability)
    data = people.pairs(1_200, rng)
    sites, crowd = build_sites(data.pairs(), data.weights), CrowdPrior(0.2 * np.eye(120), np.eye(120), np.zeros(120))
    together = replace(crowd, taste=crowd.taste + 1e-9 * (1 - np.eye(120)))
    (found, shared), (whole, expected) = (
        learn_reliabilities(sites, build_blocks(sites), one, lambda _: None) for one in (crowd, together)
    )
    assert len(IndependentParts.of(sites).owner) > 80
    assert (whole.lapse > 0).any()
    assert (np.abs(found.mean - whole.mean) < 0.03 * whole.sd).all()
    assert_allclose(found.sd, whole.sd, rtol=0.03)
    assert_allclose(shared.mean, expected.mean, atol=1e-6)
    assert_allclose(shared.sites.precision, expected.sites.precision, atol=1e-6)
    assert_allclose(shared.update.shift, expected.update.shift, atol=1e-6)


def test_only_those_whose_answers_speak_for_carelessness_are_looked_at_again():
    crowd, sites = crowd_and_sites(2_000)
    first, shared = learn_reliabilities(sites, build_blocks(sites), crowd, lambda _: None)
    assert first.careless is not None
    kept = first.careless < P_CARELESS
    assert 0 < kept.sum() < len(kept)
    again = crowd.changed(taste=1.2 * crowd.taste, lapse=first.lapse)
    begin = {"start": shared.sites, "at": shared.mean}
    found, _ = learn_reliabilities(sites, build_blocks(sites), again, lambda _: None, before=first, **begin)
    assert found.careless is not None
    whole, _ = learn_reliabilities(sites, build_blocks(sites), again, lambda _: None, **begin)
    assert (found.mean[kept] == first.mean[kept]).all()
    assert (found.sd[kept] == first.sd[kept]).all()
    assert (found.careless[kept] == first.careless[kept]).all()
    assert_allclose(found.mean[~kept], whole.mean[~kept], atol=2e-3)
    assert_allclose(found.lapse, whole.lapse, atol=2e-3)
    assert found.crowd == pytest.approx(whole.crowd, abs=1e-3)
