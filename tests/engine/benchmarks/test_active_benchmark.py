"""The benchmarks of choosing questions and of stopping: their arithmetic on made-up curves, and a small run of each."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.stopping_errors import stopping_error
from models_engine.benchmarks import active, stopping
from models_engine.benchmarks.label_ratio import labels_ratio
from models_engine.benchmarks.stopping_projects import Trace, simulate


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.0, 1.2])
def test_ratio_of_labels_of_known_curves(factor):
    looks, rng = np.arange(200, 2_601, 100), np.random.default_rng(0)
    crowds = 0.002 * rng.standard_normal((30, 1))
    ours, other = np.log(looks) + crowds, np.log(looks / factor) + crowds
    ratio, error = labels_ratio(looks, ours, other, place=18)
    assert_allclose(ratio, factor, rtol=0.01)
    assert error < 0.01
    never, _ = labels_ratio(looks, ours, np.zeros_like(ours), place=18)
    assert never == np.inf


def test_error_of_ratio_is_that_of_the_crowds():
    looks, rng = np.arange(200, 2_601, 100), np.random.default_rng(1)
    spread = 0.3
    ours = np.broadcast_to(np.log(looks), (40, 25))
    other = np.log(looks) + spread * rng.standard_normal((40, 1))
    _, error = labels_ratio(looks, ours, other, place=18)
    assert_allclose(error, spread / np.sqrt(40), rtol=0.4)


@pytest.mark.process
@pytest.mark.slow
def test_active_benchmark_runs_in_parts(tmp_path, capsys):
    first, second = tmp_path / "one.json", tmp_path / "two.json"
    common = ["--scenarios", "few", "--crowds", "2", "--labels", "400"]
    assert active.main([*common, "--rules", "balanced", "--json", str(first)]) == 0
    assert active.main([*common, "--rules", "best", "--add", str(first), "--json", str(second)]) == 0
    shown = capsys.readouterr().out
    assert "best 10, 30% balanced" in shown
    assert len(json.loads(second.read_text())["found"]) == 4
    assert active.main(["--scenarios", "", "--add", str(second)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == shown.splitlines()[-4:]


def trace(expected, truly, rule="balanced"):
    labels = tuple(100 + 50 * place for place in range(len(expected)))
    return Trace(rule, 0, labels, {"best": tuple(expected)}, {"best": tuple(truly)}, "CrowdBT")


def test_false_done_is_counted_where_it_is_said():
    traces = [
        trace([0.5, 0.1, 0.1, 0.0], [0.6, 0.4, 0.4, 0.0]),  # said at 200 labels, too early
        trace([0.5, 0.1, 0.1, 0.0], [0.6, 0.4, 0.2, 0.0]),  # at 200 labels, rightly
        trace([0.5, 0.4, 0.3, 0.3], [0.6, 0.4, 0.2, 0.0]),  # never
    ]
    assert stopping.false_rate(traces, "best", 0.2, 0.1) == (1, 2, 200.0)
    n_false, n_said, labels = stopping.false_rate(traces, "best", 0.2, 0.002)
    assert (n_false, n_said) == (0, 0)
    assert np.isnan(labels)


@pytest.mark.process
@pytest.mark.slow
def test_stopping_benchmark_goes_on_where_it_was_stopped(tmp_path, capsys):
    file, table = tmp_path / "projects.jsonl", tmp_path / "errors.json"
    common = ["--seed", "3", "--fits", "BradleyTerry", "--keep", str(file)]
    assert stopping.main([*common, "--projects", "1"]) == 0
    kept = file.read_text()
    assert [json.loads(line)["rule"] for line in kept.splitlines()] == ["balanced", "whole"]
    assert stopping.main([*common, "--projects", "2", "--table", str(table)]) == 0
    assert file.read_text().startswith(kept)
    assert len(file.read_text().splitlines()) == 4
    shown = capsys.readouterr().out
    assert "reliability" in shown
    assert "too few to say" in shown
    rows = json.loads(table.read_text())["rows"]
    assert {(row["n_projects"], row["adaptive"]) for row in rows} == {(2, False), (2, True)}
    assert all(0 <= row["n_false"] <= row["n_said"] <= 2 for row in rows)
    assert stopping_error("reliability", "BradleyTerry", adaptive=True, table=table) is None


@pytest.mark.slow
def test_a_fit_is_looked_at_where_anything_is_near():
    """CrowdBT is not fitted where the quick fit is far from every goal, and says then that nothing is done."""
    one, plain = simulate("balanced", 5, ("CrowdBT", "BradleyTerry"))
    assert one.labels == plain.labels
    assert np.isfinite(plain.expected["width"]).all()
    fitted = np.isfinite(one.expected["width"])
    assert fitted.any()
    assert (np.isfinite(one.truly["width"]) == fitted).all()
