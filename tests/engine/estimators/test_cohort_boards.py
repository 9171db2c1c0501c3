"""Leaderboards by cohort: intervals that hold, pooling, the shared luck of items, cohorts apart, bad input."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, NotConverged
from models_engine.estimators import competitors
from models_engine.estimators.cohort_boards import fit_cohorts
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.competitors import Competitors
from models_engine.inference.competitors.shared import shared_covariance
from models_engine.linalg import centre
from models_engine.simulate import competition

N, PEOPLE, TASTE = 8, 30, 0.3
SHARES = (18, 9, 3)  # people of each cohort


def divided(seed: int, cohort_sd: float, contexts: int = 40, labels: int = 3_000):
    """(labels, table, cohorts, what each cohort thinks of the competitors (n_cohorts, N))."""
    rng = np.random.default_rng([7, seed])
    truth = competition(rng, N, contexts, PEOPLE, item_sd=0.8, taste_sd=TASTE, side=0.2, tie=0.5)
    cohort = rng.permutation(np.repeat(np.arange(3), SHARES))
    own = centre(rng.normal(scale=cohort_sd or 1e-9, size=(3, N)))
    told = replace(truth, tastes=truth.tastes + own[cohort])
    flatter = np.sqrt(1 + 2 * TASTE**2 * (16 * np.sqrt(3) / (15 * np.pi)) ** 2)  # of an average answer
    table = CompetitorTable.of(truth.competitor, context=truth.context)
    return told.pairs(labels, rng), table, cohort, centre(truth.utilities + own) / flatter


def coverage(n_crowds: int, *args, **keywords) -> np.ndarray:
    """Return (n_cohorts,) the share of 90% intervals that hold the truth."""
    held = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        for seed in range(n_crowds):
            data, table, cohort, truth = divided(seed, *args, **keywords)
            found = fit_cohorts(Competitors(), data, table, cohort)
            boards = [found.for_tag(one) for one in range(3)]
            errors = [(own.utilities() - truth[at]) / own.standard_deviations() for at, own in enumerate(boards)]
            held.append(np.abs(errors) < Z90)
    return np.mean(held, axis=(0, 2))


@pytest.mark.slow
@pytest.mark.parametrize("cohort_sd", [0.5, 0.2, 0.0])
def test_intervals_of_cohort_boards_hold_the_truth(cohort_sd):
    """25 crowds, each of cohorts of 18, 9 and 3 people; by cohort and on the whole."""
    found = coverage(25, cohort_sd)
    assert 0.85 <= found.mean() <= 0.95, found
    assert (found > 0.8).all(), found


@pytest.mark.slow
def test_with_few_prompts_the_luck_of_items_is_counted_once(monkeypatch):
    """Without the correction for items that cohorts share, the control, intervals are too narrow."""
    found = coverage(25, 0.2, contexts=10, labels=6_000)
    assert 0.85 <= found.mean() <= 0.96, found
    monkeypatch.setattr(
        competitors, "shared_covariance", lambda state, item: np.zeros_like(shared_covariance(state, item))
    )
    assert coverage(25, 0.2, contexts=10, labels=6_000).mean() < 0.83


def styled(seed: int, worth: float):
    """As `divided`, with a feature of which some competitors have more and that adds `worth` to an item for each 1."""
    rng = np.random.default_rng([8, seed])
    truth = competition(rng, N, 40, PEOPLE, item_sd=0.8, taste_sd=TASTE, side=0.2, tie=0.5)
    cohort = rng.permutation(np.repeat(np.arange(3), SHARES))
    own = centre(rng.normal(scale=0.2, size=(3, N)))
    feature = rng.normal(size=truth.items.shape) + rng.normal(size=N)
    told = replace(truth, items=truth.items + worth * feature, tastes=truth.tastes + own[cohort])
    flatter = np.sqrt(1 + 2 * TASTE**2 * (16 * np.sqrt(3) / (15 * np.pi)) ** 2)
    table = CompetitorTable.of(truth.competitor, context=truth.context)
    data = replace(told.pairs(3_000, rng), item_features=feature.reshape(-1, 1))
    return data, table, cohort, centre(truth.utilities + own) / flatter, worth / flatter


@pytest.mark.slow
@pytest.mark.parametrize("worth", [0.0, 0.5])
def test_with_style_held_equal_intervals_of_cohort_boards_hold_the_truth(worth):
    """25 crowds; the boards by cohort, what the feature adds, and the boards without the feature as the control
    where it counts."""
    held, added, without = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        for seed in range(25):
            data, table, cohort, truth, adds = styled(seed, worth)
            found = fit_cohorts(Competitors(), data, table, cohort)
            fits = [(held, found)]
            if worth:
                fits.append((without, fit_cohorts(Competitors(), replace(data, item_features=None), table, cohort)))
            for boards, one in fits:
                own = [one.for_tag(at) for at in range(3)]
                errors = [(o.utilities() - truth[at]) / o.standard_deviations() for at, o in enumerate(own)]
                boards.append(np.abs(errors) < Z90)
            added.append(abs(found.effects.features[0] - adds) / found.effects.feature_sds[0] < Z90)
    assert 0.85 <= np.mean(held) <= 0.95, np.mean(held)
    assert np.mean(added) >= 0.8, np.mean(added)
    if worth:
        assert np.mean(without) < 0.75, np.mean(without)


def test_cohorts_that_agree_lend_each_other_what_they_know_and_those_that_differ_less():
    widths, effects = [], []
    for cohort_sd in (0.0, 1.5):
        data, table, cohort, _truth = divided(1, cohort_sd)
        found = fit_cohorts(Competitors(), data, table, cohort)
        small, large = (found.for_tag(one).standard_deviations().mean() for one in (2, 0))
        widths.append(small / large)
        effects.append(np.abs(found.effects.tag_effects).mean())
    assert widths[0] < 1.5 < widths[1]
    assert effects[0] < 0.15 < 0.5 < effects[1]


def test_one_cohort_of_everybody_is_the_whole_board():
    data, table, _cohort, _truth = divided(2, 0.0)
    whole = Competitors().fit(data, table)
    found = fit_cohorts(Competitors(), data, table, np.full(PEOPLE, -1), n_cohorts=1)
    assert_allclose(found.utilities(), whole.utilities(), atol=0.02)
    assert_allclose(found.standard_deviations(), whole.standard_deviations(), rtol=0.05)
    alone = fit_cohorts(Competitors(), data, table, np.zeros(PEOPLE, dtype=int))
    assert_allclose(alone.for_tag(0).utilities(), whole.utilities(), atol=0.1)


def test_the_shared_luck_of_two_equal_cohorts_is_that_of_the_whole():
    """Two copies of the same crowd see the same items: their boards are as unsure as one of them about those items."""
    data, table, _cohort, _truth = divided(3, 0.0, contexts=6, labels=4_000)
    twice = Comparisons.concatenate([data, shifted_people(data)])
    cohort = np.repeat([0, 1], PEOPLE)
    estimator = Competitors(tastes=False, careless=False)
    found = fit_cohorts(estimator, twice, table, cohort).for_tag(0).standard_deviations()
    whole = estimator.fit(twice, table).standard_deviations()
    assert_allclose(found, whole, rtol=0.12)


def shifted_people(data: Comparisons) -> Comparisons:
    return replace(data, annotators=data.annotators + PEOPLE, n_annotators=2 * PEOPLE)


def test_a_cohort_for_each_annotator_is_asked_for():
    data, table, cohort, _truth = divided(0, 0.0, labels=200)
    with pytest.raises(InvalidData, match=r"shape \(3,\); give one number for each of 30 annotators"):
        fit_cohorts(Competitors(), data, table, cohort[:3])
