"""Comparisons: what labels imply, counts, parts, copies, and the errors of bad input."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from tests.budget import examples
from tests.engine.simulated_data import labels_of_every_kind


def best_of(k: int) -> Comparisons:
    return Comparisons.from_choices([0], [range(k)])


def best_worst(k: int) -> Comparisons:
    return Comparisons.from_best_worst([0], [k - 1], [range(k)])


def ranking(k: int) -> Comparisons:
    return Comparisons.from_rankings([range(k)])


@pytest.mark.parametrize("k", range(2, 11))
def test_composite_weights_match_the_documented_formulas(k):
    table = [
        (best_of(k), k - 1, 2 / k),
        (ranking(k), k * (k - 1) // 2, 3 / (k + 1)),
        (best_worst(k), 2 * k - 3, (2 * k - 3) / (k - 1) ** 2),
    ]
    for data, n_pairs, weight in table:
        pairs = data.pairs()
        assert len(pairs) == n_pairs
        assert_allclose(pairs.weight, weight)


@pytest.mark.parametrize("make", [best_of, best_worst, ranking])
def test_composite_weight_makes_curvature_equal_score_variance_at_equal_utilities(make):
    """Over all orders of five items: E[s s'] = -E[ds/df] in trace, s the weighted pairs' logistic score at f = 0."""
    template = make(5).pairs()
    scores, curvature = [], 0.0
    for order in itertools.permutations(range(5)):
        score = np.zeros(5)
        for left, right, outcome, weight in zip(
            template.left, template.right, template.outcome, template.weight, strict=True
        ):
            score[order[left]] += weight * (outcome - 0.5)
            score[order[right]] -= weight * (outcome - 0.5)
            curvature += 2 * weight / 4 / 120
        scores.append(score)
    assert np.mean(np.square(scores), axis=0).sum() == pytest.approx(curvature)


def log_plackett_luce(order, f) -> float:
    f = f[list(order)]
    return sum(f[place] - np.log(np.exp(f[place:]).sum()) for place in range(len(f)))


def log_probability(data: Comparisons, f: np.ndarray) -> float:
    """Through the stages, as an estimator adds them up."""
    return sum(
        float(stage.weight @ (f[stage.winner] - np.log(np.exp(f[stage.items]).sum(axis=1)))) for stage in data.stages()
    )


def test_stages_of_choices_tops_and_rankings_are_exact():
    f = np.random.default_rng(0).normal(size=6)
    shown = [4, 1, 5, 2]
    cases = [
        (Comparisons.from_rankings([[1, 4, 2, 5]], n_items=6), lambda order: order == (1, 4, 2, 5)),
        (Comparisons.from_top([[1, 4]], [shown], n_items=6), lambda order: order[:2] == (1, 4)),
        (Comparisons.from_choices([5], [shown], n_items=6), lambda order: order[0] == 5),
        (
            Comparisons.from_best_worst([5], [1], [[4, 1, 5]], n_items=6),
            lambda order: [item for item in order if item != 2] == [5, 4, 1],
        ),
    ]
    for data, agrees in cases:
        orders = [order for order in itertools.permutations(shown) if agrees(order)]
        total = sum(np.exp(log_plackett_luce(order, f)) for order in orders)
        assert log_probability(data, f) == pytest.approx(np.log(total))


def test_stages_of_a_tie_and_of_best_worst():
    tie = Comparisons.from_pairs([0], [1], [0.5]).stages()
    assert [stage.items.tolist() for stage in tie] == [[[0, 1], [1, 0]]]
    assert_allclose(tie[0].weight, 0.5)
    pairs, whole = Comparisons.from_best_worst([2], [0], [[0, 1, 2, 3]]).stages()
    assert whole.items.tolist() == [[2, 1, 3, 0]]
    assert sorted(map(tuple, pairs.items.tolist())) == [(1, 0), (3, 0)]
    assert_allclose(pairs.weight, 2 / 3)


def test_pairs_keep_sides_annotators_and_weights():
    data = Comparisons.from_pairs([3, 0, 1], [1, 2, 0], [1, 0.5, 0], [2, 0, 2], weights=[1, 2, 0.5])
    pairs = data.pairs()
    for name, expected in (
        ("left", [3, 0, 1]),
        ("right", [1, 2, 0]),
        ("outcome", [1, 0.5, 0]),
        ("annotator", [2, 0, 2]),
        ("weight", [1, 2, 0.5]),
        ("label", [0, 1, 2]),
    ):
        assert_array_equal(getattr(pairs, name), expected)
    assert (data.n_items, data.n_annotators) == (4, 3)


def test_order_shown_is_kept_where_known():
    shown = Comparisons.from_rankings([[2, 0, 1]], shown=[[1, 0, 2]])
    assert shown.items.tolist() == [1, 0, 2]
    assert shown.ranks.tolist() == [2, 1, 0]
    assert shown.positions.tolist() == [0, 1, 2]
    unknown = Comparisons.from_rankings([[2, 0, 1]])
    assert unknown.positions.tolist() == [-1, -1, -1]
    assert unknown.items.tolist() == [0, 1, 2], "stored by number, not by answer"


def test_distinct_pairs_sum_both_directions():
    data = Comparisons.from_pairs([0, 1, 1, 0, 2], [1, 0, 0, 1, 0], [1, 1, 0, 0.5, 1], weights=[1, 2, 4, 8, 16])
    distinct = data.pairs().distinct()
    assert list(zip(distinct.low, distinct.high, strict=True)) == [(0, 1), (0, 2)]
    assert_allclose(distinct.wins_low, [5, 0])
    assert_allclose(distinct.wins_high, [2, 16])
    assert_allclose(distinct.ties, [8, 0])
    assert_allclose(distinct.score + 0.5 * distinct.ties + distinct.wins_high, distinct.total)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.booleans()), max_size=20))
def test_connected_parts_against_repeated_merging(n_items, rows):
    rows = [(a % n_items, b % n_items, counts) for a, b, counts in rows if a % n_items != b % n_items]
    left, right, counts = zip(*rows, strict=True) if rows else ((), (), ())
    data = Comparisons.from_pairs(left, right, [1] * len(rows), weights=np.array(counts, float), n_items=n_items)
    names = list(range(n_items))
    for a, b, counted in rows:
        if counted:
            names = [names[a] if name == names[b] else name for name in names]
    parts = data.connected_parts()
    assert [[parts[i] == parts[j] for i in range(n_items)] for j in range(n_items)] == [
        [names[i] == names[j] for i in range(n_items)] for j in range(n_items)
    ]
    sizes = np.bincount(parts)
    assert (np.diff(sizes) <= 0).all(), "the largest part is number 0"
    expected = [sum(counted and i in (a, b) for a, b, counted in rows) for i in range(n_items)]
    assert_array_equal(data.n_comparisons(), expected)


def test_renaming_and_back_is_the_same_data():
    data = labels_of_every_kind()
    new = np.random.default_rng(1).permutation(data.n_items)
    renamed = data.renamed(new)
    assert renamed.data_hash() != data.data_hash()
    assert renamed.renamed(np.argsort(new)).data_hash() == data.data_hash()
    assert_array_equal(renamed.item_features[new], data.item_features)


def test_subsets_and_concatenation_are_inverse():
    data = labels_of_every_kind()
    half = np.arange(data.n_labels) % 2 == 0
    whole = Comparisons.concatenate([data.subset(half), data.subset(np.flatnonzero(~half))])
    order = np.concatenate([np.flatnonzero(half), np.flatnonzero(~half)])
    assert whole.data_hash() == data.subset(order).data_hash()
    own = data.annotator_subset([1, 3])
    assert set(own.annotators) == {1, 3}
    assert own.n_labels == np.isin(data.annotators, [1, 3]).sum()
    assert own.n_annotators == data.n_annotators


def test_the_hash_depends_on_all_content_and_nothing_else():
    data = labels_of_every_kind()
    again = labels_of_every_kind()
    assert again.data_hash() == data.data_hash()
    seen = {data.data_hash(), data.with_weights(np.full(data.n_labels, 2.0)).data_hash()}
    seen |= {data.subset(np.arange(data.n_labels)[::-1]).data_hash(), labels_of_every_kind(1).data_hash()}
    assert len(seen) == 4


def test_arrays_are_read_only_copies():
    left, features = np.array([0, 1]), np.zeros((3, 2))
    data = Comparisons.from_pairs(left, [1, 2], [1, 0], item_features=features)
    left[0], features[0, 0] = 2, 9.0
    assert data.items[0] == 0
    assert data.item_features[0, 0] == 0
    for name in ("starts", "items", "ranks", "positions", "annotators", "weights", "item_features"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[:1] = 0


PAIR = {"left": [0, 1], "right": [1, 2], "outcome": [1, 0]}
BAD = [
    (lambda: Comparisons.from_pairs([0, 1], [1, 1], [1, 1]), 1, 1, "compared with itself"),
    (lambda: Comparisons.from_pairs(**PAIR, n_items=2), 1, 2, r"0 to 1 \(n_items=2\)"),
    (lambda: Comparisons.from_pairs([0, -1], [1, 2], [1, 0]), 1, -1, "0 or more"),
    (lambda: Comparisons.from_pairs([0, 1.5], [1, 2], [1, 0]), 1, 1.5, "whole number"),
    (lambda: Comparisons.from_pairs([0, np.nan], [1, 2], [1, 0]), 1, None, "whole number"),
    (lambda: Comparisons.from_pairs(["a"], ["b"], [1]), 0, "a", "numbers"),
    (lambda: Comparisons.from_pairs([0, 1], [1, 2], [1, 0.7]), 1, 0.7, "tie"),
    (lambda: Comparisons.from_pairs([0, 1], [1, 2], [1, np.nan]), 1, None, "tie"),
    (lambda: Comparisons.from_pairs([0, 1], [1, 2], [1]), None, None, "one outcome per pair"),
    (lambda: Comparisons.from_pairs([0, 1], [1], [1, 0]), None, None, "one of each"),
    (lambda: Comparisons.from_pairs(**PAIR, annotators=[0]), None, None, "one annotator per label"),
    (lambda: Comparisons.from_pairs(**PAIR, annotators=[0, 4], n_annotators=3), 1, 4, "annotator numbers"),
    (lambda: Comparisons.from_pairs(**PAIR, weights=[1, -2]), 1, -2.0, "0 or more"),
    (lambda: Comparisons.from_pairs(**PAIR, weights=[np.inf, 1]), 0, np.inf, "finite"),
    (lambda: Comparisons.from_pairs(**PAIR, weights=[1, np.nan]), 1, None, "finite"),
    (lambda: Comparisons.from_pairs(**PAIR, weights=[1]), None, None, "one weight per label"),
    (lambda: Comparisons.from_pairs([], [], []), None, 0, "no items"),
    (lambda: Comparisons.from_pairs([], [], [], n_items=0), None, 0, "no items"),
    (lambda: Comparisons.from_pairs(**PAIR, item_features=[[0], [1], [np.inf]]), 2, np.inf, "row 2, column 0"),
    (lambda: Comparisons.from_pairs(**PAIR, n_items=3, item_features=[[0]]), None, None, r"shape \(3, n_features\)"),
    (lambda: Comparisons.from_rankings([[0, 1], []]), 1, None, "empty"),
    (lambda: Comparisons.from_rankings([[0, 1], [2]]), 1, None, "one item"),
    (lambda: Comparisons.from_rankings([[0, 1], [2, 1, 2]]), 1, 2, "twice"),
    (lambda: Comparisons.from_rankings([[0, 1]], shown=[[0, 2]]), 0, 1, "not among the items shown"),
    (lambda: Comparisons.from_choices([5], [[0, 1]]), 0, 5, "not among the items shown"),
    (lambda: Comparisons.from_top([[0, 0]], [[0, 1, 2]]), 0, 0, "ranked twice"),
    (lambda: Comparisons.from_top([[]], [[0, 1, 2]]), 0, None, "no item was chosen"),
    (lambda: Comparisons.from_best_worst([0], [0], [[0, 1, 2]]), 0, 0, "both best and worst"),
    (lambda: Comparisons.from_best_worst([0], [7], [[0, 1, 2]]), 0, 7, "not in its set"),
]


@pytest.mark.parametrize(("make", "row", "value", "message"), BAD)
def test_bad_input_is_rejected_with_row_and_value(make, row, value, message):
    with pytest.raises(InvalidData, match=message) as caught:
        make()
    assert caught.value.row == row
    if value is not None:
        assert caught.value.value == value


def test_a_mistyped_option_is_rejected():
    with pytest.raises(TypeError, match="unknown option 'weight'"):
        Comparisons.from_pairs([0], [1], [1], weight=[2])
