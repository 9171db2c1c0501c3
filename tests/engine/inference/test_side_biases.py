"""Side biases: EP, the evidence of each annotator and the sampler against numerical integration."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from models_engine.data import Comparisons
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep
from models_engine.inference.probit_ep.independent_parts import IndependentParts
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites, build_sites_with_rankings, sided_labels
from models_engine.inference.tastes.perception import AnswerGroup, Perception
from models_engine.inference.tastes.side_sampling import SideSampler
from models_engine.inference.tastes.sides import KNOTS, MEAN_SD, SDS, learn_sides, log_sd_prior, summarise_side_evidence
from models_engine.simulate import simulate_crowd

Z = np.linspace(-9, 9, 6001)


def converged(sites: PairSites, crowd: CrowdPrior) -> EPResult:
    found = run_ep(sites, build_blocks(sites), crowd, tolerance=1e-10, max_iterations=500)
    assert found.converged
    return found


def sided(data: Comparisons, *, graded: bool = False) -> PairSites:
    return build_sites(data.pairs(), data.weights, graded=graded, sided=np.ones(data.n_labels, dtype=bool))


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize(("outcome", "grade"), [(1.0, 0), (0.0, 2), (1.0, 1), (0.5, 0)])
def test_one_answer_has_the_evidence_and_the_margin_of_quadrature(left, outcome, grade):
    """Reliability, steepness and cut points as well: the side is part of what is reversed."""
    cuts, bias, lapse, steepness = [0.4, 1.3], 0.7, 0.2, 1.3
    data = Comparisons.from_pairs([left], [1 - left], [outcome], grades=[grade], n_grades=2, n_items=2)
    crowd = CrowdPrior(
        0.3 * np.eye(2),
        0.8 * np.eye(2),
        np.array([0.3, -0.2]),
        steepness=np.array([steepness]),
        lapse=np.array([lapse]),
        cuts=np.array(cuts),
        side=np.array([bias]),
    )
    found = converged(sided(data, graded=True), crowd)
    way = 1 if left == 0 else -1
    margin = (steepness * Z + way * bias) * way * (1 if outcome >= 0.5 else -1)
    ends = {(0.5, 0): (-0.4, 0.4), (1.0, 0): (0.4, np.inf), (1.0, 1): (0.4, 1.3), (0.0, 2): (1.3, np.inf)}
    low, high = ends[outcome, grade]
    kept, turned = (norm.cdf(high - one * margin) - norm.cdf(low - one * margin) for one in (1, -1))
    density = norm.pdf(Z, 0.5, np.sqrt(2.2)) * ((1 - lapse) * kept + lapse * turned)
    step = Z[1] - Z[0]
    assert found.log_evidence == pytest.approx(np.log(density.sum() * step), abs=1e-6)
    at = float(density @ Z / density.sum())
    assert found.mean[0] - found.mean[1] == pytest.approx(0.5 + (at - 0.5) * 1.6 / 2.2, abs=1e-6)


def answers(n_labels: int, side: list[float], seed: int = 0) -> Comparisons:
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, 6, len(side), utility_sd=1.0, taste_sd=0.4, link="probit")
    return replace(people, side=np.array(side)).pairs(n_labels, rng)


def test_a_bias_of_nobody_is_no_bias_and_parts_and_order_keep_it():
    data = answers(60, [0.5, -0.5, 0.0])
    crowd = CrowdPrior(0.3 * np.eye(6), np.eye(6), np.zeros(6))
    plain = converged(build_sites(data.pairs(), data.weights), crowd)
    none = converged(sided(data), replace(crowd, side=np.zeros(3)))
    assert none.log_evidence == pytest.approx(plain.log_evidence, abs=1e-8)
    sites, biased = sided(data), replace(crowd, side=np.array([0.8, -0.4, 0.1]))
    whole = converged(sites, biased)
    assert abs(whole.log_evidence - plain.log_evidence) > 0.1
    turned = replace(sites, low=5 - sites.high, high=5 - sites.low, wins=sites.losses, losses=sites.wins)
    turned = replace(turned, side=-sites.side)
    assert converged(turned, biased).log_evidence == pytest.approx(whole.log_evidence, abs=1e-8)
    own, _ = IndependentParts.of(sites).run(biased, None, None, max_iterations=500, tolerance=1e-10)
    assert_allclose(own.shift, whole.sites.shift, atol=1e-7)


def test_sites_say_which_item_was_shown_first_where_that_is_known():
    shown = Comparisons.from_pairs([0, 2, 1], [1, 0, 0], [1, 1, 0], n_items=4)
    unknown = Comparisons.from_rankings([[3, 1]], n_items=4)
    larger = Comparisons.from_rankings([[0, 1, 2]], shown=[[2, 1, 0]], n_items=4)
    data = Comparisons.concatenate([shown, unknown, larger])
    sites = build_sites_with_rankings(data, sided=sided_labels(data, side=True))
    pairs = sites.ranking < 0
    columns = (sites.low[pairs], sites.high[pairs], sites.wins[pairs], sites.side[pairs])
    found = {tuple(int(value) for value in row) for row in zip(*columns, strict=True)}
    assert found == {(0, 1, 1, 1), (0, 1, 1, -1), (0, 2, 0, -1), (1, 3, 0, 0)}
    assert not sites.side[~pairs].any()
    assert_array_equal(sites.keys[:, 7], sites.side)
    assert_array_equal(sites.select(pairs).side, sites.side[pairs])


def test_an_order_that_is_that_of_winners_and_losers_does_not_count():
    winners = Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 1, 1], [0, 0, 1], n_annotators=3)
    assert sided_labels(winners, side=True) is None
    both = Comparisons.from_pairs([0, 1, 2, 0], [1, 2, 0, 1], [1, 0, 0.5, 1], [2, 2, 2, 2], n_annotators=3)
    data = Comparisons.concatenate([winners, both])
    assert_array_equal(sided_labels(data, side=True), [False] * 3 + [True] * 4)
    assert sided_labels(data, side=False) is None
    unknown = Comparisons.from_rankings([[0, 1], [1, 0]], n_items=3)
    assert sided_labels(unknown, side=True) is None


def posterior_of(likelihood: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Means and deviations of b_u ~ N(m, s^2), and those of a new annotator; likelihood (len(at), n_annotators)."""
    means = np.linspace(-1.5, 1.5, 241)
    prior = norm.pdf(at[:, None, None], means[:, None], SDS) * (at[1] - at[0])
    known = np.einsum("bu,bms->ums", likelihood, prior)
    weight = known.prod(axis=0) * norm.pdf(means, scale=MEAN_SD)[:, None] * np.exp(log_sd_prior(SDS))
    weight /= weight.sum()
    mass = likelihood * np.einsum("bms,ums->bu", prior, weight / known)
    mean = at @ mass
    centre = float((weight.sum(axis=1) * means).sum())
    spread = float((weight * (means[:, None] ** 2 + SDS**2)).sum()) - centre**2
    return mean, np.sqrt(at**2 @ mass - mean**2), centre, float(np.sqrt(spread))


@pytest.mark.slow
def test_posteriors_of_the_evidence_are_those_of_numerical_integration():
    place, sd = np.array([0.9, -0.1, 0.4, 0.5]), np.array([0.2, 0.3, 0.25, 0.6])
    found = summarise_side_evidence(-(((KNOTS[:, None] - place) / sd) ** 2) / 2 + 5.0)
    at = np.linspace(-3, 3, 601)
    expected = posterior_of(np.exp(-(((at[:, None] - place) / sd) ** 2) / 2), at)
    assert_allclose(found.mean, expected[0], atol=0.01)
    assert_allclose(found.sd, expected[1], atol=0.01)
    assert found.crowd == pytest.approx(expected[2], abs=0.01)
    assert found.crowd_sd == pytest.approx(expected[3], abs=0.02)
    longer = found.extended(5)
    assert_array_equal(longer.mean, [*found.mean, found.crowd])
    assert longer.sd[4] == found.crowd_sd


@pytest.mark.slow
def test_learned_sides_are_those_of_everybodys_evidence_by_ep():
    data = answers(120, [0.9, -0.5, 0.1, 0.0])
    sites, crowd = sided(data), CrowdPrior(0.3 * np.eye(6), np.eye(6), np.zeros(6))
    blocks = build_blocks(sites)
    found, shared = learn_sides(sites, blocks, crowd, lambda _: None)
    known = CrowdPrior(crowd.taste + shared.covariance, None, shared.mean)
    at = np.linspace(-3, 3, 61)
    evidence = np.array(
        [run_ep(sites, blocks, replace(known, side=np.full(4, b)), tolerance=1e-6).by_annotator for b in at]
    )
    fine = np.linspace(-3, 3, 601)
    smooth = np.array([np.interp(fine, at, one) for one in evidence.T]).T
    expected = posterior_of(np.exp(smooth - smooth.max(axis=0)), fine)
    assert_allclose(found.mean, expected[0], atol=0.03)
    assert_allclose(found.sd, expected[1], atol=0.03)


@pytest.mark.slow
def test_drawn_sides_have_the_moments_of_numerical_integration():
    """Of known utilities, everybody being reliable: the likelihood is a product of normal distribution functions."""
    n, bias = 16, np.array([1.0, 0.0, 0.4])
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(3), n)
    margin = rng.normal(size=3 * n)
    won = margin + bias[who] + rng.standard_normal(3 * n) > 0
    ranks = np.stack([~won, won], axis=1).astype(np.int64)
    group = AnswerGroup(who, np.tile([0, 1], (3 * n, 1)), ranks, sided=np.ones(3 * n))
    seen, utilities = Perception(group, may_reverse=False), np.stack([margin, np.zeros(3 * n)], axis=1)
    sides = SideSampler(3, [seen])
    for sweep in range(3_500):
        seen.draw(seen.shown(utilities, sides.value), np.ones(3), rng)
        sides.draw([utilities], rng)
        if sweep >= 100:
            sides.record()
    found = sides.summary()
    at = np.linspace(-3, 3, 301)
    likelihood = np.array(
        [norm.logcdf(np.where(won, 1, -1)[who == u] * (margin[who == u] + at[:, None])).sum(axis=1) for u in range(3)]
    ).T
    expected = posterior_of(np.exp(likelihood - likelihood.max(axis=0)), at)
    assert_allclose(found.mean, expected[0], atol=0.05)
    assert_allclose(found.sd, expected[1], atol=0.04)
    assert found.crowd == pytest.approx(expected[2], abs=0.06)
    assert found.crowd_sd == pytest.approx(expected[3], abs=0.12)
