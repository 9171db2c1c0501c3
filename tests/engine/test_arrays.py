"""Reading what a caller gave: every wrong shape, type or size is InvalidData that names row and value."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.arrays import raising, read_covariance, read_deviations, read_number, read_values
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting
from tests.cases import each_case

PAIRS: dict[str, Any] = {
    "left": [0, 1],
    "right": [1, 2],
    "outcome": [1, 0],
    "annotators": [0, 1],
    "weights": [1, 1],
    "n_items": 3,
    "n_annotators": 2,
    "item_features": [[0.0], [1.0], [2.0]],
    "annotator_features": [[0.0], [1.0]],
}
SETS = [[0, 1, 2], [1, 2, 3]]
DATA = Comparisons.from_pairs(**PAIRS)
READERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "from_pairs": (Comparisons.from_pairs, PAIRS),
    "from_top": (Comparisons.from_top, {"top": [[0], [1]], "sets": SETS}),
    "from_rankings": (Comparisons.from_rankings, {"rankings": SETS, "shown": SETS}),
    "from_choices": (Comparisons.from_choices, {"chosen": [0, 1], "sets": SETS}),
    "from_best_worst": (Comparisons.from_best_worst, {"best": [0, 1], "worst": [1, 2], "sets": SETS}),
    "from_ranks": (Comparisons.from_ranks, {"ranks": [[0, 1, 2], [0, 0, 1]], "sets": SETS}),
    "with_weights": (DATA.with_weights, {"weights": [1, 1]}),
    "subset": (DATA.subset, {"labels": [0]}),
    "annotator_subset": (DATA.annotator_subset, {"annotators": [0]}),
    "renamed": (DATA.renamed, {"permutation": [0, 2, 1]}),
}
NEVER: dict[str, Any] = {
    "ragged": [[0, 1], [2]],
    "nested": [[[0, 1]], [[1, 2]]],
    "nested and ragged": [[[0], [1, 2]], [[1], [2]]],
    "strings": ["a", "b"],
    "numbers as strings": ["0", "1"],
    "numbers as bytes": [b"0", b"1"],
    "a string among numbers": [0, "1"],
    "a list among numbers": [0, [[1]]],
    "an array among numbers": [0, np.array([[1, 2]])],
    "complex": [1 + 2j, 0j],
    "None among objects": np.array([0, None], dtype=object),
    "None among lists": [[0, None], [1, 2]],
    "an object": object(),
    "a dictionary": {0: 1, 1: 2},
    "a set": {0, 1},
    "a string": "ab",
    "dates": np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
    "nanoseconds": np.array([0, 1], dtype="datetime64[ns]"),
    "durations": np.array([1, 2], dtype="timedelta64[s]"),
    "records": np.array([(0, 1), (1, 2)], dtype=[("a", int), ("b", int)]),
    "masked": np.ma.masked_array([0, 1], mask=[0, 1]),
    "beyond float64": [0, 10**400],
    "not a number": [0.0, np.nan],
    "infinite": [0.0, np.inf],
}
WHOLE: dict[str, Any] = {
    "beyond int64": [0, 2**63],
    "beyond uint64": [0, 2**70],
    "unsigned beyond int64": np.array([0, 2**63 + 5], dtype=np.uint64),
    "a large float": [0.0, 1e30],
    "beyond the limit": [0, 10_000_000],
    "negative": [0, -1],
    "fractions": [Fraction(1, 2), Fraction(3, 2)],
}


def call(name: str, argument: str, value: Any) -> Any:
    function, given = READERS[name]
    return function(**{**given, argument: value})


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_array_of_numbers_is_refused_everywhere(name):
    with each_case() as case:
        for argument, kind in product(READERS[name][1], NEVER):
            if kind == "ragged" and argument == "top":
                continue  # a top may have any length
            with case(f"{argument} {kind}"):
                with pytest.raises(InvalidData) as caught:
                    call(name, argument, NEVER[kind])
                assert "inhomogeneous" not in str(caught.value), "not numpy's words"


@pytest.mark.parametrize("name", [name for name in READERS if name != "with_weights"])
def test_numbers_that_are_no_item_are_refused_everywhere(name):
    may_be_any = {"weights", "item_features", "annotator_features"}
    with each_case() as case:
        for argument, kind in product(READERS[name][1].keys() - may_be_any, WHOLE):
            with case(f"{argument} {kind}"), pytest.raises(InvalidData):
                call(name, argument, WHOLE[kind])


@pytest.mark.parametrize(
    ("argument", "value", "row", "found"),
    [
        ("left", [0, "1"], 1, "1"),
        ("left", np.array([0, None], dtype=object), 1, None),
        ("left", [0, [1]], 1, [1]),
        ("left", [0, 2**63], 1, 2.0**63),
        ("left", np.array([0, 2**63 + 5], dtype=np.uint64), 1, 2**63 + 5),
        ("annotators", [0, 1j], 1, 1j),
        ("outcome", [0, "1"], 1, "1"),
        ("weights", [1, 1e300], 1, 1e300),
        ("weights", [1e-300, 1], 0, 1e-300),
        ("weights", [1, -1], 1, -1.0),
        ("item_features", [[0.0], [1.0], ["x"]], 2, "x"),
        ("item_features", [[0.0], [1.0], [1e200]], 2, 1e200),
        ("item_features", [[0.0], [1.0, 2.0], [1.0]], 1, [1.0, 2.0]),
    ],
)
def test_the_error_names_row_and_value(argument, value, row, found):
    with pytest.raises(InvalidData, match=str(row)) as caught:
        call("from_pairs", argument, value)
    assert caught.value.row == row
    assert caught.value.value == found


@pytest.mark.parametrize(
    "sets", [[[0, 1], [2, "a"]], [[0, 1], [2, None]], [[0, 1], [2, 1j]], np.array([[0, 1], [2, None]], dtype=object)]
)
def test_the_error_names_the_label_of_a_set(sets):
    with pytest.raises(InvalidData, match="row 1") as caught:
        Comparisons.from_rankings(sets)
    assert caught.value.row == 1


def test_a_masked_set_is_refused_with_its_label():
    masked = np.ma.masked_array([[0, 1], [2, 3]], mask=[[0, 0], [0, 1]])
    with pytest.raises(InvalidData, match="row 1: rankings is masked"):
        Comparisons.from_rankings(masked)


@pytest.mark.parametrize("count", [-1, 2.5, np.nan, np.inf, "3", [3], True, 10**12, 1j])
def test_a_count_is_one_whole_number(count):
    with pytest.raises(InvalidData, match="n_items is"):
        Comparisons.from_pairs([], [], [], n_items=count)


def frozen(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values


def numbers() -> Iterator[Any]:
    yield np.array([0, 1], dtype=object)
    yield np.array([0, 1], dtype=np.uint64)
    yield np.array([0, 1], dtype=">i2")
    yield np.array([0, 1], dtype=np.float16)
    yield np.array([0, 1], dtype=np.longdouble)
    yield [np.int8(0), Decimal(1)]
    yield [Fraction(0), Fraction(1)]
    yield range(2)
    yield (0.0, 1)
    yield np.array([0, 9, 1, 9])[::2]
    yield np.array([1, 0])[::-1]
    yield frozen(np.array([0, 1]))
    yield np.ma.masked_array([0, 1], mask=[0, 0])


@pytest.mark.parametrize("left", list(numbers()), ids=lambda one: f"{type(one).__name__} {getattr(one, 'dtype', '')}")
def test_whole_numbers_of_any_type_and_layout_are_read(left):
    data = Comparisons.from_pairs(left, [1, 2], [1, 0])
    assert_array_equal(data.items[::2], [0, 1])
    assert data.items.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        data.items[0] = 5


def test_minus_zero_is_zero():
    plain = {"item_features": [[0.0], [1.0], [2.0]], "n_items": 3}
    turned = {"item_features": [[-0.0], [1.0], [2.0]], "n_items": 3}
    one = Comparisons.from_pairs([0.0, 1], [1, 2], [1, 0], weights=[0.0, 1], **plain)
    other = Comparisons.from_pairs([-0.0, 1], [1, 2], [1, -0.0], weights=[-0.0, 1], **turned)
    assert one.data_hash() == other.data_hash()


def test_a_mask_selects_labels_only_if_it_has_one_entry_for_each():
    assert DATA.subset([True, False]).n_labels == 1
    with pytest.raises(InvalidData, match="True or False for each"):
        DATA.subset([True])
    with pytest.raises(InvalidData, match="labels run from 0 to 1"):
        DATA.subset([2])


def test_only_comparisons_are_concatenated():
    with pytest.raises(InvalidData, match="part 1 is a list"):
        Comparisons.concatenate([DATA, [1]])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("read", "row", "value", "message"),
    [
        (lambda: read_values([1.0, np.inf], "means"), 1, np.inf, "finite and at most 1e"),
        (lambda: read_values([0.5, 2.0], "p", least=0.0, most=1.0), 1, 2.0, "from 0 to 1"),
        (lambda: read_values([[1.0]], "means"), None, None, r"shape \(1, 1\)"),
        (lambda: read_deviations([1.0, -1.0], "sd"), 1, -1.0, "give 0 or more"),
        (lambda: read_deviations([1.0, 0.0], "sd", above_zero=True), 1, 0.0, "above 0"),
        (lambda: read_deviations([1.0, 1e60], "sd"), 1, 1e60, "between 1e-50 and 1e"),
        (lambda: read_covariance(np.ones((2, 3)), "covariance"), None, None, "shape"),
        (lambda: read_covariance([[1.0, 0.0], [0.0, -1.0]], "covariance"), 1, -1.0, "a variance in covariance"),
        (lambda: read_covariance([[1.0, 2.0], [2.0, 1.0]], "covariance"), 0, 2.0, "symmetric"),
        (lambda: read_covariance([[1.0, 0.5], [0.0, 1.0]], "covariance"), 0, 0.5, "symmetric"),
        (lambda: read_number("a", "level", above=0.0, below=1.0), None, "a", "above 0 and below 1"),
        (lambda: read_number(1.0, "level", above=0.0, below=1.0), None, 1.0, "level is 1.0"),
    ],
)
def test_what_cannot_be_used_is_named_by_row_and_value(read, row, value, message):
    with pytest.raises(InvalidData, match=message) as caught:
        read()
    assert (caught.value.row, caught.value.value) == (row, value)
    with pytest.raises(InvalidSetting, match=message) as again, raising(InvalidSetting):
        read()
    assert (again.value.row, again.value.value) == (row, value)


def test_deviations_too_small_to_divide_by_count_as_known_exactly():
    assert read_deviations([1e-60, 0.0, 2.0], "sd").tolist() == [0.0, 0.0, 2.0]
    assert read_number(np.array(2), "n") == 2.0
