"""Pairs that may be tied beside choices and strict orders, which may not: how often people tie is that of the pairs."""

from typing import Any

import numpy as np
import pytest

from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import QUICK, BradleyTerry
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.competitors import Competitors
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.estimators.gppl import GPPL
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.simulate import Crowd, competition, simulate_crowd

N_ITEMS, N_PAIRS, NU = 40, 1_500, 1.0
CROWDS = [CrowdBT(), CrowdBT(inference="map")]
ESTIMATORS = [
    QUICK,
    BradleyTerry(prior_sd=None, inference="variational"),
    BradleyTerry(ties="half"),
    *CROWDS,
    CrowdBTOnline(),
    PlackettLuce(),
]
CUTS = (0.5, 1.5)


def crowd_of(seed: int = 0, *, graded: bool = False, **settings: Any) -> tuple[Crowd, Comparisons]:
    """Return a crowd and its pairs, with ties, beside its best of four and rankings of five."""
    rng = np.random.default_rng(seed)
    crowd = simulate_crowd(rng, N_ITEMS, 12, **{"tie": NU, "utility_sd": 1.2, **settings})
    pairs = crowd.graded(N_PAIRS, CUTS, rng) if graded else crowd.pairs(N_PAIRS, rng)
    return crowd, Comparisons.concatenate([pairs, crowd.rankings(300, 5, rng), crowd.choices(300, 4, rng)])


def all_pairs() -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(N_ITEMS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_share_of_ties_is_that_of_the_answers_that_could_have_been_ties(estimator):
    """Pairs implied by choices and rankings counted as not tied: the share came out at .09 to .1 in place of .28."""
    crowd, data = crowd_of()
    fitted, (left, right) = estimator.fit(data), all_pairs()
    margin = crowd.utilities[left] - crowd.utilities[right]
    share = (NU / (2 * np.cosh(margin / 2) + NU)).mean()
    ties = Comparisons.from_pairs(left, right, np.full(len(left), 0.5), n_items=N_ITEMS)
    error = np.sqrt(share * (1 - share) / N_PAIRS)
    assert abs(np.exp(fitted.log_predictive(ties)).mean() - share) < 3 * error
    if fitted.likelihood.tie is not None and not isinstance(estimator, CrowdBTOnline):
        # log nu has about the information sum P(tie) (1 - P(tie)); that of CrowdBTOnline is too large with pairs, too
        assert abs(np.log(fitted.likelihood.tie / NU)) < 3 / np.sqrt(N_PAIRS * share * (1 - share))


@pytest.mark.slow
@pytest.mark.parametrize("graded", [False, True])
def test_answers_that_could_not_be_ties_leave_what_was_learned_of_ties_as_it_is(graded):
    _, data = crowd_of(graded=graded)
    pairs, others = data.subset(np.arange(N_PAIRS)), data.subset(np.arange(N_PAIRS, data.n_labels))
    before = CrowdBTOnline().fit(pairs)
    after = CrowdBTOnline().update(before, others)
    assert (after.likelihood.tie, after.log_nu_sd) == (before.likelihood.tie, before.log_nu_sd)
    assert after.likelihood.cuts == before.likelihood.cuts
    assert np.abs(after.utilities() - before.utilities()).max() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [QUICK, *CROWDS], ids=repr)
def test_the_first_cut_point_is_that_of_the_answers_that_could_have_been_ties(estimator):
    """With choices and rankings as not tied it came out at .21 in place of .5."""
    _, data = crowd_of(graded=True)
    found = estimator.fit(data).likelihood
    off = np.abs(np.array(found.cuts) - CUTS)
    assert (off < 3 * np.array(found.cut_sds)).all()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [GPPL(), GPPL("ep"), GPPL(batch_size=500)], ids=repr)
def test_the_first_cut_point_of_processes_is_that_of_the_answers_that_could_have_been_ties(estimator):
    """With choices and rankings as not tied it came out at .21 in place of .5."""
    _, data = crowd_of(graded=True, link="probit", tie=0.0)
    found = estimator.fit(data).likelihood
    off = np.abs(np.array(found.cuts) - CUTS)
    assert (off < 3 * np.array(found.cut_sds)).all()


def test_competitors_learn_how_often_people_tie_from_pairs_alone():
    rng = np.random.default_rng(2)
    truth = competition(rng, 5, 60, 10, tie=NU, item_sd=0.4)
    sets = np.arange(300).reshape(60, 5)[rng.integers(60, size=500)]
    chosen = (truth.items.ravel()[sets] + rng.gumbel(size=sets.shape)).argmax(axis=1)
    choices = Comparisons.from_choices(sets[np.arange(500), chosen], sets, n_items=300)
    data = Comparisons.concatenate([truth.pairs(N_PAIRS, rng), choices])
    found = Competitors().fit(data, CompetitorTable.of(truth.competitor, context=truth.context))
    assert abs(np.log(found.likelihood.tie / NU)) < 3 / np.sqrt(N_PAIRS * 0.2)


def test_which_answers_could_have_been_ties():
    """A pair alone, and a ranking whose places may be shared, even if it shares none."""
    labels = {
        "pair": Comparisons.from_pairs([0], [1], [1.0], n_items=4),
        "best": Comparisons.from_choices([2], [[0, 1, 2, 3]]),
        "best and worst": Comparisons.from_best_worst([0], [3], [[0, 1, 2, 3]]),
        "top two": Comparisons.from_top([[0, 1]], [[0, 1, 2, 3]]),
        "order": Comparisons.from_rankings([[0, 1, 2]], n_items=4),
        "weak order": Comparisons.from_ranks([[0, 0, 1]], [[0, 1, 2]], n_items=4, tied=True),
        "weak order without ties": Comparisons.from_ranks([[0, 1, 2]], [[0, 1, 2]], n_items=4, tied=True),
    }
    together = Comparisons.concatenate(list(labels.values())).pairs()
    could = {name: set(together.can_tie[together.label == n].tolist()) for n, name in enumerate(labels)}
    assert all(len(marks) == 1 for marks in could.values())
    tied = {name for name, marks in could.items() if marks == {True}}
    assert tied == {"pair", "weak order", "weak order without ties"}
    assert all(labels[name].pairs().can_tie is None for name in tied)


def test_the_share_of_ties_counts_pairs_that_could_have_been_tied_by_their_weight():
    pairs = Comparisons.from_pairs([0, 1, 2], [1, 2, 3], [0.5, 1.0, 0.0], weights=[2.0, 1.0, 3.0])
    choices = Comparisons.from_choices([2, 3], [[0, 1, 2, 3]] * 2)
    for data in (pairs, Comparisons.concatenate([choices, pairs])):
        assert data.pairs().tie_rate() == pytest.approx((2 + 0.5) / (6 + 1))
    assert choices.pairs().tie_rate() == pytest.approx(0.5 / (choices.pairs().weight.sum() + 1))


@pytest.mark.parametrize("inference", ["map", "variational"])
def test_ties_between_other_items_leave_a_fit_to_choices_as_it_is(inference):
    """Nothing but Davidson's nu has to do with both."""
    rng = np.random.default_rng(3)
    crowd = simulate_crowd(rng, 8, 3)
    choices = crowd.choices(60, 4, rng)
    apart = Comparisons.from_pairs([8] * 9, [9] * 9, [0.5] * 6 + [1.0, 0.0, 1.0], n_items=10)
    estimator = BradleyTerry(prior_sd=1.5, inference=inference)
    both, alone = (estimator.fit(one) for one in (Comparisons.concatenate([choices, apart]), choices))
    kept = both.restrict(np.arange(8))
    np.testing.assert_allclose(kept.utilities(), alone.utilities(), atol=1e-5)
    np.testing.assert_allclose(kept.covariance(), alone.covariance(), atol=1e-5)
