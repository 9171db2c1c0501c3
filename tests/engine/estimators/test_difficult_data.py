"""Every estimator, given the data nobody wants, gives finite answers or a named error: never NaN, never a crash."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models_engine.data import Comparisons
from models_engine.errors import EngineError, NotConverged
from models_engine.estimators.table import ESTIMATORS
from tests.budget import examples
from tests.engine.simulated_data import quick

WEIGHTS = st.sampled_from([0.0, 1e-9, 0.3, 1.0, 2.0, 1e4])


@st.composite
def comparisons(draw) -> Comparisons:
    """A handful of labels of any kind over one to six items, with features that may be constant or repeated."""
    n_items, n_annotators = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    features = draw(st.sampled_from(["random", "constant", "repeated"]))
    values = np.random.default_rng(0).normal(size=(n_items, 2))
    values = {"random": values, "constant": np.ones((n_items, 2)), "repeated": values[np.arange(n_items) // 2]}[
        features
    ]
    shared = {"n_items": n_items, "n_annotators": n_annotators, "item_features": values}
    parts = [Comparisons.from_pairs([], [], [], [], **shared)]
    for _ in range(draw(st.integers(0, 12)) if n_items > 1 else 0):
        shown = draw(st.permutations(range(n_items)))[: draw(st.integers(2, n_items))]
        options = {**shared, "weights": [draw(WEIGHTS)]}
        who = [draw(st.integers(0, n_annotators - 1))]
        kind = draw(st.sampled_from(["pair", "choice", "ranking", "ends"]))
        if kind == "pair" or len(shown) == 2:
            outcome = draw(st.sampled_from([0.0, 0.5, 1.0]))
            parts.append(Comparisons.from_pairs(shown[:1], shown[1:2], [outcome], who, **options))
        elif kind == "choice":
            parts.append(Comparisons.from_choices(shown[:1], [shown], who, **options))
        elif kind == "ranking":
            parts.append(Comparisons.from_rankings([shown], who, **options))
        else:
            parts.append(Comparisons.from_best_worst(shown[:1], shown[-1:], [shown], who, **options))
    return Comparisons.concatenate(parts)


def fit_or_named_error(name: str, data: Comparisons) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        try:
            posterior = quick(name).fit(data, rng=np.random.default_rng(0))
        except EngineError:
            return
    n = data.n_items
    mean, sd = posterior.utilities(), posterior.standard_deviations()
    assert mean.shape == sd.shape == (n,)
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()
    assert (sd >= 0).all()
    items = np.arange(n)
    for annotator in (None, 0):
        p = posterior.pairwise_probabilities(items[:, None], items[None, :], annotator)
        assert ((p >= 0) & (p <= 1)).all()
        assert np.allclose(p + p.T, 1)
    assert np.isfinite(posterior.sample(3, rng=np.random.default_rng(0))).all()
    assert (posterior.log_predictive(data) <= 0).all()
    assert posterior.diagnostics.message


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ESTIMATORS))
@settings(deadline=None, max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(data=comparisons())
def test_any_labels_give_finite_results_or_a_named_error(name, data):
    fit_or_named_error(name, data)


PAIRS = {"n_items": 4, "n_annotators": 2, "item_features": np.random.default_rng(0).normal(size=(4, 2))}
CASES = {
    "two parts and an item never compared": Comparisons.from_pairs([0, 0], [1, 1], [1, 1], [0, 1], **PAIRS),
    "all ties": Comparisons.from_pairs([0, 1, 2, 0], [1, 2, 3, 3], [0.5] * 4, [0, 1, 0, 1], **PAIRS),
    "a cycle": Comparisons.from_pairs([0, 1, 2] * 50, [1, 2, 0] * 50, [1] * 150, [0, 1] * 75, **PAIRS),
    "one annotator against the other": Comparisons.from_pairs(
        [0, 1, 2] * 40, [1, 2, 3] * 40, [1] * 60 + [0] * 60, [0] * 60 + [1] * 60, **PAIRS
    ),
    "never a doubt": Comparisons.from_pairs([0, 1, 2] * 300, [1, 2, 3] * 300, [1] * 900, [0, 1] * 450, **PAIRS),
    "all weights zero": Comparisons.from_pairs([0, 1], [1, 2], [1, 0], [0, 1], weights=[0, 0], **PAIRS),
    "a huge weight beside a tiny one": Comparisons.from_pairs(
        [0, 1, 2], [1, 2, 3], [1, 0, 1], [0, 1, 0], weights=[1e12, 1e-12, 1], **PAIRS
    ),
    "one huge weight": Comparisons.from_pairs([0, 1], [1, 2], [1, 0], [0, 1], weights=[1e6, 1], **PAIRS),
    "one item": Comparisons.from_pairs([], [], [], n_items=1, n_annotators=1, item_features=[[1.0]]),
    "no features": Comparisons.from_pairs([0, 1], [1, 2], [1, 0], n_items=4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize("case", CASES)
def test_hard_cases_give_finite_results_or_a_named_error(name, case):
    fit_or_named_error(name, CASES[case])


AUTO = {"inference": "auto", "prior_sd": None}
VARIATIONAL = {"inference": "variational", "prior_sd": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings_",
    [AUTO, AUTO | {"side": True}, AUTO | {"prior_sd": 100.0}, {"side": True}, {"prior_sd": 100.0}, VARIATIONAL],
)
@settings(deadline=None, max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(data=comparisons())
def test_bradley_terry_handles_any_labels_in_other_settings(settings_, data):
    """A mode is always found, also in place of the nearest Gaussian, which ten thousand copies of one answer may leave
    unfinished; where that was asked for by name, it is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = ESTIMATORS["BradleyTerry"].estimator(**settings_, max_iterations=100).fit(data)
    assert posterior.diagnostics.converged or settings_.get("inference") == "variational"
    assert np.isfinite(posterior.utilities()).all()
    assert np.isfinite(posterior.standard_deviations()).all()
    assert np.abs(posterior.utilities()).max() < 20 * posterior.prior_sd
    assert 0 < posterior.prior_sd < 1e3
