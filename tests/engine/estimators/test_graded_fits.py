"""What every estimator that counts grades has: stored, started again, with grades nobody gave, on real answers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.metrics import mean_width
from models_engine.benchmarks.grades import grade_shares, read_two_peoples_videos
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.choosing import assign_folds, paired_difference
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.estimators.gppl import GPPL
from models_engine.simulate import simulate_crowd
from tests.paths import DATA

ONE_TASTE = {
    "BradleyTerry, map": BradleyTerry(prior_sd=None, inference="map"),
    "BradleyTerry, variational": BradleyTerry(prior_sd=None, inference="variational"),
    "CrowdBT": CrowdBT(),
    "CrowdBT, map": CrowdBT(inference="map"),
    "GPPL": GPPL(),
    "GPPL, ep": GPPL(inference="ep"),
}
# By how much, relative to the width without grades, intervals are narrower; the taste model's, of 200 videos, at all.
NARROWER = {"CrowdBT": 0.8, "CrowdBT, map": 0.8, "CrowdBTOnline": 0.8, "GPPL": 0.8, "CollaborativeGP": 1.0}


def graded(n_labels: int) -> Comparisons:
    rng = np.random.default_rng(0)
    return simulate_crowd(rng, 12, 8, utility_sd=1.5, reliability=(8.5, 1.5)).graded(n_labels, (0.4, 1.5), rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_TASTE)
def test_a_stored_posterior_keeps_its_cut_points_and_a_warm_start_ends_where_a_cold_one_does(name):
    data, estimator = graded(400), ONE_TASTE[name]
    cold = estimator.fit(data)
    assert type(cold).from_arrays(cold.to_arrays()).likelihood == cold.likelihood
    assert {"cut_0", "cut_0_sd", "cut_1", "cut_1_sd"} <= set(cold.hyperparameters())
    warm = estimator.fit(data, start=estimator.fit(data.subset(np.arange(300))))
    assert_allclose(warm.utilities(), cold.utilities(), atol=1e-2)
    assert_allclose(warm.likelihood.cuts, cold.likelihood.cuts, atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_TASTE)
def test_a_grade_that_nobody_gave_leaves_cut_points_in_order(name):
    data = Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 1, 1], grades=[1, 1, 3], n_grades=4)
    fitted = ONE_TASTE[name].fit(data)
    cuts = np.array(fitted.likelihood.cuts)
    assert fitted.diagnostics.converged
    assert cuts[0] == 0
    assert np.isfinite(cuts).all()
    assert (np.diff(cuts) > 0).all()
    assert np.isfinite(fitted.likelihood.cut_sds).all()


@pytest.mark.slow
@pytest.mark.skipif(
    not (DATA / "tournesol_tiny").is_dir(), reason=f"tournesol_tiny is not in {DATA}; set CROWDRANK_DATA"
)
@pytest.mark.parametrize(
    "kind",
    [
        lambda how: CrowdBT(grades=how),
        lambda how: CrowdBT(inference="map", grades=how),
        lambda how: CrowdBTOnline(grades=how),
        lambda how: GPPL(grades=how),
        lambda how: CollaborativeGP(grades=how),
    ],
    ids=NARROWER,
)
def test_grades_of_tournesol_predict_better_and_narrow_intervals(kind, request):
    """On answers about the 400 videos that are shown most among those that two of the five people compared."""
    name = request.node.callspec.id
    data = read_two_peoples_videos(DATA, "importance", 200 if name == "CollaborativeGP" else 400)
    out, width, losses, winner = assign_folds(data, 0) == 0, {}, {}, {}
    train, test = data.subset(np.flatnonzero(~out)), data.subset(np.flatnonzero(out))
    for how in ("ordered", "ignore"):
        fitted = kind(how).fit(train)
        assert fitted.diagnostics.converged
        width[how] = mean_width(fitted) / fitted.utilities().std()
        losses[how] = -fitted.log_predictive(test) - (how == "ignore") * grade_shares(train)[test.grades]
        winner[how] = -fitted.log_predictive(test.without_grades()).mean()
    difference, error = paired_difference(losses["ordered"], losses["ignore"], test.annotators)
    print(f"{data.n_labels} answers: {losses['ordered'].mean():.3f}, winners {losses['ignore'].mean():.3f}")
    print(f"{difference:.3f} ± {error:.3f}; who wins: {winner}; widths: {width}")
    assert difference < -2 * error
    assert width["ordered"] < NARROWER[name] * width["ignore"]
