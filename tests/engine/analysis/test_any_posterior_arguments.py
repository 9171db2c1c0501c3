"""Whatever the functions that ask a posterior or plan a project are given: finite figures, or an error with a name."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models_engine.analysis.classes import rank_classes
from models_engine.analysis.done import is_done, threshold
from models_engine.analysis.evaluation import calibration_bins, spiegelhalter_z
from models_engine.analysis.expected_quality import expected_quality
from models_engine.analysis.overall import weighted_total
from models_engine.analysis.plan_design import Design, expected_reliability, expected_score_width, expected_top
from models_engine.analysis.scores import compute_scores
from models_engine.analysis.signs import surely_differs
from models_engine.analysis.stopping import (
    forecast_labels_for_boundaries,
    forecast_labels_for_places,
    forecast_labels_for_top,
)
from models_engine.analysis.tiers import assign_tiers, classify_pairs
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from tests.budget import examples
from tests.engine.analysis.test_any_analysis_arguments import (
    ARRAY,
    CUTS,
    MEASURES,
    NUMBER,
    OUTCOMES,
    REALS,
    ROWS,
    SHARES,
    SIZES,
    check,
    mostly,
)

EXAMPLES = examples(20)
POSTERIOR = BradleyTerry().fit(Comparisons.from_pairs([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [1, 1, 0.5, 0, 1]))
RANKS = POSTERIOR.rank_summary()


def rank_figures(level: Any, k: Any) -> Any:
    found = POSTERIOR.rank_summary(level, k, n_samples=20)
    return np.concatenate([found.expected, found.p_top_k])


def tiers(order: Any, superiority: Any) -> Any:
    return assign_tiers(POSTERIOR, order, superiority=superiority)


def states(left: Any, right: Any, superiority: Any, margin: Any) -> Any:
    return classify_pairs(POSTERIOR, left, right, superiority=superiority, margin=margin) == "tied"


def classes(superiority: Any) -> Any:
    return rank_classes(POSTERIOR, RANKS, superiority=superiority).number


def sure(wrong: Any, most: Any) -> Any:
    return surely_differs(wrong, most_wrong=most)


def total(weights: Any) -> Any:
    return weighted_total([POSTERIOR, POSTERIOR, POSTERIOR], weights, n_draws=5).contributions


def goal_threshold(what: Any, goal: Any, level: Any) -> Any:
    return threshold(what, goal, level=level)


def designed(kind: Any, n_items: Any, people: Any, answers: Any, k: Any, sd: Any, factor: Any) -> Any:
    design = Design(n_items, people, answers, kind, k, utility_sd=sd, spread_factor=factor)
    return expected_reliability(design), expected_score_width(design), expected_top(design), design.n_labels


def until(what: Any, goal: Any, n_labels: Any, prior_sd: Any) -> Any:
    return what(POSTERIOR, goal, n_labels=n_labels, prior_sd=prior_sd, rng=np.random.default_rng(0)).middle


def of_items(question: str) -> Any:
    return lambda *arguments: getattr(POSTERIOR, question)(*arguments)


ITEMS = mostly(st.lists(st.integers(0, 3), min_size=1, max_size=1) | st.permutations([0, 1, 2, 3]), ROWS)
LEVEL = mostly(st.sampled_from([0.5, 0.9]), REALS)
WHOLE = mostly(st.integers(2, 30), REALS)
KINDS = mostly(st.sampled_from(["pairs", "choices", "best_worst", "rankings"]))
GOALS = mostly(st.sampled_from(["whole", "best", "classes"]))
UNTIL = {
    "forecast_labels_for_top": (forecast_labels_for_top, mostly(st.integers(1, 3), REALS)),
    "forecast_labels_for_boundaries": (forecast_labels_for_boundaries, CUTS),
    "forecast_labels_for_places": (forecast_labels_for_places, NUMBER),
}
CALLS: dict[str, tuple[Any, list[Any]]] = {
    "rank_summary": (rank_figures, [LEVEL, WHOLE]),
    "assign_tiers": (tiers, [ITEMS, LEVEL]),
    "classify_pairs": (states, [ITEMS, ITEMS, LEVEL, NUMBER]),
    "rank_classes": (classes, [LEVEL]),
    "surely_differs": (sure, [SHARES, LEVEL]),
    "calibration_bins": (lambda *a: [one.came_low for one in calibration_bins(*a)], [SHARES, OUTCOMES]),
    "spiegelhalter_z": (spiegelhalter_z, [SHARES, OUTCOMES]),
    "weighted_total": (total, [ARRAY]),
    "threshold": (goal_threshold, [mostly(MEASURES), NUMBER, mostly(st.sampled_from([0.1, 0.05]))]),
    "is_done": (is_done, [mostly(st.lists(st.tuples(st.integers(0, 99), REALS), max_size=4)), NUMBER]),
    "Design": (designed, [KINDS, WHOLE, WHOLE, WHOLE, SIZES, NUMBER, NUMBER]),
    "expected_quality": (lambda *a: expected_quality(*a).chosen, [WHOLE, GOALS, WHOLE]),
    "compute_scores": (lambda level: compute_scores(POSTERIOR, level).low, [LEVEL]),
    "superiority": (of_items("superiority"), [ITEMS, ITEMS]),
    "difference_variance": (of_items("difference_variance"), [ITEMS, ITEMS]),
    "pairwise_probabilities": (of_items("pairwise_probabilities"), [ITEMS, ITEMS, st.none() | WHOLE]),
    "restrict": (lambda items: POSTERIOR.restrict(items).utilities(), [ITEMS]),
    "at": (of_items("at"), [ARRAY]),
    **{name: (partial(until, call), [goal, WHOLE, NUMBER]) for name, (call, goal) in UNTIL.items()},
}
MAY_BE_UNKNOWN = {"spiegelhalter_z"}  # documented: NaN where every probability is 0, 1/2 or 1


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@settings(deadline=None, max_examples=EXAMPLES)
@given(values=st.data())
def test_any_question_gives_figures_or_a_named_error(name, values):
    call, strategies = CALLS[name]
    check(call, [values.draw(one) for one in strategies], may_be_unknown=name in MAY_BE_UNKNOWN)
