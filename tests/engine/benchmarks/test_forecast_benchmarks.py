"""Benchmarks of counts and forecasts: their scores against independent forms, and their commands on small data."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.benchmarks import counts, forecast
from models_engine.benchmarks.__main__ import main
from models_engine.inference.rectified_poisson import tilted_moments


def test_crps_is_the_integral_over_all_thresholds():
    draws, value = np.random.default_rng(0).normal(3, 2, 400), 4.5
    axis = np.linspace(-10, 20, 200_001)
    below = np.searchsorted(np.sort(draws), axis, side="right") / len(draws)
    expected = ((below - (axis >= value)) ** 2).sum() * (axis[1] - axis[0])
    assert_allclose(forecast.crps(draws, value), expected, rtol=1e-3)


def test_the_simple_rule_takes_the_shortest_span_with_labels():
    rng = np.random.default_rng(0)
    assert forecast.todays_rule(np.array([9.5]), 10.0, rng)[:, 0].mean() == pytest.approx(1, abs=0.2)
    assert forecast.todays_rule(np.full(48, 5.0), 10.0, rng)[:, 0].mean() == pytest.approx(2, abs=0.3)
    assert not forecast.todays_rule(np.zeros(0), 10.0, rng).any()


def test_moments_by_quadrature_agree_where_the_rate_is_never_cut():
    columns = [np.array(values) for values in ([2.0, 7.0], [1.0, 2.0], [4.0, 5.0], [0.3, 0.2])]
    found = counts.link_moments(lambda f: np.maximum(f, 1e-12))(*columns)
    assert_allclose(np.array(found), np.array(tilted_moments(*columns)), rtol=1e-6)


@pytest.mark.process  # git describes the machine's commit
def test_the_commands_run_on_small_data(tmp_path, capsys):
    rng = np.random.default_rng(0)
    folder = tmp_path / "activity"
    folder.mkdir()
    with gzip.open(folder / "coal_disasters.csv.gz", "wt") as file:
        file.write("year\n" + "\n".join(f"{year:.3f}" for year in rng.uniform(1851, 1962, 60)))
    with gzip.open(folder / "sigir2010_times.csv.gz", "wt") as file:
        rows = [f"{i % 9},x,2010-04-{14 + i // 24:02}T{i % 24:02}:{i % 60:02}:00Z" for i in range(72)]
        file.write("worker,accepted_utc,submitted_utc\n" + "\n".join(rows))
    assert main(["forecast", "--data", str(tmp_path), "--crowds", "sigir", "--origins", "2"]) == 0
    printed = capsys.readouterr().out
    assert "simple rule" in printed
    assert "2 origins" in printed


@pytest.mark.slow
@pytest.mark.process
def test_the_table_of_links_has_a_row_each(tmp_path, capsys):
    with gzip.open(tmp_path / "coal_disasters.csv.gz", "wt") as file:
        years = np.random.default_rng(0).uniform(1851, 1962, 60)
        file.write("year\n" + "\n".join(f"{year:.3f}" for year in years))
    assert main(["counts", "--data", str(tmp_path), "--draws", "1", "--json", str(tmp_path / "found.json")]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("one rate", "exp", "softplus", "rectified"))


def test_data_that_are_not_there_are_named(tmp_path, capsys):
    assert main(["counts", "--data", str(tmp_path)]) == 2
    assert "coal_disasters.csv.gz does not exist" in capsys.readouterr().err
