"""What is found out about single annotators: own rankings all at once, circles in answers, groups."""

from itertools import combinations

import numpy as np
import pytest

from models_engine.agreement import first_place, first_place_counts
from models_engine.cycles import cycles
from models_engine.data import Comparisons
from models_engine.estimators.collaborative_gp import CollaborativeGP
from models_engine.estimators.collaborative_people import own_figures
from models_engine.groups import groups
from models_engine.linalg import centre
from models_engine.simulate import crowd

Z = 1.6449


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    world = crowd(rng, 14, 20, taste_sd=0.8, link="probit")
    return world, CollaborativeGP().fit(world.pairs(20 * 40, rng))


def test_own_rankings_are_those_of_for_annotator(fitted):
    world, posterior = fitted
    found = {one.annotator: one for one in own_figures(posterior.tastes)}
    assert set(found) == set(range(world.n_annotators))
    for annotator, one in found.items():
        alone = posterior.for_annotator(annotator)
        assert one.mean == pytest.approx(alone.utilities(), abs=1e-9)
        assert one.sd == pytest.approx(alone.standard_deviations(), abs=1e-9)
        assert (one.difference_sd <= one.sd + 1e-9).all() or one.difference_sd.mean() < one.sd.mean()
        assert ((one.score_sds > 0) & (one.score_sds <= 1)).all()


def test_own_rankings_of_some_items_are_centred_among_them(fitted):
    _, posterior = fitted
    kept = np.array([1, 3, 4, 8, 11])
    for one in own_figures(posterior.tastes, kept):
        alone = posterior.for_annotator(one.annotator).restrict(kept)
        assert one.mean == pytest.approx(alone.utilities(), abs=1e-9)
        assert one.sd == pytest.approx(alone.standard_deviations(), abs=1e-9)


def test_intervals_of_own_utilities_and_differences_hold_the_truth():
    own, differences = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        world = crowd(rng, 12, 24, taste_sd=0.7, link="probit")
        for one in own_figures(CollaborativeGP().fit(world.pairs(24 * 30, rng)).tastes):
            truth = centre(world.own[one.annotator])
            apart = truth - centre(world.utilities)
            own.append(np.abs(one.mean - truth) < Z * one.sd)
            differences.append(np.abs(one.difference - apart) < Z * one.difference_sd)
    assert 0.83 < np.mean(own) < 0.98
    assert 0.83 < np.mean(differences) < 0.98


def circles_by_hand(data: Comparisons, annotator: int) -> tuple[int, int]:
    """Every three items looked at, by the majority of this annotator's answers."""
    balance = np.zeros((data.n_items, data.n_items))
    pairs = data.pairs()
    for left, right, outcome, who in zip(pairs.left, pairs.right, pairs.outcome, pairs.annotator, strict=True):
        if who == annotator:
            balance[left, right] += outcome - 0.5
            balance[right, left] -= outcome - 0.5
    circular = triads = 0
    for a, b, c in combinations(range(data.n_items), 3):
        signs = [np.sign(balance[a, b]), np.sign(balance[b, c]), np.sign(balance[c, a])]
        triads += all(signs)
        circular += all(signs) and len(set(signs)) == 1
    return circular, triads


@pytest.mark.parametrize("tie", [0.0, 0.8])
def test_circles_are_those_counted_by_hand(tie):
    rng = np.random.default_rng(5)
    data = crowd(rng, 7, 6, utility_sd=0.5, tie=tie).pairs(6 * 30, rng)
    found = cycles(data)
    by_hand = [circles_by_hand(data, annotator) for annotator in range(6)]
    assert list(zip(found.circular.tolist(), found.triads.tolist(), strict=True)) == by_hand
    assert found.circular.sum() > 0


def test_whole_rankings_hold_no_circle_and_coins_a_quarter():
    rng = np.random.default_rng(6)
    ranked = cycles(crowd(rng, 9, 3).rankings(6, 9, rng))
    assert ranked.triads.max() > 0
    pairs = np.array(list(combinations(range(30), 2)))
    tossed = cycles(Comparisons.from_pairs(pairs[:, 0], pairs[:, 1], rng.integers(2, size=len(pairs))))
    assert tossed.triads.tolist() == [4060]
    assert tossed.circular[0] / 4060 == pytest.approx(0.25, abs=0.03)


def test_nothing_answered_holds_no_circle():
    assert cycles(Comparisons.from_pairs([0], [1], [0.5], n_items=3)).triads.tolist() == [0]


def test_places_chosen_by_each_add_up_to_those_of_all():
    rng = np.random.default_rng(7)
    data = crowd(rng, 8, 5, side_sd=1.0).pairs(300, rng)
    n, first = first_place_counts(data)
    whole = first_place(data)
    assert n.sum() == whole.n
    assert first.sum() / n.sum() == pytest.approx(whole.share)
    pairs = data.pairs()
    for annotator in range(5):
        assert first[annotator] == int((pairs.outcome[pairs.annotator == annotator] == 1).sum())


def known_places(camps: np.ndarray, sds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Posterior means of scores whose answers say `camps` with this noise, as if N(0, 1) before."""
    noise = sds**2 / (1 - sds**2)
    return (camps + np.sqrt(noise) * rng.standard_normal(camps.shape)) * (1 - sds**2)


def test_two_camps_are_found_and_who_is_in_which():
    rng = np.random.default_rng(8)
    camp = np.repeat([1, -1], [36, 24])
    truth = np.stack([camp * 1.2 + 0.3 * rng.standard_normal(60), 0.3 * rng.standard_normal(60)], axis=1)
    sds = np.full((60, 2), 0.4)
    found = groups(known_places(truth, sds, rng), sds)
    assert found.n == 2
    assert ((found.member == 0) == (camp == 1)).mean() > 0.95


def test_one_crowd_is_one_group_however_unequally_people_are_known():
    """Hardly known people stand near 0 because they are hardly known: no group in the middle."""
    rng = np.random.default_rng(9)
    for _ in range(2):
        sds = np.tile(rng.choice([0.3, 0.85], size=80)[:, None], (1, 2))
        assert groups(known_places(rng.standard_normal((80, 2)), sds, rng), sds).n == 1


def test_few_people_are_one_group():
    assert groups(np.array([[2.0], [-2.0], [2.1], [-2.1]]), np.full((4, 1), 0.3)).n == 1
