"""Shards of CrowdBT's wins: the same result as all annotators together, divided by the wins alone."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_posterior import CrowdPosterior
from models_engine.executor import use_executor
from models_engine.inference.crowd_bt import wins
from models_engine.inference.crowd_bt.ep import WinSites, sweep_sites
from models_engine.inference.crowd_bt.ep_with_scales import EPState, evaluate_state
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.inference.crowd_bt.scales import ScaleLearner, Scales
from models_engine.inference.crowd_bt.wins import WinShard, divide_wins
from models_engine.simulate import simulate_crowd
from tests.engine.inference.test_shards import Counting

N_ITEMS, N_ANNOTATORS = 12, 30


def some_labels(n_labels: int = 600, ties: float = 0.3) -> Comparisons:
    """Annotators 7 and the last say nothing; ties where a random number falls below `ties`."""
    rng = np.random.default_rng(3)
    pairs = simulate_crowd(rng, N_ITEMS, N_ANNOTATORS, utility_sd=1.0).pairs(n_labels, rng).pairs()
    kept = pairs.select((pairs.annotator != 7) & (pairs.annotator != N_ANNOTATORS - 1))
    outcome = np.where(rng.random(len(kept)) < ties, 0.5, kept.outcome)
    grades = np.where(outcome == 0.5, 0, rng.integers(1, 3, size=len(kept)))
    own = {"n_items": N_ITEMS, "n_annotators": N_ANNOTATORS, "grades": grades}
    return Comparisons.from_pairs(kept.left, kept.right, outcome, kept.annotator, **own)


def summed(data: Comparisons, *, graded: bool = False) -> NoisyPairs:
    table = data.pairs()
    return NoisyPairs.of(table, np.ones(len(table), dtype=bool), graded=graded)


def swept(pairs: NoisyPairs, *, graded: bool = False) -> EPState:
    """Return the state after five sweeps."""
    scales = Scales(1.5, BetaPrior(6.0, 2.0), -np.inf, (-1.0, 0.2)) if graded else Scales(1.5, BetaPrior(6.0, 2.0), 0.0)
    learner = ScaleLearner(False, False, False, 3.0, (False, False) if graded else ())
    state = evaluate_state(pairs, WinSites.uniform(pairs), scales, None, learner)
    for _ in range(5):
        state = evaluate_state(pairs, state.last.sites, scales, None, learner, state)
    return state


def divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this small problem divided as a large one is."""
    monkeypatch.setattr(wins, "SHARD_WINS", 40)


def test_every_win_and_annotator_is_in_one_shard(monkeypatch):
    divide(monkeypatch)
    pairs = summed(some_labels())
    found = divide_wins(pairs)
    assert len(found) > 6
    for name, total in (("wins", pairs.n_wins), ("annotators", N_ANNOTATORS)):
        places = [np.arange(total)[getattr(one, name)] for one in found]
        assert_array_equal(np.concatenate(places), np.arange(total))
    for one in found:
        assert_array_equal(one.annotator + one.annotators.start, pairs.annotator[one.wins])
        assert_array_equal(one.row, pairs.row[one.wins])
        assert one.annotator.max(initial=-1) < one.n_annotators
        assert one.n_wins < 120  # a shard ends where an annotator does


def test_few_wins_and_none_are_one_shard():
    (only,) = divide_wins(summed(some_labels()))
    assert only.n_annotators == N_ANNOTATORS
    (nothing,) = divide_wins(summed(Comparisons.from_pairs([], [], [], [], n_items=2, n_annotators=0)))
    assert nothing.n_wins == nothing.n_annotators == 0


@pytest.mark.parametrize("graded", [False, True])
def test_many_shards_sweep_as_one_does(monkeypatch, graded):
    """But for where the grids of reliabilities stand: Newton's steps end with the slowest annotator of a shard."""
    pairs = summed(some_labels(), graded=graded)
    whole = swept(pairs, graded=graded).last
    divide(monkeypatch)
    parts = swept(summed(some_labels(), graded=graded), graded=graded).last
    assert parts.log_evidence == pytest.approx(whole.log_evidence, abs=1e-9)
    assert_allclose(parts.sites.vector(), whole.sites.vector(), rtol=1e-10, atol=1e-10)
    assert_allclose(parts.expected_precisions, whole.expected_precisions, rtol=1e-10, atol=1e-10)
    assert_allclose(parts.crowd.log_annotators, whole.crowd.log_annotators, rtol=1e-10, atol=1e-10)
    assert parts.score_nu == pytest.approx(whole.score_nu, rel=1e-9)
    assert parts.curvature_nu == pytest.approx(whole.curvature_nu, rel=1e-9)
    if graded:
        each = 1e-10 * pairs.n_wins  # terms of both signs are summed
        assert_allclose(parts.cuts.score, whole.cuts.score, rtol=0, atol=each)
        assert_allclose(parts.cuts.curvature, whole.cuts.curvature, rtol=0, atol=each)
    else:
        assert parts.cuts is None


@pytest.mark.slow
def test_many_shards_fit_as_one_does(monkeypatch):
    def fit() -> CrowdPosterior:
        with warnings.catch_warnings():
            warnings.simplefilter("error", NotConverged)
            return CrowdBT(tolerance=1e-7, grades="ignore").fit(some_labels())

    whole = fit()
    divide(monkeypatch)
    parts = fit()
    assert parts.diagnostics.n_iterations == whole.diagnostics.n_iterations
    assert_allclose(parts.utilities(), whole.utilities(), rtol=0, atol=1e-8)
    assert_allclose(parts.standard_deviations(), whole.standard_deviations(), rtol=1e-8)
    assert_allclose(parts.lapses, whole.lapses, rtol=1e-8)


def test_wins_stay_between_sweeps(monkeypatch):
    divide(monkeypatch)
    pairs, executor = summed(some_labels()), Counting()
    with use_executor(executor):
        state = swept(pairs)
        sweep_sites(pairs, state.belief, state.sites, state.scales.reliability, 0.0)
    assert executor.kept.count(WinShard) == 1
    assert executor.kept.count(tuple) == 7  # the sites, in each sweep
