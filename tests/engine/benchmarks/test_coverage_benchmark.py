"""The benchmark of honest intervals: its worlds, its verdicts and what it finds where the answer is known."""

import json

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import kstest, loggamma

from models_engine.benchmarks import coverage
from models_engine.benchmarks.coverage import SCENARIOS, CrowdSize, describe_coverage, measure, simulate_scenario
from models_engine.estimators.plackett_luce import match_gamma_shape

MANY = CrowdSize(n_items=4_000, n_annotators=3)
SMALL = CrowdSize(n_items=15, n_annotators=12, n_labels=400)


@pytest.mark.parametrize(("scenario", "factor"), [("own", 1), ("double", 2), ("half", 0.5), ("rankings", 1)])
@pytest.mark.parametrize("name", ["BradleyTerry", "CrowdBT", "PlackettLuce", "CollaborativeGP"])
def test_scenarios_have_the_scale_of_their_name(name, scenario, factor):
    people = simulate_scenario(name, scenario, MANY, np.random.default_rng(0))
    sd = factor * coverage.OWN_MODEL[name].get("utility_sd", 1.0)
    assert people.utilities.std() == pytest.approx(sd, rel=0.06)
    assert abs(people.utilities.mean()) < 1e-9
    tastes = (people.own - people.utilities).std()
    assert tastes == pytest.approx(0.7, abs=0.3) if name == "CollaborativeGP" else tastes < 1e-9
    assert (people.reliability.min() < 1) == (name == "CrowdBT")


def test_worths_of_plackett_luce_are_gamma_distributed():
    people = simulate_scenario("PlackettLuce", "own", MANY, np.random.default_rng(1))
    shape = match_gamma_shape(1.5)
    assert polygamma(1, shape) == pytest.approx(1.5**2)
    shifted = loggamma(shape, loc=-loggamma(shape).mean())
    assert kstest(people.utilities, shifted.cdf).pvalue > 0.001
    normal = simulate_scenario("BradleyTerry", "own", MANY, np.random.default_rng(1))
    assert kstest(normal.utilities, shifted.cdf).pvalue < 1e-6


def test_tastes_differ_by_the_stated_amount():
    people = simulate_scenario("BradleyTerry", "tastes", CrowdSize(50, 3_000), np.random.default_rng(0))
    tastes = people.own - people.utilities
    assert tastes.std() == pytest.approx(coverage.DIFFERING_TASTE, rel=0.15)
    assert np.linalg.matrix_rank(tastes) == 2
    own = simulate_scenario("CollaborativeGP", "own", CrowdSize(20, 3_000), np.random.default_rng(0))
    covariance = np.cov((own.own - own.utilities).T)
    assert np.diagonal(covariance) == pytest.approx(0.49, rel=0.7)
    assert np.linalg.eigvalsh(covariance)[10] > 0.1, "tastes differ in every direction, as its prior has it"


def test_coverage_is_flagged_only_beyond_two_standard_errors():
    assert describe_coverage(0.80, 0.02) == "  overconfident"
    assert describe_coverage(0.82, 0.02) == describe_coverage(0.90, 0.02) == describe_coverage(0.96, 0.02) == ""
    assert describe_coverage(0.99, 0.01) == "  cautious"


def test_a_fixed_prior_covers_at_its_own_scale_and_is_overconfident_at_twice_it():
    """Forty crowds; standard errors about 1.3% and 2.5%."""
    fixed = {"prior_sd": 1.5, "inference": "map"}
    own = [measure("BradleyTerry", "own", seed, SMALL, fixed) for seed in range(40)]
    assert 0.85 <= np.mean([one.coverage for one in own]) <= 0.95
    assert 0.9 <= np.mean([one.slope for one in own]) <= 1.1
    double = [measure("BradleyTerry", "double", seed, SMALL, fixed) for seed in range(40)]
    assert np.mean([one.coverage for one in double]) < 0.8
    assert np.mean([one.slope for one in double]) > 1.1
    assert np.mean([one.width for one in double]) > np.mean([one.width for one in own])


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_tastes_are_recovered_from_rankings():
    """Four crowds; through implied pairs, which agree with each other, slopes are near 1.4 and coverage near .5."""
    found = [measure("CollaborativeGP", "rankings", seed, CrowdSize(20, 60, 900), {}) for seed in range(4)]
    assert np.mean([one.coverage for one in found]) > 0.75
    assert 0.8 < np.mean([one.slope for one in found]) < 1.2


@pytest.mark.process
def test_the_command_prints_every_scenario_and_writes_every_figure(capsys, tmp_path):
    size = ["--items", "12", "--annotators", "6", "--labels", "60", "--crowds", "2", "--json", str(tmp_path / "out")]
    assert coverage.main(["--estimators", "BradleyTerry,PlackettLuce", *size]) == 0
    printed = capsys.readouterr().out
    assert all(words in printed for words in SCENARIOS.values())
    assert "commit" in printed
    written = json.loads((tmp_path / "out").read_text())
    assert len(written["found"]) == 2 * 2 * len(SCENARIOS)
    assert "cores" in written["facts"]["measured"]
    again = measure("PlackettLuce", "rankings", 1, CrowdSize(12, 6, 60), {})
    assert [again.coverage, again.slope] == [written["found"][-1][key] for key in ("coverage", "slope")]


def test_estimators_without_a_coverage_claim_are_left_out_unless_named():
    assert "AngleBased" not in coverage._parser().parse_args([]).estimators
    assert coverage._parser().parse_args(["--estimators", "AngleBased"]).estimators == "AngleBased"
