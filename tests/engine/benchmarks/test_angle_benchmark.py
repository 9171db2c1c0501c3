"""The simulations of the angle-based paper: divergences by enumeration, the posterior of kappa by quadrature."""

from itertools import permutations

import numpy as np
import pytest

from models_engine.benchmarks import angle, angle_many_items, angle_simulations
from models_engine.benchmarks.sushi_data import SushiData
from models_engine.errors import InvalidSetting
from models_engine.inference.angle.permutations import place_scores
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean


def log_probabilities(eta: np.ndarray) -> np.ndarray:
    weight = place_scores(len(eta))[np.array(list(permutations(range(len(eta)))))] @ eta
    return np.asarray(weight - np.log(np.exp(weight).sum()))


def test_the_divergence_is_that_of_all_rankings():
    rng = np.random.default_rng(0)
    eta, estimate = (rng.normal(size=5) for _ in range(2))
    eta, estimate = eta - eta.mean(), estimate - estimate.mean()
    p, q = log_probabilities(eta), log_probabilities(estimate)
    assert angle_simulations.divergence(eta, estimate) == pytest.approx(np.exp(p) @ (p - q), rel=1e-9)


def test_beyond_eight_items_the_divergence_comes_from_the_sphere():
    rng = np.random.default_rng(0)
    eta = 2 * angle_simulations.draw_direction(9, rng)
    estimate = 3 * angle_simulations.draw_direction(9, rng)
    places = np.argsort(rng.random((200_000, 9)), axis=1)  # all rankings alike, weighted by both models
    weight = place_scores(9)[places] @ np.column_stack([eta, estimate])
    share = np.exp(weight[:, 0])
    expected = share @ (weight[:, 0] - weight[:, 1]) / share.sum() - np.log(np.exp(weight).mean(axis=0)) @ [1, -1]
    assert angle_simulations.divergence(eta, estimate) == pytest.approx(expected, rel=0.02)


def test_the_posterior_of_kappa_is_theirs_with_theta_integrated_out():
    posterior = angle_simulations.ConcentrationPosterior(beta=6.0, n=15, p=2)
    kappa = np.array([0.3, 1.0, 2.5])
    turn = np.linspace(0, 2 * np.pi, 2_001)[:-1]
    likelihood = np.exp(6.0 * kappa[:, None] * np.cos(turn)).mean(axis=1) / np.exp(log_sphere_mean(kappa, 2)) ** 15
    shape, rate = angle_simulations.PRIOR
    expected = np.log(likelihood * kappa ** (shape - 1) * np.exp(-rate * kappa))
    found = posterior.log_density(kappa)
    assert found - found[0] == pytest.approx(expected - expected[0], rel=1e-6)
    grid = posterior.on_grid()
    mean = float(grid @ angle_simulations.GRID)
    spread = float(np.sqrt(grid @ (angle_simulations.GRID - mean) ** 2))
    drawn = posterior.resampled(1.0, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(mean, abs=4 * spread / np.sqrt(len(drawn)))
    joint = 6.0 * angle_simulations.GRID - 15 * log_sphere_mean(angle_simulations.GRID, 2)  # at the likeliest theta
    assert posterior.mle == pytest.approx(angle_simulations.GRID[np.argmax(joint)], rel=5e-3)


def test_variational_inference_predicts_better_than_the_likeliest_parameters():
    rows = {row.method: row for row in angle_simulations.predict((10,), 3, 0)}
    assert 0 < rows["vi"].divergence < rows["mle"].divergence / 3


def test_rows_name_every_method_and_the_exact_posterior_beats_the_likeliest_kappa():
    rows = {row.method: row for row in angle_simulations.estimate_by_people_and_items([(12, 20)], 2, 0)}
    assert list(rows) == ["mle", "sir", "vi", "exact", "default"]
    assert rows["exact"].divergence < rows["mle"].divergence


def test_a_ranking_with_items_left_out_keeps_its_order():
    rankings = np.argsort(np.random.default_rng(0).random((20, 6)), axis=1)
    left = angle_simulations.leave_out(rankings, 2, np.random.default_rng(1))
    assert left.shape == (20, 4)
    for whole, part in zip(rankings.tolist(), left.tolist(), strict=True):
        assert [item for item in whole if item in part] == part


def test_the_command_prints_the_parts_asked_for(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(InvalidSetting, match="there is no part"):
        angle.main(["--parts", "posterior,weather"])
    with pytest.raises(InvalidSetting, match="--data"):
        angle.main([])
    assert angle.main(["--parts", "predictive", "--repeats", "1"]) == 0
    assert "Figure 8" in capsys.readouterr().out


def hundred_sushi(n: int, rng: np.random.Generator) -> SushiData:
    """Rankings of ten out of a hundred: in the East a smaller number is better, in the West a larger one."""
    users = np.zeros((n, 5))
    users[:, angle_many_items.EAST_OR_WEST] = np.arange(n) % 2
    sign = 1 - 2 * users[:, angle_many_items.EAST_OR_WEST, None]
    sets = np.argsort(rng.random((n, 100)), axis=1)[:, :10]
    places = sign * sets + rng.normal(scale=10, size=sets.shape)
    ordered = np.take_along_axis(sets, np.argsort(places, axis=1), axis=1)
    return SushiData(ordered, ordered, np.zeros((100, 1)), users)


@pytest.mark.slow
def test_the_best_of_a_hundred_are_found_by_region():
    rows = angle_many_items.best_ten(hundred_sushi(40, np.random.default_rng(0)))
    assert [(row.region, row.reading) for row in rows] == [
        ("East", "given"), ("West", "given"), ("East", "best ten"), ("West", "best ten")
    ]  # fmt: skip
    assert all(row.converged for row in rows)
    assert np.mean(rows[0].items) < 25
    assert np.mean(rows[1].items) > 75


def test_rankings_read_as_the_best_of_all_leave_the_others_below():
    labels = angle_many_items.read_as(np.array([[7, 3, *range(20, 28)]]), "best ten")
    ranks = dict(zip(labels.items.tolist(), labels.ranks.tolist(), strict=True))
    assert ranks[7] < ranks[3] < ranks[27] < ranks[0] == ranks[99]
