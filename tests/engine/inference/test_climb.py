"""Scales found one evaluation of the evidence at a time, against those found at once and against a grid of refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.inference.crowd_bt.climb import climb_evidence
from models_engine.inference.crowd_bt.ep import WinSites
from models_engine.inference.crowd_bt.ep_with_scales import evaluate_state, run_crowd_ep
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.scales import CENTRE, DEFAULT_SCALES, ScaleLearner
from models_engine.simulate import simulate_crowd

LEARNER = ScaleLearner(True, True, False, 3.0)


def crowd(seed, n_items, n_people, n_labels, sd):
    people = simulate_crowd(np.random.default_rng(seed), n_items, n_people, utility_sd=sd, reliability=(12, 1))
    return people.pairs(n_labels, np.random.default_rng(seed + 100))


def start(data):
    table = data.pairs()
    pairs = NoisyPairs.of(table, np.zeros(len(table), dtype=bool))
    return evaluate_state(pairs, WinSites.uniform(pairs), DEFAULT_SCALES, None, LEARNER)


def test_it_finds_the_scales_that_a_joint_iteration_converges_to():
    first = start(crowd(0, 12, 15, 400, 1.5))
    joint, converged = run_crowd_ep(first, tolerance=1e-5, limit=200, on_step=lambda _: None)
    climbed, ended = climb_evidence(first, tolerance=1e-5, limit=200, on_step=lambda _: None)
    assert converged
    assert ended
    assert climbed.objective == pytest.approx(joint.objective, abs=1e-3)
    assert_allclose(climbed.scales.vector()[:3], joint.scales.vector()[:3], atol=0.05)
    assert_allclose(climbed.belief.mean, joint.belief.mean, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 45])  # whatever kernels numpy computes with; rounding decides it for others
def test_a_flat_evidence_does_not_let_the_spread_run_away(seed):
    """Narrow items, seven answers an item: a joint iteration passes the mode and ends at 5 to 40 times the spread."""
    data = crowd(seed, 40, 20, 300, 0.5)
    lost, converged = run_crowd_ep(start(data), tolerance=1e-3, limit=200, on_step=lambda _: None)
    assert not converged
    assert lost.scales.prior_sd > 2
    found = CrowdBT().fit(data)
    assert found.diagnostics.converged
    assert found.prior_sd < 1
    assert lost.objective < found.diagnostics.objective[-1] - 0.5
    for sd in (0.2, 0.4, 0.6, 0.9, 1.5, 4.0):
        evidence = CrowdBT(prior_sd=sd).fit(data).diagnostics.objective[-1] - (np.log(sd) - CENTRE[0]) ** 2 / 2
        assert evidence < found.diagnostics.objective[-1] + 0.01


def test_there_is_none_where_no_fixed_point_is_reached():
    found, ended = climb_evidence(start(crowd(0, 12, 15, 400, 1.5)), tolerance=1e-9, limit=1, on_step=lambda _: None)
    assert found is None
    assert not ended
