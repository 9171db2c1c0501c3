"""The benchmark of fits without a matrix over items."""

import re

import numpy as np
import pytest
from scipy.stats import norm

from models_engine.benchmarks.large import LargeTask, main, print_both
from models_engine.estimators.collaborative import sampled


def test_the_truth_is_judged_by_its_own_utilities():
    task = LargeTask.of(30, 8, 400, 3)
    pairs, losses = task.held_out.pairs(), []
    for left, right, outcome, who in zip(pairs.left, pairs.right, pairs.outcome, pairs.annotator, strict=True):
        own = task.crowd.own(int(who))
        chance = norm.cdf(own[left] - own[right])
        losses.append(-np.log(chance if outcome else 1 - chance))
    assert len(losses) == 8 * 50
    assert task.true_log_loss() == pytest.approx(np.mean(losses))


@pytest.mark.slow
def test_both_ways_are_printed_with_their_differences(capsys, monkeypatch):
    monkeypatch.setattr(sampled, "MAX_ITEMS", 30)  # of more the fit with a matrix is by EP, as that of a large crowd
    print_both(LargeTask.of(60, 8, 300, 3))
    shown = capsys.readouterr().out
    found = re.findall(r"consensus (\S+), own (\S+); held-out log loss (\S+) ", shown)
    assert len(found) == 2
    dense, sparse = np.array(found, dtype=float)
    told = re.search(r"without less with: consensus (\S+), own (\S+), log loss (\S+)", shown)
    assert told is not None
    error = np.abs(np.array(told.groups(), dtype=float) - (sparse - dense))
    assert (error < [0.0011, 0.0011, 0.00011]).all()  # of what is rounded three times


def test_a_matrix_over_too_many_items_is_refused_beforehand(capsys):
    with pytest.raises(SystemExit):
        main(["--items", "5001", "--beside-dense"])
    assert "at most 5,000 items" in capsys.readouterr().err
