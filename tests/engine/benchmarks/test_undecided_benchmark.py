"""Ties by annotator and item: counted by hand, and the floors on real labels."""

import numpy as np
import pytest

from models_engine.analysis.undecided import count_ties
from models_engine.benchmarks.undecided import FLOORS, alike, run
from models_engine.data import Comparisons
from tests.paths import DATA


def test_ties_are_counted_on_each_item_shown():
    data = Comparisons.from_pairs([0, 0, 1, 0], [1, 1, 2, 1], [0.5, 1, 0.5, 0.5], [0, 0, 1, 0], n_items=3)
    cells = count_ties(data)
    found = {
        (int(i), int(u)): (n, e)
        for i, u, n, e in zip(cells.items, cells.annotators, cells.counts, cells.exposures, strict=True)
    }
    assert found == {(0, 0): (2, 3), (1, 0): (2, 3), (1, 1): (1, 1), (2, 1): (1, 1)}
    merged = alike(cells)
    assert (list(merged.counts), list(merged.exposures)) == ([4, 2], [6, 2])


def test_labels_of_no_weight_and_answers_with_an_order_are_no_ties():
    data = Comparisons.from_pairs([0, 0], [1, 1], [0.5, 1.0], [0, 0], weights=[0.0, 1.0])
    assert list(count_ties(data).counts) == [0, 0]
    assert list(count_ties(data).exposures) == [1, 1]
    three = Comparisons.from_ranks([[0, 1, 1], [0, 0, 0]], [[0, 1, 2]] * 2, np.array([0, 0]))
    assert list(count_ties(three).counts) == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "llmfao" / "comparisons.csv.gz").is_file(), reason=f"the LLMFAO data are not in {DATA}")
def test_effects_of_both_predict_who_is_undecided_on_what():
    row = run("llmfao", DATA, 1)
    assert row.effects <= FLOORS["llmfao"]
    assert row.effects < row.own_rate < row.one_rate
