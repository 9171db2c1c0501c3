"""SSR against the squared correlation with the truth, split halves against the same, and their intervals."""

from dataclasses import replace

import numpy as np
import pytest

from models_engine.analysis.reliability import compute_separation, scale_separation, split_half
from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData, InvalidSetting
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.linalg import centre
from models_engine.posterior import Diagnostics, GaussianPosterior
from models_engine.simulate import simulate_crowd

FINE = Diagnostics(True, 1, (0.0,), 0.1, "fine")


@pytest.mark.slow
@pytest.mark.parametrize("prior_sd", [1.5, None])
def test_ssr_is_the_squared_correlation_of_estimate_and_truth(prior_sd):
    """Over simulated crowds, on average; and in nine of ten worlds the real one lies in the interval."""
    said, real, inside = [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 40, 10, utility_sd=1.5)
        fit = BradleyTerry(prior_sd=prior_sd, inference="variational").fit(people.pairs(300, rng))
        found = scale_separation(fit)
        squared = np.corrcoef(fit.utilities(), people.utilities)[0, 1] ** 2
        said, real = [*said, found.value], [*real, squared]
        inside.append(found.low <= squared <= found.high)
    assert np.mean(said) == pytest.approx(np.mean(real), abs=0.02)
    assert np.mean(inside) >= 0.8


def test_what_is_open_about_the_scale_does_not_count():
    """It moves all utilities together, so that the means correlate with the truth as they do at a known scale."""
    rng = np.random.default_rng(0)
    mean, own = centre(rng.normal(size=8)), 0.1**2 * np.eye(8)
    known = GaussianPosterior(mean, DenseCovariance.of(own), FINE)
    spread = DenseCovariance.of(own + 0.2**2 * np.outer(mean, mean))
    scaled = GaussianPosterior(mean, spread, FINE, along_scale=0.2 * mean)
    assert scale_separation(scaled).value == pytest.approx(scale_separation(known).value)
    assert scale_separation(replace(scaled, along_scale=None)).value < scale_separation(known).value - 0.01
    squared = [
        np.mean([np.corrcoef(mean, one)[0, 1] ** 2 for one in p.sample(4_000, rng=rng)]) for p in (known, scaled)
    ]
    assert squared[0] == pytest.approx(squared[1], abs=0.005)


def test_with_much_data_it_is_the_formula_for_maximum_likelihood():
    """(var(b) - mean(se^2)) / var(b) of estimates with next to no prior, from second differences of the likelihood."""
    rng = np.random.default_rng(5)
    people = simulate_crowd(rng, 12, 10)
    data = people.pairs(3_000, rng)
    b, pairs = BradleyTerry(prior_sd=50).fit(data).utilities(), data.pairs()
    margin = b[pairs.left] - b[pairs.right]
    v = 1 / (2 + 2 * np.cosh(margin))
    curvature = np.zeros((12, 12))
    for row in range(len(pairs)):
        a, c = pairs.left[row], pairs.right[row]
        curvature[a, a] += v[row]
        curvature[c, c] += v[row]
        curvature[a, c] -= v[row]
        curvature[c, a] -= v[row]
    errors = np.diag(np.linalg.pinv(curvature))
    classic = (b.var(ddof=1) - errors.sum() / 11) / b.var(ddof=1)
    assert scale_separation(BradleyTerry().fit(data)).value == pytest.approx(classic, abs=0.003)


def test_known_values():
    posterior = GaussianPosterior(np.array([1.0, -1.0]), DenseCovariance.of(np.diag([1.0, 1.0])), FINE)
    assert compute_separation([1.0, -1.0], [0.5, 0.5]) == pytest.approx(2 / 2.5)
    assert scale_separation(posterior).value == pytest.approx(2 / 3)
    assert scale_separation(posterior).separation == pytest.approx(np.sqrt(2))
    assert np.isnan(compute_separation([0.0], [0.0]))
    assert np.isnan(compute_separation([0.0, 0.0], [0.0, 0.0]))


@pytest.mark.slow
@pytest.mark.parametrize("by", ["judges", "answers"])
def test_split_halves_are_as_reliable_as_half_and_all_the_answers_are(by):
    """Plain: the mean over crowds is the correlation of two fits of half as many answers each, by other people."""
    halves, fulls, independent, real, inside = [], [], [], [], []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 40, 20, utility_sd=1.5)
        data, first, second = (people.pairs(n, rng) for n in (600, 300, 300))
        found = split_half(data, by, n_splits=4, rng=rng)
        fits = [BradleyTerry().fit(part).utilities() for part in (first, second, data)]
        independent.append(np.corrcoef(fits[0], fits[1])[0, 1])
        real.append(np.corrcoef(fits[2], people.utilities)[0, 1] ** 2)
        halves, fulls = [*halves, found], [*fulls, found.full]
    expected = np.mean(independent)
    inside = [found.half_low <= expected <= found.half_high for found in halves]
    assert np.mean([found.half for found in halves]) == pytest.approx(expected, abs=0.04)
    assert np.mean(fulls) == pytest.approx(np.mean(real), abs=0.04)
    assert np.mean(inside) >= 0.85


def test_judges_who_differ_agree_less_by_judges_than_by_answers():
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 30, 6, taste_sd=1.5)
    data = people.pairs(1_200, rng)
    assert split_half(data, "judges", n_splits=6).half < split_half(data, "answers", n_splits=6).half - 0.1


def test_answers_at_random_have_no_reliability():
    rng = np.random.default_rng(2)
    data = simulate_crowd(rng, 40, 10, utility_sd=0.0).pairs(600, rng)
    assert abs(split_half(data, n_splits=8).half) < 0.35
    assert split_half(data, n_splits=8) == split_half(data, n_splits=8)


def test_too_little_to_split():
    one = Comparisons.from_pairs([0, 1, 2], [1, 2, 3], [1, 1, 1], [0, 0, 0])
    with pytest.raises(InsufficientData, match="1 judges cannot be split"):
        split_half(one)
    with pytest.raises(InsufficientData, match="5 items compared in both halves"):
        split_half(one, "answers")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"by": "judge"}, "split the judges or the answers"),
        ({"level": 1.0}, "level"),
        ({"level": 90}, "level"),
        ({"level": float("nan")}, "level"),
        ({"n_splits": 0}, "n_splits is 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, words):
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 6, 4).pairs(60, rng)
    with pytest.raises(InvalidSetting, match=words):
        split_half(data, **wrong)
    if "level" in wrong:
        with pytest.raises(InvalidSetting, match=words):
            scale_separation(BradleyTerry().fit(data), wrong["level"])


def test_split_halves_take_best_worst_answers():
    """Halves of best-worst answers agree as much as the utilities are known; random answers do not agree."""
    rng = np.random.default_rng(3)
    utilities = np.linspace(-2, 2, 12)
    sets = np.array([rng.choice(12, 4, replace=False) for _ in range(240)])
    for scale, agrees in ((1.0, True), (0.0, False)):
        seen = scale * utilities[sets] + rng.gumbel(size=sets.shape)
        best, worst = sets[np.arange(240), seen.argmax(1)], sets[np.arange(240), seen.argmin(1)]
        data = Comparisons.from_best_worst(best, worst, sets, annotators=np.arange(240) % 12)
        found = split_half(data, "judges")
        assert (found.full > 0.85) == agrees
