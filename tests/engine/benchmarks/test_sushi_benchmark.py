"""The Sushi benchmark: splits, scores and baselines; the data's own checks are skipped where it is absent."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.benchmarks import coverage, sushi
from models_engine.benchmarks.baselines import IndependentGPs, MapFactorisation, PointPosterior, WinMatrices
from models_engine.benchmarks.sushi_data import PROTOCOLS, Split, SushiData, make_split, read_sushi
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.simulate import simulate_crowd
from tests.paths import ROOT as HERE

DATA = Path(os.environ.get("CROWDRANK_DATA", HERE.parent / "shared" / "data"))


def simulated_data(seed: int = 0) -> SushiData:
    """Rankings of the same shapes as the real ones, from nowhere."""
    rng = np.random.default_rng(seed)
    a = np.argsort(rng.random((5000, 10)), axis=1)
    b = np.argsort(rng.random((5000, 100)), axis=1)[:, :10]
    return SushiData(a, b, rng.standard_normal((100, 18)), rng.standard_normal((5000, 5)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_split_is_a_pure_function_and_agrees_with_the_rankings(protocol):
    data = simulated_data()
    one, two = (make_split(data, protocol, 3, 1, features=True) for _ in range(2))
    other = make_split(data, protocol, 3, 2, features=True)
    assert one.train.data_hash() == two.train.data_hash() != other.train.data_hash()
    assert_array_equal(one.left, two.left)
    _, n_annotators, n_train, n_test = PROTOCOLS[protocol]
    assert one.train.n_labels == n_annotators * n_train
    assert len(one.left) == n_annotators * n_test
    trained = one.train.pairs()
    low, high = np.minimum(trained.left, trained.right), np.maximum(trained.left, trained.right)
    seen = set(zip(trained.annotator, low, high, strict=True))
    tested = set(zip(one.annotator, np.minimum(one.left, one.right), np.maximum(one.left, one.right), strict=True))
    assert len(seen) == n_annotators * n_train
    assert len(tested) == n_annotators * n_test
    assert not seen & tested, "a test pair was trained on"
    place = np.full((n_annotators, one.train.n_items), 99)
    np.put_along_axis(place, one.gold, np.arange(10), axis=1)
    left_better = place[one.annotator, one.left] < place[one.annotator, one.right]
    assert_array_equal(one.outcome == 1, left_better)
    assert_array_equal(
        trained.outcome == 1, place[trained.annotator, trained.left] < place[trained.annotator, trained.right]
    )
    assert 0.4 < one.outcome.mean() < 0.6, "the side says nothing"


def test_models_of_the_thesis_go_by_their_names_and_are_told_in_bits():
    built = {name: sushi.build_named_estimator(name, {}) for name in sushi.THESIS}
    assert (built["VU"].features, built["VU"].covariance) == (False, "low-rank")
    assert (built["GPVU"].features, type(built["GPVU"]).__name__) == (True, "CollaborativeGP")
    assert (built["GPfull"].consensus, built["GPfull"].features) == (False, True)
    scores = [sushi.SushiScore("GPVU", k, 0.7, cee, 0.5, 0.5, 1.0, 1.0, True) for k, cee in enumerate((0.5, 0.6))]
    assert f"{0.55 / np.log(2):.4f} bits (± {0.05 / np.log(2):.4f}" in sushi.format_table(scores)
    assert "bits" not in sushi.format_table([sushi.SushiScore("GPPL", 0, 0.7, 0.5, 0.5, 0.5, 1.0, 1.0, True)])


def test_variants_of_crowd_gppl_go_by_names():
    built = {name: sushi.build_named_estimator(name, {}) for name in sushi.VARIANTS}
    assert built["CrowdGPPL-t"].consensus_sd < 0.01
    assert built["CrowdGPPL-50"].n_components == 50


def perfect(test: Split, sign: float) -> PointPosterior:
    own = np.zeros((len(test.gold), test.train.n_items))
    np.put_along_axis(own, test.gold, sign * np.arange(10.0, 0, -1) * np.ones((len(test.gold), 1)), axis=1)
    return PointPosterior(own)


def test_scores_of_the_truth_its_reverse_and_noise():
    test = make_split(simulated_data(), "A-small", 0, 0, features=False)
    accuracy, cee, tau, pooled = sushi.score_fit(perfect(test, 1.0), test)
    assert (accuracy, tau) == (1, pytest.approx(1))
    assert pooled > 0.99
    assert cee < 0.1
    assert sushi.score_fit(perfect(test, -1.0), test)[0] == 0
    noise = 1e-6 * np.random.default_rng(0).standard_normal((100, 10))
    accuracy, cee, tau, pooled = sushi.score_fit(PointPosterior(noise), test)
    assert accuracy == pytest.approx(0.5, abs=0.04)
    assert cee == pytest.approx(np.log(2), abs=1e-5)
    assert abs(tau) < 0.1 > abs(pooled)


def test_differences_are_paired():
    scores = [
        sushi.SushiScore(name, repeat, value + repeat, 0, 0, 0, 0, 0, True)
        for name, values in (("one", (1.0, 1.1, 0.9)), ("two", (0.5, 0.5, 0.5)))
        for repeat, value in enumerate(values)
    ]
    mean, error = sushi.mean_difference(scores, "one", "two", "accuracy")
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(0.1 / np.sqrt(3))


def test_gradient_of_the_map_factorisation():
    rng = np.random.default_rng(0)
    model = MapFactorisation(n_components=2, loading_sd=0.5)
    better, worse, who = rng.integers(0, 3, 12), rng.integers(3, 5, 12), rng.integers(0, 4, 12)
    won = WinMatrices.of(Comparisons.from_pairs(better, worse, np.ones(12), who, n_items=5, n_annotators=4))
    for scale in (0.1, 1.0, 5.0):
        x = scale * rng.standard_normal(5 + 9 * 2)
        steps = 1e-5 * np.eye(len(x))
        slopes = [(model.loss(x + h, won)[0] - model.loss(x - h, won)[0]) / 2e-5 for h in steps]
        assert_allclose(model.loss(x, won)[1], slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_the_map_factorisation_chooses_shrinkage_by_held_out_labels():
    """Nobody differs: tastes are shrunk far. They differ strongly: less."""
    chosen = []
    for taste_sd in (0.0, 2.0):
        people = simulate_crowd(np.random.default_rng(1), 8, 20, taste_sd=taste_sd, link="probit")
        chosen.append(
            MapFactorisation(n_components=3).with_chosen_sd(people.pairs(6000, np.random.default_rng(2))).loading_sd
        )
    assert chosen[0] <= 0.1 < chosen[1]
    with pytest.raises(InvalidSetting, match="loading_sd"):
        MapFactorisation().units(WinMatrices.of(people.pairs(10, np.random.default_rng(3))))


@pytest.mark.slow
def test_baselines_learn_each_annotators_ranking():
    rng = np.random.default_rng(2)
    people = simulate_crowd(rng, 8, 20, taste_sd=1.5, link="probit")
    data = people.pairs(1200, rng)
    left, right = np.triu_indices(8, 1)
    for baseline in (IndependentGPs(), MapFactorisation()):
        posterior = baseline.fit(data)
        right_way = [
            (posterior.pairwise_probabilities(left, right, j) > 0.5) == (people.own[j, left] > people.own[j, right])
            for j in range(20)
        ]
        assert np.mean(right_way) > 0.75


def test_unknown_names_and_missing_files_are_reported(tmp_path):
    with pytest.raises(InvalidSetting, match="MapFactorisation"):
        sushi.build_named_estimator("Nonsense", {})
    with pytest.raises(InvalidData, match=r"sushi3a\.5000\.10\.order"):
        read_sushi(tmp_path)


@pytest.mark.process
def test_coverage_command_prints_every_scenario(capsys):
    size = ["--items", "12", "--annotators", "6", "--labels", "60", "--crowds", "2"]
    assert coverage.main(["--estimators", "BradleyTerry", *size]) == 0
    printed = capsys.readouterr().out
    for words in coverage.SCENARIOS.values():
        assert words in printed


@pytest.fixture
def real() -> SushiData:
    if not (DATA / "sushi" / "sushi3a.5000.10.order").is_file():
        pytest.skip(f"the Sushi data is not in {DATA}; set CROWDRANK_DATA to the folder that holds sushi/")
    return read_sushi(DATA)


def test_real_data_match_their_description(real):
    assert_array_equal(np.sort(real.rankings_a, axis=1), np.tile(np.arange(10), (5000, 1)))
    assert_array_equal(np.bincount(real.rankings_a[:, 0]), [458, 550, 404, 228, 747, 545, 206, 1713, 113, 36])
    assert np.bincount(real.rankings_b.ravel(), minlength=100).min() == 50
    assert real.items.shape == (100, 18)
    assert real.users.shape == (5000, 5)


@pytest.mark.process
@pytest.mark.slow
def test_collaborative_gp_reaches_the_published_table_on_two_splits(real):
    """The floor is a few standard errors under the mean of 25 splits; the baseline on the same splits is lower."""
    scores = []
    for repeat in range(2):
        test = make_split(real, "A", 0, repeat, features=True)
        for name in ("CollaborativeGP", "IndependentGPs"):
            scores.append((name, *sushi.score_fit(sushi.build_named_estimator(name, {}).fit(test.train), test)))
    own, baseline = (
        np.array([one[1:] for one in scores if one[0] == name]).mean(axis=0)
        for name in ("CollaborativeGP", "IndependentGPs")
    )
    assert own[0] > 0.83
    assert own[1] < 0.33
    assert own[2] > 0.81
    assert own[1] < baseline[1]
