"""The benchmark of competitors: readers by hand, the error of halves by Monte Carlo, and floors where the data are."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.benchmarks.__main__ import main as benchmarks
from models_engine.benchmarks.competitor_data import pool_contexts, read_contest
from models_engine.benchmarks.competitors import OURS, POOLED, measure_halves, measure_held_out, shared_prior_errors
from models_engine.covariance.forms import DenseCovariance
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.posterior import GaussianPosterior
from models_engine.summaries import Diagnostics
from tests.paths import DATA


def written(path: Path, rows: list[list]) -> None:
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", newline="") as file:
        csv.writer(file).writerows(rows)


def test_readers_number_items_by_context_and_competitor(tmp_path):
    header = ["task", "judge", "segment", *(f"item{k}" for k in range(1, 6)), *(f"place{k}" for k in range(1, 6))]
    written(tmp_path / "wmt13_fr_en" / "rankings.csv.gz", [header, [0, 1, 2, 4, 3, 2, 1, 0, 2, 2, 4, 5, 4]])
    one = read_contest("wmt13_fr_en", tmp_path)
    assert one.data.items.tolist() == [14, 13, 12, 11, 10]
    assert one.data.ranks.tolist() == [0, 0, 1, 2, 1], "places may skip"
    assert_array_equal(one.table.context[one.data.items], 2)
    assert (pool_contexts(one).pairs().outcome == 0.5).sum() == 2
    rows = [["task", "prompt", "worker", "left", "right", "winner"], [0, 8, 1, 0, 2, "tie"], [0, 5, 1, 1, 0, "right"]]
    written(tmp_path / "llmfao" / "comparisons.csv.gz", rows)
    one = read_contest("llmfao", tmp_path)
    assert one.context.tolist() == [1, 0], "prompts are numbered in order"
    assert one.data.items.tolist() == [3, 5, 1, 0]
    assert one.data.pairs().outcome.tolist() == [0.5, 0.0]
    assert one.part(np.array([True, False])).data.n_labels == 1
    with pytest.raises(InvalidData, match="llmfao data"):
        read_contest("llmfao", tmp_path / "nowhere")
    with pytest.raises(InvalidSetting, match="no set 'x'"):
        read_contest("x", tmp_path)


def test_the_error_between_halves_is_that_of_two_shrunk_means():
    """Truth, two noisy looks at it, and the posterior mean of each, many times."""
    rng, n, prior = np.random.default_rng(0), 4, 0.8
    noises = [np.diag([0.3, 0.5, 0.9, 0.4]), 0.2 * np.eye(n) + 0.1]
    truth = prior * rng.standard_normal((200_000, n))
    means, posteriors = [], []
    for noise in noises:
        seen = truth + rng.multivariate_normal(np.zeros(n), noise, size=len(truth))
        gain = prior**2 * np.linalg.inv(prior**2 * np.eye(n) + noise)
        means.append(seen @ gain.T)
        covariance = prior**2 * np.eye(n) - gain * prior**2
        done = Diagnostics(True, 1, (0.0,), 0.0, "")
        posteriors.append(GaussianPosterior(np.zeros(n), DenseCovariance(covariance), done, prior_sd=prior))
    assert_allclose(shared_prior_errors(*posteriors), (means[0] - means[1]).std(axis=0), rtol=0.01)


@pytest.mark.process
def test_the_command_runs_on_simulations(capsys):
    assert benchmarks(["competitors", "--parts", "simulated", "--crowds", "2"]) == 0
    assert OURS in capsys.readouterr().out
    assert benchmarks(["competitors", "--parts", "colours"]) == 2


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "llmfao").is_dir(), reason=f"the llmfao data are not in {DATA}; set CROWDRANK_DATA")
def test_on_prompts_left_out_and_between_halves_of_prompts_llmfao():
    one = read_contest("llmfao", DATA)
    losses = {row.predictor: row for row in measure_held_out(one, None, 0)}
    assert losses[OURS].untied <= losses[POOLED].untied
    assert losses[OURS].answers <= losses[POOLED].answers
    found = {row.estimator: row for row in measure_halves(one, 6, 0)}
    assert 0.85 <= found[OURS].coverage <= 0.95
    assert found[POOLED].coverage < 0.75


@pytest.mark.slow
@pytest.mark.large  # what the test above asks of halves, of eighty thousand pairs and twelve fits to them
@pytest.mark.skipif(not (DATA / "wmt13_fr_en").is_dir(), reason=f"wmt13_fr_en is not in {DATA}; set CROWDRANK_DATA")
def test_between_halves_of_segments_wmt13():
    found = {row.estimator: row for row in measure_halves(read_contest("wmt13_fr_en", DATA), 6, 0)}
    assert 0.85 <= found[OURS].coverage <= 0.95
    assert found[POOLED].coverage < 0.8
