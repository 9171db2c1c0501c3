"""EP without a matrix over items, against EP with one, and its parts against direct computation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.executor import InProcess
from models_engine.inference.item_factors.conjugate import solve_by_gradients
from models_engine.inference.item_factors.consensus import ItemCovariance, draw_information
from models_engine.inference.item_factors.ep import FactorEP, ShardAnswers
from models_engine.inference.item_factors.evidence import shard_evidence
from models_engine.inference.item_factors.learning import consensus_variance, taste_statistics
from models_engine.inference.item_factors.local import (
    ConsensusMoments,
    TasteFactors,
    information_of,
    refresh_shard,
    solve_shard,
)
from models_engine.inference.item_factors.nodes import build_factor_shards
from models_engine.inference.item_factors.shape import loading_product, statistics_of
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, run_ep, taste_statistic
from models_engine.inference.probit_ep.pair_sites import build_sites_with_rankings
from models_engine.simulate import simulate_crowd

N, C = 9, 2


def crowd(kind: str, seed: int = 0):
    """Return sites and a prior taste."""
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, N, 5, taste_sd=0.7, link="probit")
    data = people.pairs(40, rng) if kind == "pairs" else people.rankings(12, 4, rng)
    tastes = TasteFactors(rng.normal(scale=0.5, size=(N, C)), rng.uniform(0.1, 0.4, N), np.zeros(N))
    return build_sites_with_rankings(data), tastes


def dense(tastes: TasteFactors, variance: float = 1.3) -> CrowdPrior:
    taste = tastes.loadings @ tastes.loadings.T + np.diag(tastes.own)
    return CrowdPrior(taste, variance * np.eye(N), np.zeros(N))


def at_fixed_point(sites, tastes, result, lapse=None):
    """Return the shards at the sites of dense EP, refreshed with its consensus."""
    moments = ConsensusMoments(result.mean, np.linalg.cholesky(result.covariance), np.zeros(N))
    found = []
    for shard in build_factor_shards(sites, 12):
        own = type(result.sites)(result.sites.precision[shard.rows], result.sites.shift[shard.rows])
        answers = ShardAnswers(None, None if lapse is None else lapse[shard.annotators], None)
        solved = solve_shard(shard, own, tastes)
        found.append((shard, refresh_shard(shard, solved, answers, tastes, moments)))
    return moments, found


@pytest.mark.parametrize("kind", ["pairs", "rankings"])
def test_the_fixed_point_is_that_of_ep_with_a_matrix(kind):
    sites, tastes = crowd(kind)
    lapse = np.array([0.0, 0.1, 0.0, 0.3, 0.0]) if kind == "pairs" else None
    prior = dense(tastes)
    prior = CrowdPrior(prior.taste, prior.consensus, prior.mean, lapse=lapse)
    result = run_ep(sites, build_blocks(sites), prior, tolerance=1e-10, max_iterations=300)
    _, found = at_fixed_point(sites, tastes, result, lapse)
    assert len(found) > 1
    assert max(solved.change for _, solved in found) < 1e-6
    precision, gradient = np.eye(N) / 1.3, np.zeros(N)
    for shard, solved in found:
        information, lost = information_of(shard, solved, tastes)
        precision += information.direct.toarray() - (lost.T @ lost).toarray()
        gradient += information.gradient
        assert_allclose(information.lost, np.diagonal((lost.T @ lost).toarray()), atol=1e-12)
    assert_allclose(np.linalg.inv(precision), result.covariance, atol=1e-7)
    assert_allclose(np.linalg.solve(precision, gradient), result.mean, atol=1e-7)


def test_the_score_of_the_size_of_tastes_is_that_of_the_matrix():
    sites, tastes = crowd("rankings")
    result = run_ep(sites, build_blocks(sites), dense(tastes), tolerance=1e-10, max_iterations=300)
    ep = FactorEP(build_factor_shards(sites, 12), ItemCovariance.independent(N), tastes, 1.3, InProcess(), lambda: None)
    ep.begin(result.sites)
    ep.moments, found = at_fixed_point(sites, tastes, result)
    ep.solved = [solved for _, solved in found]
    told, _ = taste_statistics(ep)
    statistic = taste_statistic(result)
    assert_allclose(told.size_score, -np.trace(statistic @ dense(tastes).taste) / 2, atol=1e-6)
    # at V, aim less J V E[w w'] is the derivative of the log evidence by V, minus statistic @ V
    moved = sum(_product(shard, solved, ep, tastes) for shard, solved in found)
    assert_allclose(told.aim - moved, -statistic @ tastes.loadings, atol=1e-6)


def test_what_is_known_of_an_item_counts_it_once_however_often_it_was_ranked():
    """The blocks are those of the product of which they are the diagonal, rankings that repeat items included."""
    sites, tastes = crowd("rankings")
    result = run_ep(sites, build_blocks(sites), dense(tastes), tolerance=1e-6)
    moments, found = at_fixed_point(sites, tastes, result)
    shard, solved = found[0]
    assert any(group.same is not None for group in shard.groups)
    told, second = statistics_of(shard, solved, tastes, moments)
    for item, k in np.ndindex(N, C):
        one = np.zeros((N, C))
        one[item, k] = 1.0
        assert_allclose(loading_product(shard, solved, second, one)[item], told.blocks[item, k], atol=1e-12)


def _product(shard, solved, ep, tastes):
    _, second = statistics_of(shard, solved, tastes, ep.moments)
    return loading_product(shard, solved, second, tastes.loadings)


def test_evidence_of_annotators_is_that_of_ep_with_a_known_consensus():
    sites, tastes = crowd("pairs")
    mean = np.linspace(-1, 1, N)
    prior = CrowdPrior(dense(tastes).taste, None, mean, lapse=np.full(5, 0.1))
    result = run_ep(sites, build_blocks(sites), prior, tolerance=1e-9)
    for shard in build_factor_shards(sites, 12):
        answers = ShardAnswers(None, np.full(shard.n_annotators, 0.1), None)
        start = type(result.sites).empty(len(shard.sites))
        evidence, _ = shard_evidence(shard, start, tastes, mean, answers)
        assert_allclose(evidence, result.by_annotator[shard.annotators], atol=1e-3)


@pytest.mark.slow
def test_sweeps_end_where_ep_with_a_matrix_does():
    sites, tastes = crowd("pairs", seed=3)
    result = run_ep(sites, build_blocks(sites), dense(tastes), tolerance=1e-9, max_iterations=300)
    shards = build_factor_shards(sites, 12)
    ep = FactorEP(shards, ItemCovariance.independent(N), tastes, 1.3, InProcess(), lambda: None)
    for sweep in range(25):
        ep.sweep(measure=sweep < 20)
        ep.move()
    # all directions of so few items are among the slow ones, so that the covariance is exact
    assert ep.change < 1e-6
    assert_allclose(ep.moments.mean, result.mean, atol=1e-3)
    covariance = ep.moments.factor @ ep.moments.factor.T
    assert_allclose(covariance, result.covariance, atol=2e-3)
    expected = (result.mean @ result.mean + np.trace(result.covariance)) / N
    assert_allclose(consensus_variance(ep, 1.0, 1e3), expected, rtol=5e-3)
    assert_allclose(ep.system.known(ep.moments), N - np.trace(result.covariance) / 1.3, rtol=5e-3)


@pytest.mark.parametrize("kind", ["pairs", "rankings"])
def test_draws_have_the_precision_as_covariance(kind):
    sites, tastes = crowd(kind)
    result = run_ep(sites, build_blocks(sites), dense(tastes), tolerance=1e-6)
    _, found = at_fixed_point(sites, tastes, result)
    shard, solved = found[0]
    information, lost = information_of(shard, solved, tastes)
    exact = information.direct.toarray() - (lost.T @ lost).toarray()
    draws = draw_information(shard, solved, tastes, 5, 20_000)
    assert_allclose(draws @ draws.T / 20_000, exact, atol=0.04 * exact.max())


def test_inducing_points_are_inverted_without_a_matrix():
    rng = np.random.default_rng(1)
    prior = ItemCovariance(rng.standard_normal((N, 3)), rng.uniform(0.1, 1, N)).scaled(1.7)
    matrix = prior.reach @ prior.reach.T + np.diag(prior.rest)
    inverse, x, weights = np.linalg.inv(matrix), rng.standard_normal((N, 4)), rng.uniform(0, 2, N)
    assert_allclose(prior.solve(x), inverse @ x, atol=1e-10)
    assert_allclose(prior.inverse_diagonal, np.diagonal(inverse), atol=1e-10)
    assert_allclose(prior.conditional(weights)(x), np.linalg.solve(inverse + np.diag(weights), x), atol=1e-10)
    draws = prior.draw(20_000, rng)
    assert_allclose(draws @ draws.T / 20_000, inverse, atol=0.05 * inverse.max())


def test_conjugate_gradients_solve():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((30, 30))
    matrix, right = root @ root.T + np.eye(30), rng.standard_normal((30, 3))
    found = solve_by_gradients(lambda x: matrix @ x, lambda x: x / np.diagonal(matrix)[:, None], right, tolerance=1e-10)
    assert_allclose(matrix @ found, right, atol=1e-7)
