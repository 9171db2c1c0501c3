"""The benchmarks of choosing questions and of stopping: their arithmetic on made-up curves, and a small run of each."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.benchmarks import active, stopping
from models_engine.benchmarks.label_ratio import labels_ratio


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
    return stopping.Trace(rule, 0, labels, {"best": tuple(expected)}, {"best": tuple(truly)})


def test_false_done_is_counted_where_it_is_said():
    traces = [
        trace([0.5, 0.1, 0.1, 0.0], [0.6, 0.4, 0.4, 0.0]),  # said at 200 labels, too early
        trace([0.5, 0.1, 0.1, 0.0], [0.6, 0.4, 0.2, 0.0]),  # at 200 labels, rightly
        trace([0.5, 0.4, 0.3, 0.3], [0.6, 0.4, 0.2, 0.0]),  # never
    ]
    assert stopping.false_rate(traces, "best", 0.2, 0.5) == (0.5, 2, 200.0)
    rate, said, labels = stopping.false_rate(traces, "best", 0.2, 0.01)
    assert (rate, said) == (0.0, 0)
    assert np.isnan(labels)


@pytest.mark.process
@pytest.mark.slow
def test_stopping_benchmark_runs_in_parts(tmp_path, capsys):
    file = tmp_path / "traces.json"
    assert stopping.main(["--projects", "2", "--rules", "balanced", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("1 and 1 traces")
    assert shown.count("reliability") >= 4
    assert stopping.main(["--rules", "", "--add", str(file)]) == 0
    assert capsys.readouterr().out == shown
