"""CrowdGPPL: its variational factors against sampling, loops and finite differences; then what its posterior is for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.metrics import coverage
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting, Unsupported
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.estimators.gppl import GPPL
from models_engine.inference.pairwise_gp.model import GammaPrior
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior
from models_engine.inference.probit_ep.expected_probit import expected_factor
from models_engine.inference.probit_ep.pair_sites import build_sites
from models_engine.inference.tastes.factors import FactorPosterior, Scores, TasteFactors
from models_engine.linalg import centre, centre_covariance
from models_engine.simulate import Crowd, simulate_crowd

QUICK = CrowdGPPL(n_components=4, max_steps=20)


def simulate_people(seed: int = 0, n_items: int = 10, n_annotators: int = 40, n_labels: int = 1200, **options):
    rng = np.random.default_rng(seed)
    truth = simulate_crowd(rng, n_items, n_annotators, **({"taste_sd": 1.0, "link": "probit"} | options))
    return truth, truth.pairs(n_labels, rng)


def factors_of(data: Comparisons, n_components: int = 3, *, steps: int = 3, tolerance: float = 0.0):
    """Factors after some steps, and the objective before each."""
    sites = build_sites(data.pairs(), data.weights)
    n = data.n_items
    kernel = 0.7 * np.eye(n) + 0.3
    prior = CrowdPrior(0.5 * kernel, kernel, np.zeros(n))
    found = TasteFactors(sites, build_blocks(sites), prior, n_components, GammaPrior(1.5, 1.0))
    trace: list[float] = []
    found.run(steps, tolerance, trace.append)
    return found, trace


def mixed(seed: int = 0) -> Comparisons:
    """Pairs with ties and weights, an annotator without labels, an item never compared."""
    rng = np.random.default_rng(seed)
    left = rng.integers(5, size=60)
    right = (left + rng.integers(1, 5, size=60)) % 5
    outcome = rng.choice([0.0, 0.5, 1.0], size=60, p=[0.45, 0.1, 0.45])
    weights = rng.choice([1.0, 2.0, 0.4], size=60)
    return Comparisons.from_pairs(
        left, right, outcome, rng.integers(5, size=60), weights=weights, n_items=6, n_annotators=6
    )


@pytest.mark.slow
def test_margins_have_the_moments_of_draws():
    data = mixed()
    found, _ = factors_of(data)
    rng, sites = np.random.default_rng(0), build_sites(data.pairs(), data.weights)
    items, scores = found.items, found.scores
    n = 200_000
    rows = [rng.multivariate_normal(m, c, size=n) for m, c in zip(items.mean, items.covariance, strict=True)]
    mean, variance = found.margins()
    for site in range(0, len(sites), 7):
        u, low, high = sites.annotator[site], sites.low[site], sites.high[site]
        w = rng.multivariate_normal(scores.mean[u], scores.covariance[u], size=n)
        z = rows[0][:, low] - rows[0][:, high]
        for c, row in enumerate(rows[1:]):
            z = z + w[:, c] * (row[:, low] - row[:, high])
        assert mean[site] == pytest.approx(z.mean(), abs=5 * z.std() / np.sqrt(n))
        assert variance[site] == pytest.approx(z.var(), rel=0.02)


def test_scores_of_an_annotator_match_a_sum_over_pairs():
    data = mixed(1)
    found, _ = factors_of(data)
    sites, items, k = build_sites(data.pairs(), data.weights), found.items, 3
    mean, variance = found.margins()
    _, slope, bend = expected_factor(mean, variance, sites.wins, sites.losses)
    found._weights = np.zeros(len(sites))  # so that sites are not averaged with earlier ones
    found._refresh_sites()
    found._update_scores()
    for u in range(5):
        precision, push = np.eye(k), np.zeros(k)
        for p in np.flatnonzero(sites.annotator == u):
            d = np.eye(6)[sites.low[p]] - np.eye(6)[sites.high[p]]
            x, t = items.mean[1:] @ d, items.mean[0] @ d
            q = np.array([d @ covariance @ d for covariance in items.covariance[1:]])
            weight = sites.copies[p] * bend[p]
            precision += weight * (np.outer(x, x) + np.diag(q))
            push += x * (weight * (mean[p] - t) + sites.copies[p] * slope[p])
        assert_allclose(found.scores.mean[u], np.linalg.solve(precision, push), atol=1e-10)
        assert_allclose(found.scores.covariance[u], np.linalg.inv(precision), atol=1e-10)
    assert_allclose(found.scores.covariance[5], np.eye(3))  # who gave no label is as the prior says


def objective(found: TasteFactors) -> float:
    mean, variance = found.margins()
    sites = found._sites
    value = expected_factor(mean, variance, sites.wins, sites.losses)[0]
    return float(sites.copies @ value) - found._divergence()


def test_the_objective_has_zero_gradient_at_the_end():
    found, _ = factors_of(mixed(2), steps=3000, tolerance=1e-12)
    rng = np.random.default_rng(0)
    items, scores = found.items, found.scores
    h = 1e-4
    for _ in range(6):
        way, people_way = rng.standard_normal(items.mean.shape), rng.standard_normal(scores.mean.shape)
        values = []
        for sign in (1, -1):
            found.items = FactorPosterior(
                items.mean + sign * h * way, items.covariance, items.log_determinant, items.shape, items.rate
            )
            found.scores = Scores(scores.mean + sign * h * people_way, scores.covariance)
            values.append(objective(found))
        found.items, found.scores = items, scores
        curvature = abs(values[0] + values[1] - 2 * objective(found)) / h**2
        assert abs(values[0] - values[1]) / (2 * h) < 1e-3 * curvature


@pytest.mark.parametrize("seed", range(3))
def test_objective_rises_and_stays_below_zero(seed):
    """The margin is taken as Gaussian, so that it is a bound only nearly; it is the sum of its parts all the same."""
    _, data = simulate_people(seed, n_labels=500)
    found, trace = factors_of(data, 5, steps=40)
    steps = np.diff(trace)
    assert (steps[2:] > -1e-4 * np.abs(trace[-1])).all()
    assert trace[-1] > trace[0] + 10
    assert max(trace) < 0
    assert objective(found) >= trace[-1] - 1e-6


def test_balancing_changes_no_utility():
    found, _ = factors_of(mixed(3), steps=2)
    sites = found._sites
    utilities = found.items.mean[0] + found.scores.mean @ found.items.mean[1:]
    moments = found.margins()
    found._balance()
    judged = np.unique(sites.annotator)
    assert_allclose(found.items.mean[0] + found.scores.mean @ found.items.mean[1:], utilities, atol=1e-12)
    for was, now in zip(moments, found.margins(), strict=True):
        assert_allclose(now, was, rtol=1e-9)
    assert_allclose(np.einsum("ucc->c", found.scores.second[judged])[1:] / len(judged), 1.0)


@pytest.mark.slow
def test_unneeded_components_are_shrunk_to_zero():
    """Two true components of taste among eight offered; without tastes, none is kept."""
    rng = np.random.default_rng(0)
    truth = simulate_crowd(rng, 20, 150, taste_sd=1.2, n_components=2, link="probit")
    found, _ = factors_of(truth.pairs(9000, rng), 8, steps=60)
    sizes = np.sort((centre(found.items.mean[1:]) ** 2).mean(axis=1))[::-1]
    assert sizes[1] > 5 * sizes[2]
    agreed = simulate_crowd(rng, 20, 150, taste_sd=0.0, link="probit")
    none, _ = factors_of(agreed.pairs(9000, rng), 8, steps=60)
    assert np.trace(centre_covariance(none.items.taste())) < 0.1 * np.trace(centre_covariance(found.items.taste()))


@pytest.mark.slow
def test_the_shape_of_tastes_is_recovered():
    rng = np.random.default_rng(1)
    truth = simulate_crowd(rng, 12, 200, taste_sd=1.0, n_components=2, link="probit")
    found, _ = factors_of(truth.pairs(6000, rng), 5, steps=40)
    true = centre_covariance(np.cov(truth.own.T))
    learned = centre_covariance(found.items.taste())
    assert np.corrcoef(learned.ravel(), true.ravel())[0, 1] > 0.95
    assert 0.6 < np.trace(learned) / np.trace(true) < 1.5


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_the_consensus_covers_where_the_variational_one_does_not():
    """Few annotators of strong tastes: 90% intervals of 144 items, tastes integrated out or only averaged over.

    Over crowds coverage has a standard error of .03 and the difference one of .05: each bound is three of them away.
    """
    published, mean_field = [], []
    for seed in range(12):
        truth, data = simulate_people(seed, n_items=12, n_annotators=10, n_labels=300, taste_sd=1.5)
        published.append(coverage(QUICK.fit(data), truth.utilities))
        found, _ = factors_of(data, 4, steps=30)
        sd = np.sqrt(np.diagonal(centre_covariance(found.items.covariance[0])))
        mean_field.append(np.mean(np.abs(centre(found.items.mean[0]) - truth.utilities) < 1.645 * sd))
    assert 0.8 < np.mean(published) < 0.99
    assert np.mean(mean_field) < np.mean(published) - 0.1


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_personal_predictions_beat_one_consensus():
    truth, data = simulate_people(3, taste_sd=1.5, n_labels=2400)
    posterior, shared = QUICK.fit(data), GPPL().fit(data)
    left, right = np.triu_indices(10, 1)
    favours = truth.own[:, left] > truth.own[:, right]
    own = np.array([posterior.pairwise_probabilities(left, right, j) for j in range(40)]) > 0.5
    assert (own == favours).mean() > (shared.pairwise_probabilities(left, right) > 0.5)[None].repeat(40, 0).__eq__(
        favours
    ).mean() + 0.1


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
@pytest.mark.parametrize("seed", [0, *[pytest.param(seed, marks=pytest.mark.large) for seed in (1, 2, 3)]])
def test_features_predict_new_items_and_new_annotators(seed):
    """Half of the crowd weakly prefers the opposite: no run of the draws takes these for careless."""
    rng = np.random.default_rng(5)
    items, east = rng.uniform(-1, 1, size=(30, 1)), np.arange(60) % 2
    own = 1.5 * items[:, 0] * np.where(east, 1.0, -0.4)[:, None] + 0.3 * rng.standard_normal((60, 1))
    worth = own.mean(axis=0) - own.mean()
    truth = Crowd(worth, own, np.ones(60), np.zeros(60), link="probit")
    shown = np.array([rng.choice(25, size=2, replace=False) for _ in range(1200)])
    data = Comparisons.concatenate(
        [
            truth.pairs(1200, rng, shown=shown),
            Comparisons.from_pairs(
                [], [], [], [], n_items=30, n_annotators=60, item_features=items, annotator_features=east[:, None]
            ),
        ]
    )
    posterior = QUICK.fit(data, rng=np.random.default_rng(seed))
    assert posterior.annotator_summary().reliability[east == 0].mean() > 0.9
    assert np.corrcoef(posterior.at(items[25:]).utilities(), worth[25:])[0, 1] > 0.9
    for value, sign in ((1.0, 1.0), (0.0, -1.0)):
        stranger = posterior.for_annotator(features=[value])
        assert np.corrcoef(stranger.utilities(), sign * items[:, 0])[0, 1] > 0.5


def test_new_items_without_features_are_rejected():
    with pytest.raises(Unsupported, match="item_features"):
        CrowdGPPL(n_components=2, log_scale_sd=0).fit(mixed()).at(np.zeros((2, 2)))


def test_limits_and_settings_are_reported():
    with pytest.raises(InvalidSetting, match="prior_rate=0"):
        CrowdGPPL(prior_rate=0).fit(Comparisons.from_pairs([0], [1], [1]))


@pytest.mark.parametrize("features", [None, "constant", "repeated"])
def test_many_unconnected_parts_are_fitted(features):
    """Forty parts of three items by three annotators: tastes vary alike in every direction, none of them leads."""
    rng, n_parts = np.random.default_rng(0), 40
    shown = np.array([3 * part + rng.permutation(3)[:2] for part in range(n_parts) for _ in range(3)])
    columns = {None: None, "constant": np.ones((120, 1)), "repeated": np.repeat(rng.normal(size=(40, 2)), 3, axis=0)}
    data = Comparisons.from_pairs(
        shown[:, 0],
        shown[:, 1],
        rng.integers(2, size=120),
        np.arange(120) % 3,
        n_items=120,
        item_features=columns[features],
    )
    posterior = CrowdGPPL(n_components=4, log_scale_sd=0).fit(data)
    assert posterior.diagnostics.converged
    assert np.isfinite(posterior.utilities()).all()
    components = posterior.components()
    assert components.item_loadings.shape == (120, 4)
