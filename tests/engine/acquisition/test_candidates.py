"""The table of candidates: rounds against plain greedy matching, rules that every table keeps, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.acquisition import Aim, candidate_sets
from models_engine.acquisition.matching import match_pairs, match_sets
from models_engine.errors import InvalidAim, InvalidBoundaries, InvalidData
from tests.budget import examples

AIMS = [Aim("whole"), Aim("best", 3), Aim("classes", boundaries=(-0.5, 0.6))]


def greedy_rounds(pairs):
    """Match greedily, take those pairs away, match again."""
    rounds, number, left = {}, 0, list(range(len(pairs)))
    while left:
        busy, later = set(), []
        for row in left:
            if busy & set(pairs[row]):
                later.append(row)
            else:
                busy |= set(pairs[row])
                rounds[row] = number
        left, number = later, number + 1
    return [rounds[row] for row in range(len(pairs))]


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda p: p[0] < p[1]), min_size=1))
def test_rounds_of_pairs_are_those_of_repeated_greedy_matching(pairs):
    given_pairs = list(pairs)
    one, other = np.array(given_pairs).T
    assert match_pairs(one, other).tolist() == greedy_rounds(given_pairs)


def greedy_sets(gain, n, size):
    """Grow sets from the best pairs over a full table of gains, as the docstring of match_sets says."""
    found, number = [], 0
    pairs = sorted(((g, a, b) for (a, b), g in gain.items() if a < b), reverse=True)
    while True:
        free, before = set(range(n)), len(found)
        for _, a, b in pairs:
            if gain[a, b] <= 0 or not {a, b} <= free:
                continue
            members, total = [a, b], gain[a, b]
            while len(members) < size:
                added = {c: sum(gain[min(c, m), max(c, m)] for m in members) for c in free - set(members)}
                best = max(added, key=added.get, default=None)
                if best is None or added[best] <= 0:
                    break
                total += added[best]
                members.append(best)
            if len(members) == size:
                free -= set(members)
                gain.update({(min(p, q), max(p, q)): 0.0 for p in members for q in members if p != q})
                found.append((members, total, number))
        if len(found) == before:
            return found
        number += 1


@pytest.mark.parametrize("size", [3, 4])
def test_sets_are_grown_greedily(size):
    rng, n, width = np.random.default_rng(size), 14, 14
    gain = {(a, b): rng.random() for a in range(n) for b in range(a + 1, n)}
    band = np.zeros((n, 2 * width + 1))
    for (a, b), g in gain.items():
        band[a, b - a + width] = band[b, a - b + width] = g
    one, other = np.array(sorted(gain, key=gain.get, reverse=True)).T
    sets, gains, rounds = match_sets(band, one, other, size, 1_000)
    wanted = greedy_sets(gain, n, size)
    assert [members for members, _, _ in wanted] == sets.tolist()
    assert_allclose(gains, [total for _, total, _ in wanted])
    assert rounds.tolist() == [number for _, _, number in wanted]


@settings(deadline=None, max_examples=examples(15))
@given(st.integers(0, 10_000), st.sampled_from(AIMS), st.sampled_from([2, 3, 5]), st.integers(8, 60), st.booleans())
def test_what_every_table_keeps(seed, aim, size, n, with_covariance):
    rng = np.random.default_rng(seed)
    mean, part, eligible = rng.normal(size=n), rng.integers(2, size=n), rng.random(n) < 0.8
    part[:4] = 0
    root = 0.3 * rng.normal(size=(n, n)) / np.sqrt(n)
    covariance = root @ root.T + 0.05 * np.eye(n)
    given_one = {"covariance": covariance} if with_covariance else {}
    sd = np.sqrt(np.diagonal(covariance))
    found = candidate_sets(mean, sd, aim, set_size=size, parts=part, eligible=eligible, limit=40, rng=rng, **given_one)
    assert found.sets.shape == (len(found.gains), size)
    assert len(found.gains) <= 40
    assert (found.gains > 0).all()
    assert eligible[found.sets].all()
    assert (part[found.sets] == part[found.sets[:, :1]]).all()
    assert len({frozenset(row) for row in found.sets.tolist()}) == len(found.sets)
    assert all(len(set(row)) == size for row in found.sets.tolist())
    assert (np.diff(found.rounds) >= 0).all()
    for number in set(found.rounds.tolist()):
        here = found.rounds == number
        assert len(np.unique(found.sets[here])) == found.sets[here].size
        assert (np.diff(found.gains[here]) <= 0).all()


def test_the_best_k_are_asked_at_the_border_and_doubtful_items_first():
    mean = np.linspace(3, -3, 61)
    sd = np.full(61, 0.15)
    found = candidate_sets(mean, sd, Aim("best", 10), rng=np.random.default_rng(0))
    assert np.abs(mean[found.sets] - (mean[9] + mean[10]) / 2).max() < 0.5
    sd[30] = 2.0  # nobody knows where this one is
    assert 30 in candidate_sets(mean, sd, Aim("best", 10), rng=np.random.default_rng(0)).sets[0]


def test_before_any_answer_a_round_has_nearly_all_items():
    found = candidate_sets(np.zeros(40), np.ones(40), Aim("whole"), rng=np.random.default_rng(0))
    assert len(np.unique(found.sets[found.rounds == 0])) >= 38  # those left over are more than 24 places apart
    other = candidate_sets(np.zeros(40), np.ones(40), Aim("whole"), rng=np.random.default_rng(1))
    assert (found.sets[:20] != other.sets[:20]).any()  # equals are decided by lot
    again = candidate_sets(np.zeros(40), np.ones(40), Aim("whole"), rng=np.random.default_rng(0))
    assert_array_equal(found.sets, again.sets)


def test_items_within_the_margin_of_each_other_are_asked_no_more():
    mean, sd = np.repeat([2.0, 0.0], 5), np.full(10, 0.04)
    assert len(candidate_sets(mean, sd, Aim("whole"), margin=0.4, rng=np.random.default_rng(0)).sets) == 0
    assert len(candidate_sets(mean, sd, Aim("whole"), rng=np.random.default_rng(0)).sets) > 0


def test_one_item_in_doubt_is_still_put_into_a_set():
    mean, sd = np.array([4.0, 0.1, -4.0, -5.0]), np.array([0.2, 0.8, 0.2, 0.2])
    found = candidate_sets(mean, sd, Aim("classes", boundaries=(0.0,)), rng=np.random.default_rng(0))
    assert 1 in found.sets[0]


def test_parts_without_a_question_are_left_out():
    mean, parts = np.array([1.0, 0.5, 0.2, 0.0, 2.0, 1.0]), np.array([0, 0, 0, 0, 1, 1])
    found = candidate_sets(mean, np.full(6, 0.5), Aim("best", 2), parts=parts, rng=np.random.default_rng(0))
    assert set(found.sets.ravel().tolist()) <= {0, 1, 2, 3}
    alone = candidate_sets(mean, np.full(6, 0.5), Aim("whole"), parts=np.arange(6), rng=np.random.default_rng(0))
    assert alone.sets.shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"aim": Aim("best", 5)}, InvalidAim, "k is 5 and the largest part has 5 items"),
        ({"aim": Aim("best", 3), "parts": [0, 0, 0, 1, 1]}, InvalidAim, "k is 3 and the largest part has 3 items"),
        ({"mean": [0.0], "sd": [1.0]}, InvalidAim, "there are 1 items"),
        ({"mean": [0, 1, np.nan, 0, 0]}, InvalidData, "row 2: the mean is nan"),
        ({"sd": [1, 1, 1, 0, 1]}, InvalidData, "row 3: the standard deviation is 0.0"),
        ({"sd": [1, 1]}, InvalidData, r"sd \(2,\)"),
        ({"parts": [0, 1]}, InvalidData, "parts has 2 rows"),
        ({"set_size": 6}, InvalidData, "set_size is 6; give 2 to 5"),
        ({"set_size": 1}, InvalidData, "set_size is 1"),
        ({"lapse": 0.5}, InvalidData, "lapse is 0.5"),
        ({"margin": -1}, InvalidData, "margin is -1"),
        ({"covariance": np.eye(4)}, InvalidData, r"covariance has shape \(4, 4\)"),
        ({"eligible": [True]}, InvalidData, "eligible has shape"),
    ],
)
def test_bad_input_is_named(change, error, said):
    values = {"mean": [0, 1, 2, 3, 4], "sd": [1, 1, 1, 1, 1], "aim": Aim("whole"), "rng": np.random.default_rng(0)}
    with pytest.raises(error, match=said):
        candidate_sets(**(values | change))


@pytest.mark.parametrize(
    ("kind", "more", "error"),
    [
        ("all", {}, InvalidAim),
        ("best", {}, InvalidAim),
        ("best", {"k": 0}, InvalidAim),
        ("best", {"k": 1.5}, InvalidAim),
        ("classes", {}, InvalidAim),
        ("classes", {"boundaries": (1.0, 0.0)}, InvalidBoundaries),
        ("classes", {"boundaries": (np.inf,)}, InvalidBoundaries),
    ],
)
def test_bad_aims_are_named(kind, more, error):
    with pytest.raises(error):
        Aim(kind, **more)
