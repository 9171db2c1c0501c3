"""Whatever estimators are set to, crowds are drawn with, times are counted by or files hold: a result or a named error.

Never numpy's own errors or warnings. `make test-search` tries twenty times as many examples of each.
"""

from contextlib import suppress
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models_engine.errors import EngineError, InvalidSetting
from models_engine.estimators.settings import build_estimator, parse_settings
from models_engine.estimators.table import ESTIMATORS
from models_engine.forecast import draw_needed
from models_engine.io.label_tables import read_features, read_labels
from models_engine.rates import RateModel
from models_engine.sessions import find_sessions
from models_engine.simulate import competition, simulate_crowd
from tests.budget import examples
from tests.engine.analysis.test_any_analysis_arguments import ARRAY, COUNTS, NUMBER, mostly
from tests.engine.test_any_arguments import ANYTHING

EXAMPLES = examples(20)
SIZES = mostly(st.integers(2, 4), st.sampled_from([0, 1, -1, 2**40]))
SPREADS = mostly(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([-1.0, float("nan"), float("inf"), 1e300]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
@settings(deadline=None, max_examples=EXAMPLES)
@given(values=st.data())
def test_an_estimator_has_settings_it_can_use_or_names_what_is_wrong(name, values):
    estimator = ESTIMATORS[name].estimator
    known = [one.name for one in fields(estimator)]
    given_ = {one: values.draw(ANYTHING) for one in values.draw(st.lists(st.sampled_from(known), max_size=3))}
    for make in (lambda: estimator(**given_), lambda: build_estimator(estimator, given_)):
        try:
            made = make()
        except EngineError:
            continue
        assert isinstance(made, estimator)
    with suppress(InvalidSetting):
        parse_settings(estimator, [f"{key}={value}" for key, value in given_.items()])


def draw_crowd(*numbers: Any) -> Any:
    n_items, n_annotators, spread, taste, side, tie = numbers
    rng = np.random.default_rng(0)
    crowd = simulate_crowd(rng, n_items, n_annotators, utility_sd=spread, taste_sd=taste, side_sd=side, tie=tie)
    return crowd.pairs(5, rng).items


CALLS: dict[str, tuple[Any, list[Any]]] = {
    "simulate_crowd": (draw_crowd, [SIZES, SIZES, SPREADS, SPREADS, SPREADS, SPREADS]),
    "competition": (lambda *n: competition(np.random.default_rng(0), *n).items, [SIZES, SIZES, SIZES]),
    "find_sessions": (lambda *a: find_sessions(*a).begun, [ARRAY, COUNTS, NUMBER]),
    "draw_needed": (draw_needed, [NUMBER, NUMBER, st.none() | NUMBER, SIZES]),
    "RateModel": (
        lambda hours, counts, exposure: RateModel(hours, n_hyper=2, max_evaluations=2).fit(counts, exposure).rate([1]),
        [NUMBER, COUNTS, st.none() | ARRAY],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@settings(deadline=None, max_examples=EXAMPLES)
@given(values=st.data())
@pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")
def test_any_arguments_give_numbers_or_a_named_error(name, values):
    call, strategies = CALLS[name]
    try:
        found = call(*(values.draw(one) for one in strategies))
    except EngineError:
        return
    assert not np.isnan(np.asarray(found, dtype=np.float64)).any()


CELLS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "left",
        "right",
        "tie",
        "a;b",
        "b;a;c",
        "a b",
        "1",
        "-1",
        "nan",
        "1e999",
        '"',
        "\x00",
        "é",
        "٣",
        "=1",
    ]
)
HEADERS = st.sampled_from(
    [
        "left right winner",
        "annotator winner loser weight",
        "items chosen",
        "items best worst",
        "ranking",
        "items ranks",
        "name f1 f2",
    ]
).map(str.split)
TABLES = st.tuples(HEADERS | st.lists(CELLS, max_size=4), st.lists(st.lists(CELLS, max_size=5), max_size=4))


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(table=TABLES, separator=st.sampled_from([",", "\t", ";"]), ending=st.sampled_from([".csv", ".tsv", ".jsonl"]))
def test_any_table_gives_labels_or_names_the_row(table, separator, ending, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / f"table{ending}"
    path.write_text("\n".join(separator.join(row) for row in (table[0], *table[1])), encoding="utf-8")
    for read in (read_labels, lambda file: read_labels(file, skip_bad_rows=True), read_features):
        with suppress(EngineError):
            read(path)
