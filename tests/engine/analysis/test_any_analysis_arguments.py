"""Whatever the functions that analyse numbers are given, well-formed or not: finite figures, or an error with a name.

Never numpy's own errors or warnings. `make test-search` tries twenty times as many examples of each.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models_engine.acquisition import Aim, candidate_sets, expected_loss, settled
from models_engine.analysis.agreement import wilson_interval
from models_engine.analysis.anchors import link_to_anchors, link_to_spread
from models_engine.analysis.boundaries import boundary_states, expected_shares, grade_probabilities
from models_engine.analysis.done import expected_wrong
from models_engine.analysis.metrics import accuracy, auc_unequal_grades, cross_entropy, kendall_tau_pooled, spearman
from models_engine.analysis.reliability import compute_separation
from models_engine.analysis.returning import find_visits, forecast_returns
from models_engine.analysis.stopping import (
    forecast_labels_for_count,
    forecast_labels_for_reliability,
    forecast_labels_for_width,
)
from models_engine.errors import EngineError
from tests.budget import examples
from tests.engine.test_any_arguments import ANYTHING

EXAMPLES = examples(20)
REALS = st.sampled_from([0.0, -0.0, 0.3, 0.5, 1.0, 2.0, -1.5, 1e-300, 1e300, -1e300, float("nan"), float("inf")])
ROWS = st.lists(REALS, max_size=4)
FINE = st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0]), min_size=3, max_size=3)


def mostly(wanted: Any, *others: Any) -> Any:
    """Five of six what is wanted, so that not all ends at the first argument."""
    return st.integers(0, 5).flatmap(lambda one: st.one_of(*others, ANYTHING) if one == 5 else wanted)


ARRAY = mostly(FINE, ROWS)
SHARES = mostly(st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=3, max_size=3), ROWS)
OUTCOMES = mostly(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3), ROWS)
CUTS = mostly(st.sampled_from([[], [0.5], [-1.0, 0.0, 1.0]]), ROWS)
COUNTS = mostly(st.lists(st.integers(0, 3), min_size=3, max_size=3), ROWS)
SPREAD = mostly(FINE | st.sampled_from([np.eye(3), np.eye(3) - 0.4, np.ones((3, 3)), -np.eye(3)]), ROWS)
NUMBER = mostly(st.sampled_from([1, 2, 0.5, 0.9]), REALS, st.sampled_from([0, 3]))
SIZES = mostly(st.just(2), st.just(3), REALS)
LAPSES = mostly(st.sampled_from([0.0, 0.2]), REALS)
PARTS = st.none() | mostly(st.sampled_from([[0, 0, 0], [0, 0, 1]]), ROWS)
AIMS = mostly(st.sampled_from([Aim("whole"), Aim("best", 1), Aim("best", 2), Aim("classes", boundaries=(0.0, 1.0))]))
MEASURES = st.sampled_from(["best", "top", "classes", "boundary", "width", "widest", "places"]) | ANYTHING


def table_of_questions(mean: Any, sd: Any, aim: Aim, size: Any, margin: Any, lapse: Any, parts: Any) -> Any:
    rng = np.random.default_rng(0)
    return candidate_sets(mean, sd, aim, set_size=size, margin=margin, lapse=lapse, parts=parts, rng=rng).gains


def loss(mean: Any, sd: Any, aim: Aim, margin: Any, parts: Any) -> Any:
    return expected_loss(mean, sd, aim, margin=margin, parts=parts)


def which_are_settled(mean: Any, sd: Any, aim: Aim, margin: Any, parts: Any) -> Any:
    return settled(mean, sd, aim, margin=margin, parts=parts)


def expected_wrong_of(what: Any, mean: Any, covariance: Any, aim: Aim, margin: Any) -> Any:
    return expected_wrong(what, mean, covariance, aim, margin=margin)


def unreliability(*arguments: Any) -> Any:
    return expected_wrong("reliability", *arguments)


def until_counted(counts: Any, target: Any, per_label: Any) -> Any:
    return forecast_labels_for_count(counts, target, per_label=per_label).middle


def until_narrow(deviations: Any, counts: Any, width: Any, per_label: Any) -> Any:
    return forecast_labels_for_width(deviations, counts, width, per_label=per_label).middle


def until_reliable(means: Any, deviations: Any, counts: Any, target: Any, per_label: Any) -> Any:
    return forecast_labels_for_reliability(means, deviations, counts, target, per_label=per_label).middle


CALLS: dict[str, tuple[Any, list[Any]]] = {
    "grade_probabilities": (grade_probabilities, [ARRAY, ARRAY, CUTS]),
    "expected_shares": (expected_shares, [st.lists(FINE, max_size=3) | ARRAY | SHARES.map(lambda row: [row])]),
    "boundary_states": (lambda *a: [one.error for one in boundary_states(*a)], [ARRAY, ARRAY, CUTS]),
    "link_to_anchors": (lambda *a: link_to_anchors(*a).slope, [ARRAY, SPREAD, ARRAY, st.none() | ARRAY]),
    "link_to_spread": (lambda *a: link_to_spread(*a).slope, [ARRAY]),
    "wilson_interval": (wilson_interval, [NUMBER, NUMBER, NUMBER]),
    "accuracy": (accuracy, [SHARES, OUTCOMES]),
    "cross_entropy": (cross_entropy, [SHARES, OUTCOMES]),
    "kendall_tau_pooled": (kendall_tau_pooled, [ARRAY, ARRAY]),
    "spearman": (spearman, [ARRAY, ARRAY]),
    "auc_unequal_grades": (auc_unequal_grades, [ARRAY, ARRAY]),
    "compute_separation": (compute_separation, [ARRAY, ARRAY]),
    "candidate_sets": (table_of_questions, [ARRAY, ARRAY, AIMS, SIZES, NUMBER, LAPSES, PARTS]),
    "expected_loss": (loss, [ARRAY, SPREAD, AIMS, NUMBER, PARTS]),
    "settled": (which_are_settled, [ARRAY, ARRAY, AIMS, NUMBER, PARTS]),
    "expected_wrong": (expected_wrong_of, [MEASURES, ARRAY, SPREAD, AIMS, NUMBER]),
    "expected_wrong of reliability": (unreliability, [ARRAY, SPREAD, AIMS]),
    "forecast_labels_for_count": (until_counted, [COUNTS, NUMBER, NUMBER]),
    "forecast_labels_for_width": (until_narrow, [ARRAY, COUNTS, NUMBER, NUMBER]),
    "forecast_labels_for_reliability": (until_reliable, [ARRAY, ARRAY, COUNTS, NUMBER, NUMBER]),
    "find_visits": (lambda *a: find_visits(*a).silence, [ARRAY, COUNTS, NUMBER]),
    "forecast_returns": (lambda *a: forecast_returns(*a).probability, [ARRAY, COUNTS, NUMBER]),
}
# Documented: NaN where all are tied, without observations, or where there is nothing to separate.
MAY_BE_UNKNOWN = {
    "accuracy",
    "auc_unequal_grades",
    "compute_separation",
    "expected_wrong of reliability",
    "kendall_tau_pooled",
    "spearman",
    "wilson_interval",
}


def check(call: Any, arguments: list[Any], *, may_be_unknown: bool) -> None:
    """The call gives numbers, or an error of the engine's own."""
    try:
        found = call(*arguments)
    except EngineError:
        return
    assert may_be_unknown or not np.isnan(np.asarray(found, dtype=np.float64)).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@settings(deadline=None, max_examples=EXAMPLES)
@given(values=st.data())
def test_any_arguments_give_figures_or_a_named_error(name, values):
    call, strategies = CALLS[name]
    check(call, [values.draw(one) for one in strategies], may_be_unknown=name in MAY_BE_UNKNOWN)
