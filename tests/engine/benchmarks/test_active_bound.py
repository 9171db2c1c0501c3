"""The least labels that any choice of pairs needs: what an answer tells against draws, the best spread of answers
against others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.collecting.worlds import Scenario, World
from models_engine.benchmarks import active
from models_engine.benchmarks.active_bound import information, least_ratio


def crowd(utility_sd=1.3, n=60):
    utilities = np.random.default_rng(0).standard_normal(n)
    utilities *= utility_sd / utilities.std()
    care, nothing = np.array([0.5, 0.8, 0.95, 1.0]), np.zeros(4)
    visits = np.array([0.1, 0.2, 0.3, 0.4])
    return World(Scenario(n_items=n), utilities, np.tile(utilities, (4, 1)), care, nothing, visits)


@pytest.mark.parametrize("variance", [0.2, 1.0, 4.0])
def test_information_is_the_mean_square_of_the_score(variance):
    world, rng, n = crowd(), np.random.default_rng(1), 400_000
    z, care = np.sqrt(variance) * rng.standard_normal(n), world.reliability[world.visitors(n, rng)]

    def chance(at):
        return care / (1 + np.exp(-at)) + (1 - care) / (1 + np.exp(at))

    yes, step = rng.random(n) < chance(z), 1e-4
    scores = [np.log(np.where(yes, chance(z + way), 1 - chance(z + way))) for way in (step, -step)]
    assert_allclose(information(world, variance), (((scores[0] - scores[1]) / (2 * step)) ** 2).mean(), rtol=0.01)


def mean_sd(told, prior):
    """Of centred utilities by how much each pair got, (n, n)."""
    n = len(told)
    covariance = np.linalg.inv(np.diag(told.sum(axis=1)) - told + np.eye(n) / prior)
    centring = np.eye(n) - 1 / n
    return np.sqrt(np.diagonal(centring @ covariance @ centring)).mean()


def test_the_mean_width_is_least_where_each_pair_gets_as_much():
    rng, n, total, prior = np.random.default_rng(2), 12, 40.0, 1.4
    equal = np.full((n, n), 2 * total / (n * (n - 1))) * (1 - np.eye(n))
    least = mean_sd(equal, prior)
    assert_allclose(least, np.sqrt((1 - 1 / n) / (1 / prior + 2 * total / (n - 1))))
    for power in (0.3, 1.0, 4.0):
        other = np.triu(rng.random((n, n)) ** power, 1)
        other *= total / other.sum()
        assert mean_sd(other + other.T, prior) > least


def test_least_ratio_falls_with_what_choice_can_save():
    world = crowd()
    free = least_ratio(world, 600)
    assert free < least_ratio(world, 600, age=90) < 1
    assert free < least_ratio(world, 600, share=0.1) < 1
    assert_allclose(least_ratio(world, 600, share=1.0), 1)
    assert least_ratio(crowd(2.6), 600) < free < least_ratio(crowd(0.65), 600)
    assert_allclose(least_ratio(crowd(0.05), 600), 1, atol=0.01)  # of equal items any pair is as good


def test_bounds_are_printed_by_scenario(capsys):
    assert active.main(["--bound", "--scenarios", "usual,late", "--crowds", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown[2:]] == ["usual", "late"]
