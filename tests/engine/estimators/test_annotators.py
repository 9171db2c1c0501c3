"""What is found out about single annotators: own rankings all at once, circles in answers, groups."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from models_engine.analysis.agreement import count_first_shown_wins, first_shown_share
from models_engine.analysis.cycles import count_cycles
from models_engine.analysis.groups import Enough, enough_to_tell, find_groups
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.estimators.collaborative.annotators import annotator_utilities
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.linalg import centre
from models_engine.simulate import Crowd, simulate_crowd

pytestmark = pytest.mark.usefixtures("quick_draws")


@cache
def fitted_crowd() -> tuple[Crowd, CollaborativePosterior]:
    rng = np.random.default_rng(3)
    world = simulate_crowd(rng, 14, 20, taste_sd=0.8, link="probit")
    return world, CollaborativeGP().fit(world.pairs(20 * 40, rng))


@pytest.mark.slow
def test_annotator_utilities_match_for_annotator():
    world, posterior = fitted_crowd()
    found = {one.annotator: one for one in annotator_utilities(posterior.tastes)}
    assert set(found) == set(range(world.n_annotators))
    for annotator, one in found.items():
        alone = posterior.for_annotator(annotator)
        assert one.mean == pytest.approx(alone.utilities(), abs=1e-9)
        assert one.sd == pytest.approx(alone.standard_deviations(), abs=1e-9)
        assert ((one.wrong_sign > 0) & (one.wrong_sign <= 0.5)).all()
        assert ((one.score_sds > 0) & (one.score_sds <= 1)).all()


@pytest.mark.slow
def test_annotator_utilities_of_some_items_are_centred_among_them():
    _, posterior = fitted_crowd()
    kept = np.array([1, 3, 4, 8, 11])
    for one in annotator_utilities(posterior.tastes, kept):
        alone = posterior.for_annotator(one.annotator).restrict(kept)
        assert one.mean == pytest.approx(alone.utilities(), abs=1e-9)
        assert one.sd == pytest.approx(alone.standard_deviations(), abs=1e-9)


@pytest.mark.slow
def test_intervals_of_annotator_utilities_and_differences_cover():
    own, differences = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        world = simulate_crowd(rng, 12, 24, taste_sd=0.7, link="probit")
        for one in annotator_utilities(CollaborativeGP().fit(world.pairs(24 * 30, rng)).tastes):
            truth = centre(world.own[one.annotator])
            apart = truth - centre(world.utilities)
            own.append(np.abs(one.mean - truth) < Z90 * one.sd)
            differences.append(np.abs(one.difference - apart) < Z90 * one.difference_sd)
    assert 0.83 < np.mean(own) < 0.98
    assert 0.83 < np.mean(differences) < 0.98


def count_cycles_by_hand(data: Comparisons, annotator: int) -> tuple[int, int]:
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
def test_cycles_match_a_count_by_hand(tie):
    rng = np.random.default_rng(5)
    data = simulate_crowd(rng, 7, 6, utility_sd=0.5, tie=tie).pairs(6 * 30, rng)
    found = count_cycles(data)
    by_hand = [count_cycles_by_hand(data, annotator) for annotator in range(6)]
    assert list(zip(found.circular.tolist(), found.triads.tolist(), strict=True)) == by_hand
    assert found.circular.sum() > 0


def test_rankings_have_no_cycles_and_random_answers_a_quarter():
    rng = np.random.default_rng(6)
    ranked = count_cycles(simulate_crowd(rng, 9, 3).rankings(6, 9, rng))
    assert ranked.triads.max() > 0
    pairs = np.array(list(combinations(range(30), 2)))
    tossed = count_cycles(Comparisons.from_pairs(pairs[:, 0], pairs[:, 1], rng.integers(2, size=len(pairs))))
    assert tossed.triads.tolist() == [4060]
    assert tossed.circular[0] / 4060 == pytest.approx(0.25, abs=0.03)


def test_no_answers_have_no_cycles():
    assert count_cycles(Comparisons.from_pairs([0], [1], [0.5], n_items=3)).triads.tolist() == [0]


def test_first_shown_wins_by_annotator_sum_to_the_total():
    rng = np.random.default_rng(7)
    data = simulate_crowd(rng, 8, 5, side_sd=1.0).pairs(300, rng)
    n, first = count_first_shown_wins(data)
    whole = first_shown_share(data)
    assert n.sum() == whole.n
    assert first.sum() / n.sum() == pytest.approx(whole.share)
    pairs = data.pairs()
    for annotator in range(5):
        assert first[annotator] == int((pairs.outcome[pairs.annotator == annotator] == 1).sum())


def simulate_scores(members: np.ndarray, sds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Posterior means of scores whose answers say `members` with this noise, as if N(0, 1) before."""
    noise = sds**2 / (1 - sds**2)
    return (members + np.sqrt(noise) * rng.standard_normal(members.shape)) * (1 - sds**2)


@pytest.mark.slow
def test_two_groups_and_their_members_are_found():
    rng = np.random.default_rng(8)
    camp = np.repeat([1, -1], [36, 24])
    truth = np.stack([camp * 1.2 + 0.3 * rng.standard_normal(60), 0.3 * rng.standard_normal(60)], axis=1)
    sds = np.full((60, 2), 0.4)
    found = find_groups(simulate_scores(truth, sds, rng), sds)
    assert found.n == 2
    assert ((found.member == 0) == (camp == 1)).mean() > 0.95


@pytest.mark.slow
def test_one_crowd_is_one_group_whatever_the_noise():
    """Hardly known people stand near 0 because they are hardly known: no group in the middle."""
    rng = np.random.default_rng(9)
    for _ in range(2):
        sds = np.tile(rng.choice([0.3, 0.85], size=80)[:, None], (1, 2))
        assert find_groups(simulate_scores(rng.standard_normal((80, 2)), sds, rng), sds).n < 2


def test_few_or_hardly_known_people_are_too_few_to_tell():
    assert find_groups(np.array([[2.0], [-2.0], [2.1], [-2.1]]), np.full((4, 1), 0.3)).n == 0
    assert find_groups(np.zeros((40, 1)), np.full((40, 1), 0.9)).n == 0
    assert find_groups(np.zeros((40, 0)), np.zeros((40, 0))).n == 0
    rng = np.random.default_rng(10)
    sds = np.full((9, 1), 0.6)
    found = find_groups(simulate_scores(rng.standard_normal((9, 1)), sds, rng), sds)
    assert found.n == 0
    assert found.power < 0.8


def test_one_well_known_crowd_is_told_to_be_one():
    rng = np.random.default_rng(11)
    sds = np.full((60, 1), 0.4)
    found = find_groups(simulate_scores(rng.standard_normal((60, 1)), sds, rng), sds)
    assert found.n == 1
    assert found.power >= 0.8


@pytest.mark.slow
def test_a_group_is_found_by_chance_in_no_more_than_its_level_of_crowds():
    """30 crowds of 15 people of one taste: at a level of 5%, six or more come out in fewer than 1 of 200 runs."""
    rng, sds, wrong = np.random.default_rng(12), np.full((15, 1), 0.45), 0
    for seed in range(30):
        wrong += find_groups(simulate_scores(rng.standard_normal((15, 1)), sds, rng), sds, most=2, seed=seed).n > 1
    assert wrong <= 5


@pytest.mark.slow
def test_twelve_people_of_two_clear_camps_are_two_groups():
    rng, camp, sds = np.random.default_rng(13), np.resize([1.0, -1.0], 12), np.full((12, 1), 0.3)
    right = 0
    for seed in range(10):
        places = camp[:, None] + 0.2 * rng.standard_normal((12, 1))
        right += find_groups(simulate_scores(places, sds, rng), sds, seed=seed).n == 2
    assert right >= 7


@pytest.mark.slow
def test_what_would_be_enough_to_find_groups_is():
    """Twelve people known to 0.5, or a crowd as large or as well known as is said: camps as they are found or not."""
    sds = np.full((12, 1), 0.5)
    enough = enough_to_tell(sds)
    assert not is_found_in(12, 12, 0.5)
    assert enough.annotators is not None
    assert is_found_in(14, enough.annotators, 0.5)
    known = enough_to_tell(np.full((20, 1), 0.6))
    assert known.answers is not None
    information = known.answers * (1 / 0.6**2 - 1)
    assert not is_found_in(12, 20, 0.6)
    assert is_found_in(14, 20, float((1 + information) ** -0.5))
    assert enough_to_tell(np.full((41, 1), 0.97)) == Enough(None, None), "hardly anything is known of anybody"
    assert enough_to_tell(np.zeros((0, 1))) == Enough(None, None)


def is_found_in(at_least: int, n: int, sd: float) -> bool:
    """Tell whether find_groups sees more than one group in at least so many of 20 crowds of two opposed camps, variance
    0.1 within each, stopping once that is decided."""
    sds, found = np.full((n, 1), sd), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        places = np.resize([1.0, -1.0], n) * np.sqrt(0.9) + np.sqrt(0.1) * rng.standard_normal(n)
        found += find_groups(simulate_scores(places[:, None], sds, rng), sds, most=2).n > 1  # a third changes nothing
        if found == at_least or seed + 1 - found > 20 - at_least:
            break
    return found == at_least
