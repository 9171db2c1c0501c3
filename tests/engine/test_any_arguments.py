"""Whatever Comparisons is built of, well-formed or not: whole arrays come of it, or an error that the engine names.

Never numpy's own errors or warnings. `make test-search` tries 2,000 for each of the six calls, 12,000 in all.
"""

from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models_engine.data import Comparisons
from models_engine.errors import EngineError
from tests.budget import examples

EXAMPLES = examples(100)

SCALARS = st.one_of(
    st.integers(-2, 7),
    st.sampled_from([2**31, 2**63, 2**64, -(2**63) - 1, 10**400]),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.5, 1e-320, 1e308, float("nan"), float("inf"), -float("inf")]),
    st.sampled_from(
        [True, None, "", "a", "1", b"1", 1j, complex("nan"), Decimal("NaN"), Decimal("1e999"), Fraction(1, 3)]
    ),
    st.sampled_from([datetime(2026, 1, 1), object(), {}, {"a": 1}, {1, 2}, ..., int, np.float16("inf")]),
)
TYPES = ["?", "i1", "u8", "f2", "f4", "f8", "g", "c8", "U3", "S3", "O", "M8[s]", "m8[s]", "i4,f8", ">i4"]


@st.composite
def arrays(draw) -> np.ndarray:
    """Of any type and shape, nothing in it or zeros and ones."""
    shape = draw(st.sampled_from([(), (0,), (1,), (3,), (2, 2), (3, 2), (0, 3), (2, 1, 2)]))
    values = np.zeros(shape) if draw(st.booleans()) else np.arange(np.prod(shape)).reshape(shape) % 3
    return values.astype(draw(st.sampled_from(TYPES)))


ANYTHING = st.recursive(
    SCALARS | arrays(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.integers(0, 3), inner, max_size=2)
    ),
    max_leaves=8,
)
NUMBERS = st.lists(st.integers(0, 3), min_size=1, max_size=4)
SETS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True), min_size=1, max_size=4)
# Half of what is given is near what is wanted, so that not all ends at the first argument.
ARGUMENT = st.one_of(NUMBERS, SETS, ANYTHING)
OPTIONS = {
    "annotators": ARGUMENT,
    "weights": st.lists(st.sampled_from([0.0, 1.0, -0.0, 1e300, float("nan")]), max_size=4) | ANYTHING,
    "n_items": st.integers(-1, 6) | SCALARS,
    "n_annotators": st.integers(-1, 6) | SCALARS,
    "item_features": ANYTHING,
    "annotator_features": ANYTHING,
    "grades": ARGUMENT,
    "n_grades": st.integers(-1, 6) | SCALARS,
    "tied": st.booleans() | ARGUMENT,
    "shown": ARGUMENT,
}
MAKERS = {
    "from_pairs": 3,
    "from_top": 2,
    "from_rankings": 1,
    "from_choices": 2,
    "from_best_worst": 3,
    "from_ranks": 2,
}


def built(make: Any, *given_: Any, **options: Any) -> Comparisons | None:
    refusals = (EngineError, TypeError) if "shown" in options else EngineError  # which one call alone has
    try:
        data = make(*given_, **options)
    except refusals:
        return None
    check_whole(data)
    return data


def check_whole(data: Comparisons) -> None:
    n = data.n_labels
    assert data.items.dtype == data.ranks.dtype == data.annotators.dtype == np.int64
    assert len(data.starts) == n + 1
    assert data.starts[-1] == len(data.items) == len(data.ranks) == len(data.positions)
    assert len(data.annotators) == len(data.weights) == n
    assert np.isfinite(data.weights).all()
    assert (data.weights >= 0).all()
    if n:
        assert 0 <= data.items.min() <= data.items.max() < data.n_items
        assert 0 <= data.annotators.min() <= data.annotators.max() < data.n_annotators
        assert (data.ranks >= 0).all()
    for features, rows in ((data.item_features, data.n_items), (data.annotator_features, data.n_annotators)):
        assert features is None or (len(features) == rows and np.isfinite(features).all())
    assert len(data.data_hash()) > 10
    assert len(data.connected_parts()) == data.n_items


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
@settings(deadline=None, max_examples=EXAMPLES)
@given(values=st.data())
def test_any_arguments_give_whole_arrays_or_a_named_error(name, values):
    arguments = [values.draw(ARGUMENT) for _ in range(MAKERS[name])]
    options = values.draw(st.fixed_dictionaries({}, optional=OPTIONS))
    data = built(getattr(Comparisons, name), *arguments, **options)
    if data is not None:
        for change in ("renamed", "subset", "annotator_subset", "with_weights"):
            built(getattr(data, change), values.draw(ARGUMENT))
