"""The benchmark of rankings from counts: what it counts as right, and that effects beat totals where people differ."""

import numpy as np
import pytest

from models_engine.benchmarks.plays import WORLDS, held_out, predicted, share_right, simulate
from models_engine.inference.counts.cells import CountCells


def test_a_pair_is_right_where_scores_order_it_alike():
    cells = CountCells.from_rows([0, 1, 2, 0, 1], [0, 0, 0, 1, 1], [5, 3, 3, 2, 2])
    assert share_right(cells, np.array([2.0, 1.0, 0.0])).tolist() == [1.0]  # of two annotators one counted unequally
    assert share_right(cells, np.array([0.0, 1.0, 1.0])).tolist() == [0.0]
    assert share_right(cells, np.zeros(3)).tolist() == [0.5]


@pytest.mark.slow
def test_effects_of_both_predict_what_is_held_out_better_than_items_alone():
    cells = simulate(WORLDS[0], 0)[0]
    both, items, one = predicted(cells)
    assert items.behind > 2 * items.sd > 0
    assert one.behind > items.behind
    assert [row.behind for row in held_out(cells)[:1]] == [0]
    assert both.behind == 0
