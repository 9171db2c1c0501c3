"""What is expected before the start: the stored table against fresh simulations, interpolation, bad input."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.expected_quality import TABLE, expected_quality, largest_size
from models_engine.analysis.plan_design import Design, expected_reliability, pairs_per_answer
from models_engine.benchmarks import expected
from models_engine.benchmarks.__main__ import COMMANDS
from models_engine.errors import InvalidDesign


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "size"), [("whole", 0), ("best", 5), ("classes", 3)])
def test_the_stored_means_are_what_other_crowds_give(goal, size):
    """12 crowds on other seeds: means of 20 items within four standard errors of both, at every number of answers."""
    (fresh,) = expected.measure(20, [(goal, size)], 12, first_seed=90_000)
    told = expected_quality(20, goal, size)
    for name in ("balanced", "chosen"):
        low, mean, high = np.array(fresh[name]).T
        stored = getattr(told, name)[:, 1]
        error = (high - low) / (2 * 1.645) * np.sqrt(1 / 12 + 1 / 100)
        assert (np.abs(mean - stored) <= 4 * error + 0.005).all()


def test_between_two_simulated_sizes_the_curves_lie_between_theirs():
    small, large, middle = (expected_quality(n, "whole") for n in (40, 80, 57))
    assert_allclose(middle.n_pairs, small.n_pairs * 57 / 40)
    for name in ("balanced", "chosen"):
        ends = np.sort([getattr(small, name), getattr(large, name)], axis=0)
        assert (ends[0] - 1e-12 <= getattr(middle, name)).all()
        assert (getattr(middle, name) <= ends[1] + 1e-12).all()
    assert not middle.is_scaled


def test_a_simulated_size_is_the_row_of_the_table():
    row = next(
        row
        for row in json.loads(TABLE.read_text())["rows"]
        if (row["n_items"], row["goal"], row["size"]) == (80, "best", 5)
    )
    found = expected_quality(80, "best", 5)
    assert_allclose(found.balanced, row["balanced"])
    assert_allclose(found.chosen, row["chosen"])


def test_beyond_the_table_it_is_the_nearest_with_as_many_answers_per_item():
    most = largest_size()
    large = expected_quality(5 * most, "best", 50)  # the same share of the items
    assert large.is_scaled
    assert_allclose(large.balanced, expected_quality(most, "best", 10).balanced)
    assert large.n_pairs[0] == 5 * most
    assert expected_quality(3, "whole").is_scaled


def test_more_answers_are_better_and_low_is_below_high():
    for n_items in expected.BEST:
        for goal, size in (("whole", 0), ("best", 5), ("classes", 3)):
            found = expected_quality(n_items, goal, size)
            for values in (found.balanced, found.chosen):
                assert (values[:, 0] <= values[:, 1]).all()
                assert (values[:, 1] <= values[:, 2]).all()
                assert values[-1, 1] > values[0, 1] + 0.1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((1, "whole"), "n_items is 1; give 2 or more"),
        ((10, "best", 0), "size is 0; give 1 or more"),
        ((10, "classes", 1), "size is 1; give 2 or more"),
        ((10, "top", 1), "goal 'top' is unknown"),
    ],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises(InvalidDesign, match=words):
        expected_quality(*given)


@pytest.mark.parametrize(("kind", "k"), [("choices", 5), ("best_worst", 4), ("rankings", 4), ("pairs", 2)])
def test_an_answer_to_a_set_is_worth_as_many_pairs_as_give_the_same_reliability(kind, k):
    answers = round(100 * pairs_per_answer(kind, k))
    of_sets = expected_reliability(Design(40, 10, 10, kind, k))
    of_pairs = expected_reliability(Design(40, 1, answers))
    assert of_sets == pytest.approx(of_pairs, abs=0.01)


@pytest.mark.slow
@pytest.mark.process
def test_the_command_makes_such_a_table(tmp_path, capsys):
    path = tmp_path / "table.json"
    assert COMMANDS["expected"][0](["--items", "20", "--crowds", "1", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["rows"]
    assert [(row["goal"], row["size"]) for row in rows] == [
        ("whole", 0),
        *(("best", k) for k in expected.BEST[20]),
        *(("classes", n) for n in expected.CLASSES),
    ]
    assert {len(row["chosen"]) for row in rows} == {len(expected.PER_ITEM)}
    assert "balanced" in capsys.readouterr().out
