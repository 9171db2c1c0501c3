"""The search of a learned scale ends at the greatest maximum of its density, wherever it begins."""

import numpy as np
import pytest

from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.inference.davidson.learned_scale import AGREED_SD, HIGHEST_SD, LOWEST_SD, WIDE_SD
from models_engine.progress import FitLog
from tests.engine.estimators.test_lowest_scale import chain, exact

STARTS = (LOWEST_SD, AGREED_SD, 1.5, 3.0, HIGHEST_SD)


def learn(data: Comparisons, first: float) -> tuple[float, int]:
    """Return the scale that is learned and how many fits that took."""
    model, tried = BradleyTerry(), []
    fits = model._start_variational(model._answers(data), None, FitLog(model.max_iterations))
    fit = fits.fit

    def counted(prior_sd, within=0.0):
        tried.append(prior_sd)
        return fit(prior_sd, within)

    fits.fit = counted
    found = fits.learn_scale(first)
    assert fits.converged
    assert fits.nearest.problem.prior[0] == pytest.approx(found**-2)
    return found, len(tried)


@pytest.mark.parametrize(("n_items", "n_answers"), [(10, 3), (12, 5), (20, 4), (20, 5), (30, 5), (30, 10)])
def test_of_two_maxima_the_one_of_greater_evidence_is_found(n_items, n_answers):
    """Against integration along the chain. By the secant rule alone some ended in between, or after 30 fits nowhere."""
    scales = np.geomspace(LOWEST_SD, HIGHEST_SD, 40)
    density = [exact(n_items, n_answers, 0, sd)[0] - np.log(sd / 1.5) ** 2 / 2 for sd in scales]
    ends = np.array([learn(chain(n_items, n_answers), first)[0] for first in STARTS])
    assert np.ptp(np.log(ends)) < 3e-5
    assert (ends[0] > WIDE_SD) == (scales[np.argmax(density)] > WIDE_SD)


@pytest.mark.slow
def test_the_end_does_not_depend_on_the_start_and_takes_few_fits():
    """Stars whose answers all agree, and other sparse data whose slope is flat far from the maximum."""
    taken = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(2, 81))
        n_labels = int(n_items * np.exp(rng.uniform(-1, 2))) + 1
        utilities = np.exp(rng.uniform(-3, 2)) * rng.standard_normal(n_items)
        left = np.zeros(n_labels, int) if seed % 3 == 0 else rng.integers(0, n_items, n_labels)
        right = (left + rng.integers(1, n_items, n_labels)) % n_items
        margin = utilities[left] - utilities[right] + (0 if seed % 2 else rng.logistic(size=n_labels))
        data = Comparisons.from_pairs(left, right, margin > 0, n_items=n_items)
        ends, fits = zip(*(learn(data, first) for first in STARTS), strict=True)
        assert np.ptp(np.log(ends)) < 3e-5, seed
        taken += fits
    assert max(taken) <= 18
