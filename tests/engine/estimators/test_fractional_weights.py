"""Label weights that are not whole, with tastes: the likelihood to the power of the weight, by grids and splitting."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from models_engine.data import Comparisons
from models_engine.estimators import crowd_gppl
from models_engine.estimators.collaborative import gp
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, run_ep, warm_start
from models_engine.inference.probit_ep.pair_sites import build_sites
from models_engine.simulate import simulate_crowd

N_ANNOTATORS = 3
GRID = np.linspace(-7.0, 7.0, 281)  # of a margin
KNOWN = CollaborativeGP(covariance="prior", log_scale_sd=0.0, reliability=False)  # scales as they are
CUTS = (0.4, 1.1)
WEIGHTS = {"half": [0.5], "mixed": [0.2, 0.7, 1.3, 2.6], "small": [0.1]}


def labels(weights: list[float], *, graded: bool = False) -> Comparisons:
    """30 answers of three people about two items, ties among them."""
    rng = np.random.default_rng(1)
    outcome = rng.choice([1.0, 1.0, 0.0, 0.5], 30)
    grades = np.where(outcome == 0.5, 0, rng.integers(0, 3, 30)) if graded else None
    return Comparisons.from_pairs(
        *(np.zeros(30, int), np.ones(30, int), outcome, rng.integers(N_ANNOTATORS, size=30)),
        weights=rng.choice(weights, 30),
        grades=grades,
    )


def log_chances(data: Comparisons, *, cuts: np.ndarray | None = None, lapse: np.ndarray | None = None) -> np.ndarray:
    """Log probability of each label at each margin of the grid, to the power of its weight, (n_labels, n_grid)."""
    pairs = data.pairs()
    found = np.empty((data.n_labels, len(GRID)))
    for row, (outcome, who) in enumerate(zip(pairs.outcome, pairs.annotator, strict=True)):

        def chance(z: np.ndarray, row: int = row, tied: bool = outcome == 0.5) -> np.ndarray:
            if cuts is None:
                return np.sqrt(norm.cdf(z) * norm.cdf(-z)) if tied else norm.cdf(z)
            grade = pairs.grade[row]
            low, high = cuts[max(grade - 1, 0)], np.append(cuts, np.inf)[grade] if grade else np.inf
            low, high = (-cuts[0], cuts[0]) if tied else (low, high)
            return norm.cdf(high - z) - norm.cdf(low - z)

        z = GRID if outcome >= 0.5 else -GRID
        share = 0.0 if lapse is None else lapse[who]
        found[row] = data.weights[row] * np.log((1 - share) * chance(z) + share * chance(-z))
    return found


def on_grid(data: Comparisons, consensus_sd: float, taste_sd: float, **answers) -> tuple[np.ndarray, np.ndarray]:
    """Log joint density of the consensus's margin (n_grid,) and the labels, up to the grid's step, and of the margin
    of annotator 0 with all others integrated out."""
    by_label, step = log_chances(data, **answers), GRID[1] - GRID[0]
    kernel = norm.pdf(GRID[:, None] - GRID, 0, taste_sd * np.sqrt(2)) * step  # consensus, own
    own = np.array([np.exp(by_label[data.annotators == who].sum(axis=0)) for who in range(data.n_annotators)])
    given = kernel @ own.T
    prior = norm.pdf(GRID, 0, consensus_sd * np.sqrt(2)) * step
    return prior * given.prod(axis=1), own[0] * ((prior * given[:, 1:].prod(axis=1)) @ kernel)


def moments(density: np.ndarray) -> tuple[float, float]:
    share = density / density.sum()
    mean = float(share @ GRID)
    return mean, float(share @ (GRID - mean) ** 2)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_a_label_of_weight_w_is_its_likelihood_to_the_power_w(weights):
    data = labels(weights)
    consensus, own = on_grid(data, KNOWN.consensus_sd, KNOWN.taste_sd)
    posterior = KNOWN.fit(data)
    for found, density in ((posterior, consensus), (posterior.for_annotator(0), own)):
        mean, variance = moments(density)
        assert found.utilities()[0] - found.utilities()[1] == pytest.approx(mean, abs=0.01)
        assert found.difference_variance(0, 1) == pytest.approx(variance, rel=0.02)
    whole, _ = on_grid(data.with_weights(np.ones(30)), KNOWN.consensus_sd, KNOWN.taste_sd)
    assert abs(moments(whole)[1] / moments(consensus)[1] - 1) > 0.02


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_so_are_graded_answers_and_reversed_ones(weights):
    """Evidence and moments of EP with known cut points and lapses, which is less exact where answers may be reversed.

    With all weights 1 the evidence is from 6 to 55 nats away.
    """
    data, cuts, lapse = labels(weights, graded=True), np.array(CUTS), np.array([0.0, 0.1, 0.35])
    sites = build_sites(data.pairs(), data.weights, graded=True)
    crowd = CrowdPrior(0.49 * np.eye(2), np.eye(2), np.zeros(2), lapse=lapse, cuts=cuts)
    found = run_ep(sites, build_blocks(sites), crowd, *warm_start(None), tolerance=1e-8, max_iterations=300)
    joint, _ = on_grid(data, 1.0, 0.7, cuts=cuts, lapse=lapse)
    assert found.log_evidence == pytest.approx(np.log(joint.sum()), abs=0.12)
    mean, variance = moments(joint)
    assert found.mean[0] - found.mean[1] == pytest.approx(mean, abs=0.05)
    spread = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
    assert spread == pytest.approx(variance, rel=0.08)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "kind", "large"),
    [
        (CollaborativeGP(), "graded", False),
        (CrowdGPPL(), "pairs", False),
        (CollaborativeGP(), "pairs", True),
        (CrowdGPPL(), "graded", True),
    ],
)
def test_parts_of_a_label_count_as_the_label(estimator, kind, large, monkeypatch):
    """Scales, tastes, reliabilities and cut points are learned from both; .5 of each label is something else."""
    if large:
        monkeypatch.setattr(gp, "MAX_DENSE_TASTES", 1)
        monkeypatch.setattr(crowd_gppl, "MAX_DENSE_ITEMS", 1)
    rng, n = np.random.default_rng(5), 100
    crowd = simulate_crowd(rng, 8, 6, link="probit")
    data = crowd.graded(n, CUTS, rng) if kind == "graded" else crowd.pairs(n, rng)
    parts = Comparisons.concatenate([data.with_weights(np.full(n, part)) for part in (0.3, 0.7)])
    whole, split, half = (estimator.fit(one) for one in (data, parts, data.with_weights(np.full(n, 0.5))))

    def away(one: CollaborativePosterior) -> float:
        return float(np.abs(one.utilities() - whole.utilities()).max())

    assert away(split) < 0.3 * whole.standard_deviations().mean()
    assert_allclose(split.standard_deviations(), whole.standard_deviations(), rtol=0.1)
    assert np.abs(half.standard_deviations() / whole.standard_deviations() - 1).max() > 0.1


def test_a_larger_set_of_such_a_weight_is_the_pairs_it_implies():
    rankings = Comparisons.from_rankings([[0, 2, 1], [2, 1, 0]], [0, 1], weights=[0.4, 1.5])
    left, right = [0, 0, 2, 2, 2, 1], [2, 1, 1, 1, 0, 0]
    pairs = Comparisons.from_pairs(
        left, right, np.ones(6), [0] * 3 + [1] * 3, weights=[0.4 * 3 / 4] * 3 + [1.5 * 3 / 4] * 3
    )
    found, same = KNOWN.fit(rankings), KNOWN.fit(pairs)
    assert_allclose(found.utilities(), same.utilities(), atol=1e-3)
    assert_allclose(found.covariance(), same.covariance(), atol=1e-3)
