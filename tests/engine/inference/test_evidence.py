"""The evidence of a scale, to a thousandth where utilities are normal and spread as far as they usually are."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.inference.davidson.evidence import evidence_above_bound
from models_engine.progress import FitLog
from tests.engine.estimators.test_lowest_scale import chain, exact


def bound_and_evidence(data: Comparisons, sd: float, **settings: object) -> tuple[float, float]:
    model = BradleyTerry(**settings)
    nearest = model._start_variational(model._answers(data), None, FitLog(model.max_iterations)).fit(sd)
    return nearest.bound, nearest.bound + evidence_above_bound(nearest)


@pytest.mark.parametrize("sd", [0.1, 0.75, 1.5, 3.0, 6.0])
def test_of_pairs_that_share_no_item_it_is_exact(sd):
    """Ten pairs with one answer each, of probability 1/2 at any scale: their bound falls by .2 from sd 1.5 to 3."""
    left = np.arange(0, 20, 2)
    bound, evidence = bound_and_evidence(Comparisons.from_pairs(left, left + 1, np.ones(10), n_items=20), sd)
    assert evidence == pytest.approx(10 * np.log(0.5), abs=1e-5)
    assert bound < evidence


@pytest.mark.parametrize(("n_items", "wins", "losses"), [(2, 30, 2), (2, 200, 30), (8, 1, 0), (8, 5, 0), (20, 5, 0)])
@pytest.mark.parametrize("sd", [0.5, 1.5, 3.0, 6.0])
def test_of_a_chain_it_is_that_of_integration(n_items, wins, losses, sd):
    """The bound is below it by up to .49."""
    evidence = bound_and_evidence(chain(n_items, wins, losses), sd)[1]
    assert evidence == pytest.approx(exact(n_items, wins, losses, sd, 600)[0], abs=4e-3)


@pytest.mark.parametrize("settings", [{"ties": "davidson"}, {"side": True}, {"grades": "ordered"}])
def test_with_nuisances_it_is_that_of_integration_over_utilities(settings):
    """Two items, so that the margin's integral is the evidence: ties, a side, and how much better, at their values."""
    rng, sd = np.random.default_rng(0), 3.0
    left, outcome = np.arange(8) % 2, np.array([1, 1, 0, 1, 1, 0, 1, 0])
    grades = rng.integers(1, 3, 8) if "grades" in settings else None
    if "ties" in settings:
        outcome = np.where(np.arange(8) < 2, 0.5, outcome)
    data = Comparisons.from_pairs(left, 1 - left, outcome.astype(float), grades=grades, n_items=2)
    model = BradleyTerry(**settings)
    nearest = model._start_variational(model._answers(data), None, FitLog(model.max_iterations)).fit(sd)
    problem, x = nearest.problem, nearest.state.x.copy()
    margin, x[:2], at, every = np.linspace(-40, 40, 8_001), 0.0, replace(problem, variance=None), slice(None)
    log_likelihood = -at.losses(x, at.margins(x) + margin[:, None], every).sum(axis=1)
    log_prior_of_nuisances = at.objective(x) + at.losses(x, at.margins(x), every).sum()
    integral = (np.exp(log_likelihood) * norm.pdf(margin, scale=np.sqrt(2) * sd)).sum() * (margin[1] - margin[0])
    log_evidence = np.log(integral) + log_prior_of_nuisances
    assert nearest.bound + evidence_above_bound(nearest) == pytest.approx(log_evidence, abs=1e-4)
