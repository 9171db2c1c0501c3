"""Machines beside people: what a machine can and can't do to a ranking, and figures against independent ones."""

import csv
import gzip
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.agreement import krippendorff_alpha
from models_engine.analysis.judged_sets import implied_answers
from models_engine.analysis.judges import best_places, judge
from models_engine.analysis.machine_weights import machine_weights
from models_engine.benchmarks.competitor_data import read_wmt13
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.crowd_bt import CrowdBT
from tests.paths import DATA

N_ITEMS, N_PEOPLE = 16, 12


def world(seed: int, utilities_of_machine) -> tuple[np.ndarray, Comparisons]:
    """People who follow Bradley-Terry, 30 answers each, and a machine that judges every pair in both orders."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.2, N_ITEMS)
    truth -= truth.mean()
    left, right = np.array([rng.choice(N_ITEMS, 2, replace=False) for _ in range(N_PEOPLE * 30)]).T
    first, second = np.triu_indices(N_ITEMS, 1)
    left, right = np.concatenate([left, first, second]), np.concatenate([right, second, first])
    who = np.concatenate([np.repeat(np.arange(N_PEOPLE), 30), np.full(2 * len(first), N_PEOPLE)])
    machine = utilities_of_machine(truth, rng)
    margin = np.where(who == N_PEOPLE, 3 * (machine[left] - machine[right]), truth[left] - truth[right])
    outcome = (rng.random(len(who)) < 1 / (1 + np.exp(-margin))).astype(float)
    return truth, Comparisons.from_pairs(left, right, outcome, who, n_items=N_ITEMS, n_annotators=N_PEOPLE + 1)


MACHINES = {
    "right": lambda truth, rng: truth,
    "of its own taste": lambda truth, rng: rng.normal(0, 1.5, N_ITEMS),
    "biased": lambda truth, rng: truth + rng.normal(0, 1.5, N_ITEMS),
    "guessing": lambda truth, rng: 0 * truth,
    "reversed": lambda truth, rng: -truth,
}


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "n"), [(CrowdBT(), 1), (BradleyTerry(), 12)], ids=["CrowdBT", "BradleyTerry"])
@pytest.mark.parametrize("kind", MACHINES)
def test_no_machine_moves_the_ranking_beyond_its_intervals(estimator, n, kind):
    inside, covered, of_people = [], [], []
    for seed in range(n):
        truth, data = world(seed, MACHINES[kind])
        weights, _ = machine_weights(data, N_PEOPLE)
        alone, both = estimator.fit(data.subset(data.annotators < N_PEOPLE)), estimator.fit(data.with_weights(weights))
        u, v = alone.utilities() - alone.utilities().mean(), both.utilities() - both.utilities().mean()
        inside.append(np.abs(v - u) < Z90 * alone.standard_deviations())
        covered.append(np.abs(v - truth) < Z90 * both.standard_deviations())
        of_people.append(np.abs(u - truth) < Z90 * alone.standard_deviations())
    assert np.mean(inside) == 1
    assert np.mean(covered) > np.mean(of_people) - 0.05


def graded_world(seed: int, utilities_of_machine, says) -> tuple[np.ndarray, Comparisons]:
    """The same where all say how much better, people by the size of a second logistic draw; says: the machine's grade
    by its margin."""
    truth, data = world(seed, utilities_of_machine)
    rng = np.random.default_rng(100 + seed)
    left, right = data.items[::2], data.items[1::2]
    felt = truth[left] - truth[right] + rng.logistic(size=data.n_labels)
    by_machine = data.annotators == N_PEOPLE
    machine = utilities_of_machine(truth, np.random.default_rng(200 + seed))
    margin = 3 * (machine[left] - machine[right])
    outcome = np.where(by_machine, margin + rng.logistic(size=len(felt)) > 0, felt > 0).astype(float)
    grades = np.where(by_machine, says(margin), 1 + (np.abs(felt) > 1.5))
    counts = {"n_items": N_ITEMS, "n_annotators": N_PEOPLE + 1}
    return truth, Comparisons.from_pairs(left, right, outcome, data.annotators, grades=grades, **counts)


SAYINGS = {
    "by its margin": lambda margin: 1 + (np.abs(margin) > 1.5),
    "always clearly": lambda margin: np.full(len(margin), 2),
    "the wrong way": lambda margin: 2 - (np.abs(margin) > 1.5),
    "never": lambda margin: np.zeros(len(margin), dtype=int),
}


@pytest.mark.slow
@pytest.mark.parametrize("saying", SAYINGS)
@pytest.mark.parametrize("kind", ["biased", "guessing", "reversed"])
def test_no_machine_that_grades_moves_the_ranking_beyond_its_intervals(kind, saying):
    inside, covered, of_people = [], [], []
    for seed in range(3):
        truth, data = graded_world(seed, MACHINES[kind], SAYINGS[saying])
        weights, _ = machine_weights(data, N_PEOPLE)
        alone = BradleyTerry().fit(data.subset(data.annotators < N_PEOPLE))
        both = BradleyTerry().fit(data.with_weights(weights))
        u, v = alone.utilities() - alone.utilities().mean(), both.utilities() - both.utilities().mean()
        inside.append(np.abs(v - u) < Z90 * alone.standard_deviations())
        covered.append(np.abs(v - truth) < Z90 * both.standard_deviations())
        of_people.append(np.abs(u - truth) < Z90 * alone.standard_deviations())
    assert np.mean(inside) == 1
    assert np.mean(covered) > np.mean(of_people) - 0.05


def test_grades_lower_the_share_of_a_machine_whose_answers_they_make_more_precise():
    data = graded_world(1, MACHINES["biased"], SAYINGS["by its margin"])[1]
    graded, plain = (machine_weights(one, N_PEOPLE)[1][0] for one in (data, data.without_grades()))
    assert 0 < graded < plain


def test_a_machine_that_judges_as_people_do_counts_more_than_one_that_guesses():
    shares = {kind: machine_weights(world(0, utilities)[1], N_PEOPLE)[1][0] for kind, utilities in MACHINES.items()}
    assert shares["right"] > 1.5 * max(shares["guessing"], shares["reversed"], shares["of its own taste"])


def test_without_people_a_machine_counts_for_nothing():
    _, data = world(0, MACHINES["right"])
    alone = data.subset(data.annotators == N_PEOPLE)
    weights, shares = machine_weights(alone, N_PEOPLE)
    assert (weights == 0).all()
    assert shares.tolist() == [0]


def test_both_orders_of_a_pair_share_one_weight():
    _, data = world(0, MACHINES["right"])
    weights, shares = machine_weights(data, N_PEOPLE)
    assert (weights[data.annotators < N_PEOPLE] == 1).all()
    assert_allclose(weights[data.annotators == N_PEOPLE], shares[0] / 2)


def crowd(seed: int, n_pairs: int = 400, n_people: int = 4):
    """Pairs on whose answers people agree by a common margin; (answers of people, the margins)."""
    rng = np.random.default_rng(seed)
    margin = rng.normal(0, 1.5, n_pairs)
    pair, who = np.repeat(np.arange(n_pairs), n_people), np.tile(np.arange(n_people), n_pairs)
    chosen = (rng.random(len(pair)) < 1 / (1 + np.exp(-margin[pair]))).astype(float)
    return margin, pair, who, chosen


def answers(pair, who, chosen, swapped=None):
    """Pairs of items 2p and 2p+1, as they were shown."""
    swapped = np.zeros(len(pair), dtype=bool) if swapped is None else swapped
    left, right = np.where(swapped, 2 * pair + 1, 2 * pair), np.where(swapped, 2 * pair, 2 * pair + 1)
    return Comparisons.from_pairs(left, right, np.where(swapped, 1 - chosen, chosen), who)


def with_machine(seed: int, answer):
    """People's answers and a machine's, in both orders; answer(margin of the item shown first, rng) is its choice."""
    margin, pair, who, chosen = crowd(seed)
    rng = np.random.default_rng(seed + 100)
    again = np.tile(np.arange(len(margin)), 2)
    swapped = np.repeat([False, True], len(margin))
    said = answer(np.where(swapped, -margin[again], margin[again]), rng)
    data = answers(
        np.concatenate([pair, again]),
        np.concatenate([who, np.full(len(again), 4)]),
        np.concatenate([chosen, np.where(swapped, 1 - said, said)]),
        np.concatenate([np.zeros(len(pair), dtype=bool), swapped]),
    )
    found, sets = implied_answers(data)
    return found.subset(found.who < 4), found.subset(found.who == 4), sets


@pytest.mark.slow
def test_one_more_person_is_worth_one_person():
    """A machine that answers like one person, and the same in both orders: 200 answers are worth 100."""
    covered, worths = [], []
    for seed in range(6):

        def person(margin, rng):
            half = len(margin) // 2
            first = (rng.random(half) < 1 / (1 + np.exp(-margin[:half]))).astype(float)
            return np.concatenate([first, 1 - first])

        told = judge(*with_machine(seed, person))
        covered.append(told.worth.low <= 50 <= told.worth.high)
        worths.append(told.worth.value)
    assert np.mean(covered) >= 5 / 6
    assert np.mean(worths) == pytest.approx(50, rel=0.2)


def test_agreement_of_people_is_krippendorffs_alpha():
    _margin, pair, who, chosen = crowd(1)
    data = answers(pair, who, chosen)
    found, sets = implied_answers(data)
    told = judge(found, found.subset(found.who == 0), sets)
    assert told.people.value == pytest.approx(krippendorff_alpha(data).alpha, abs=0.002)
    assert told.people.low < told.people.value < told.people.high


def test_a_machine_that_sees_only_the_place_is_found_out():
    told = judge(*with_machine(0, lambda margin, rng: np.ones(len(margin))))
    assert (told.position.value, told.order.value) == (1, 0)
    assert told.position.low > 0.98
    assert abs(told.agreement.value) < 1e-9
    assert (told.worth.value, told.spared.value) == (0, 1600)


def test_a_machine_that_knows_the_margins_is_consistent_and_worth_more_than_people():
    told = judge(*with_machine(0, lambda margin, rng: (margin > 0).astype(float)))
    assert (told.position.value, told.order.value) == (0.5, 1)
    assert told.agreement.value > told.people.value
    assert told.worth.value > 50
    assert told.spared.value < 1600 - 400


def test_the_longer_item_and_tags_are_told_apart():
    people, machine, sets = with_machine(0, lambda margin, rng: (margin > 0).astype(float))
    n = sets.n_sets
    longer = np.where(np.arange(n) % 2, 1.0, -1.0)
    prefers = replace(machine, value=longer[machine.cell])
    half = np.arange(n) < n // 2
    told = judge(people, prefers, sets, lengths=longer, tags={"first half": half, "none": np.zeros(n, dtype=bool)})
    assert told.longer.value == 1
    assert told.longer_difference.low > 0.4
    assert told.people_longer.value == pytest.approx(0.5, abs=0.05)
    assert told.tags["first half"].n == n // 2
    assert np.isnan(told.tags["none"].value)


def test_without_pairs_of_two_people_the_worth_is_not_known():
    people, machine, sets = with_machine(0, lambda margin, rng: (margin > 0).astype(float))
    told = judge(people.subset(people.who == 0), machine, sets)
    assert np.isnan(told.worth.value)
    assert np.isnan(told.people.value)
    assert told.agreement.value > 0


def llmfao(rows: list[dict[str, str]], *, by_prompt: bool) -> tuple[Comparisons, int]:
    """The answers about models, or about their answers to each prompt, and a judge who is asked about every pair."""
    prompt, who, left, right = (
        np.array([int(row[name]) for row in rows]) for name in ("prompt", "worker", "left", "right")
    )
    outcome = np.array([{"left": 1.0, "right": 0.0, "tie": 0.5}[row["winner"]] for row in rows])
    n_people, offset = int(who.max()) + 1, 59 * prompt * by_prompt
    asked = np.unique(np.sort(np.stack([left + offset, right + offset]), axis=0), axis=1)
    first, second = np.concatenate([asked, asked[::-1]], axis=1)
    data = Comparisons.from_pairs(
        np.concatenate([left + offset, first]),
        np.concatenate([right + offset, second]),
        np.concatenate([outcome, (first < second).astype(float)]),
        np.concatenate([who, np.full(len(first), n_people)]),
    )
    return data, n_people


@pytest.mark.slow
def test_people_of_llmfao_beside_a_scripted_judge():
    """People who compared answers of 59 models, and a judge that prefers whatever comes first in the alphabet."""
    path = DATA / "llmfao" / "comparisons.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    data, n_people = llmfao(rows, by_prompt=False)
    weights, shares = machine_weights(data, n_people)
    alone, both = (
        BradleyTerry().fit(data.subset(data.annotators < n_people)),
        BradleyTerry().fit(data.with_weights(weights)),
    )
    shift = both.utilities() - both.utilities().mean() - alone.utilities() + alone.utilities().mean()
    assert (np.abs(shift) < Z90 * alone.standard_deviations()).all()
    assert shares[0] < 0.3
    data, n_people = llmfao(rows, by_prompt=True)
    found, sets = implied_answers(data)
    assert sets.n_sets == 2139
    told = judge(found.subset(found.who < n_people), found.subset(found.who == n_people), sets)
    assert told.agreement.high < told.people.low
    assert told.order.value == 1
    assert told.worth.high < 20


K = 4
SETS_OF_ITEMS = 12


def sets_world(seed: int, utilities_of_machine, kind: str) -> tuple[np.ndarray, Comparisons]:
    """People who answer about sets of four by Gumbel noise, and a machine asked about every fifth set twice; one
    without utilities goes by the place."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.2, SETS_OF_ITEMS)
    truth -= truth.mean()
    theirs = np.array([rng.choice(SETS_OF_ITEMS, K, replace=False) for _ in range(N_PEOPLE * 20)])
    every = np.array(list(combinations(range(SETS_OF_ITEMS), K)))[::5]
    sets = np.concatenate([theirs, every, every[:, ::-1]])
    who = np.concatenate([np.repeat(np.arange(N_PEOPLE), 20), np.full(2 * len(every), N_PEOPLE)])
    utilities = utilities_of_machine(truth, rng)
    felt_by_it = np.arange(3 * K, 0, -3) if utilities is None else 3 * utilities[sets]
    felt = np.where((who == N_PEOPLE)[:, None], felt_by_it, truth[sets]) + rng.gumbel(size=sets.shape)
    return truth, answers_about(sets, felt, who, kind)


def answers_about(sets, felt, who, kind: str, **counts) -> Comparisons:
    """Answers by a kind of task; felt (n, k): the more, the better."""
    order = np.take_along_axis(sets, np.argsort(-felt, axis=1), axis=1)
    known = {"n_items": SETS_OF_ITEMS, "n_annotators": N_PEOPLE + 1, **counts}
    if kind == "best":
        return Comparisons.from_choices(order[:, 0], sets, who, **known)
    if kind == "best_worst":
        return Comparisons.from_best_worst(order[:, 0], order[:, -1], sets, who, **known)
    if kind == "top":
        return Comparisons.from_top(order[:, :2], sets, who, **known)
    return Comparisons.from_rankings(order, who, shown=sets, **known)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["best", "best_worst", "ranking"])
@pytest.mark.parametrize("kind", ["biased", "guessing", "reversed", "by place"])
def test_no_machine_that_answers_sets_moves_the_ranking_beyond_its_intervals(kind, task):
    inside, covered, of_people = [], [], []
    for seed in range(2):
        truth, data = sets_world(seed, sets_machine(kind), task)
        weights, _ = machine_weights(data, N_PEOPLE)
        alone = BradleyTerry().fit(data.subset(data.annotators < N_PEOPLE))
        both = BradleyTerry().fit(data.with_weights(weights))
        u, v = alone.utilities() - alone.utilities().mean(), both.utilities() - both.utilities().mean()
        inside.append(np.abs(v - u) < Z90 * alone.standard_deviations())
        covered.append(np.abs(v - truth) < Z90 * both.standard_deviations())
        of_people.append(np.abs(u - truth) < Z90 * alone.standard_deviations())
    assert np.mean(inside) == 1
    assert np.mean(covered) > np.mean(of_people) - 0.06


def sets_machine(kind: str):
    if kind == "biased":
        return lambda truth, rng: truth + rng.normal(0, 1.5, SETS_OF_ITEMS)
    return (lambda truth, rng: None) if kind == "by place" else MACHINES[kind]


def test_a_reversed_machine_unweighed_would_move_it():
    """The control of the test above: at full weight its answers do leave people's intervals."""
    _truth, data = sets_world(0, MACHINES["reversed"], "best")
    alone, both = (BradleyTerry().fit(one) for one in (data.subset(data.annotators < N_PEOPLE), data))
    shift = both.utilities() - both.utilities().mean() - alone.utilities() + alone.utilities().mean()
    assert (np.abs(shift) > Z90 * alone.standard_deviations()).any()


def test_orders_of_a_set_share_one_weight_and_other_sets_have_their_own():
    _truth, data = sets_world(0, MACHINES["right"], "ranking")
    three = data.subset(np.append(np.arange(data.n_labels), data.n_labels - 1))  # the last set in three orders
    weights, shares = machine_weights(three, N_PEOPLE)
    last = np.unique(weights[three.annotators == N_PEOPLE])
    assert shares[0] > 0
    assert_allclose(last, [shares[0] / 3, shares[0] / 2])


def crowd_of_sets(seed: int, kind: str, n_sets: int, machine):
    """Sets of four items of their own, four people each; machine(utilities as shown, rng): what it feels of them."""
    rng = np.random.default_rng(seed)
    sets = np.arange(n_sets * K).reshape(n_sets, K)
    worth = rng.normal(0, 1.2, (n_sets, K))
    felt = [worth + rng.gumbel(size=worth.shape) for _ in range(4)]
    own = np.stack([machine(worth, rng), machine(worth[:, ::-1], rng)])
    shown = np.concatenate([np.tile(sets, (4, 1)), sets, sets[:, ::-1]])
    who = np.repeat([0, 1, 2, 3, 4, 4], n_sets)
    data = answers_about(shown, np.concatenate([*felt, *own]), who, kind, n_items=n_sets * K, n_annotators=5)
    found, judged = implied_answers(data)
    return found.subset(found.who < 4), found.subset(found.who == 4), judged, data


def person(worth, rng):
    return worth + rng.gumbel(size=worth.shape)


@pytest.mark.parametrize("kind", ["best", "best_worst", "top", "ranking"])
def test_answers_at_random_agree_by_chance_whatever_the_task(kind):
    people, machine, sets, data = crowd_of_sets(0, kind, 500, lambda worth, rng: rng.random(worth.shape))
    told = judge(people, machine, sets)
    assert told.agreement.low < 0 < told.agreement.high
    assert abs(told.agreement.value) < 0.05
    assert told.position.low < 0.5 < told.position.high
    assert all(place.low < 0.25 < place.high for place in best_places(data.subset(data.annotators == 4)))
    assert (told.n_answers, told.n_sets, told.n_shared, told.agreement.n) == (1000, 500, 500, 500)


@pytest.mark.parametrize("kind", ["best", "best_worst", "top", "ranking"])
def test_a_machine_that_names_what_stands_first_is_found_out(kind):
    people, machine, sets, data = crowd_of_sets(1, kind, 100, lambda worth, rng: np.tile([4.0, 3, 2, 1], (100, 1)))
    told = judge(people, machine, sets)
    assert told.position.value == 1
    assert told.order.value < 0.5
    assert told.agreement.value == pytest.approx(0, abs=0.01)
    assert [place.value for place in best_places(data.subset(data.annotators == 4))] == [1, 0, 0, 0]


def test_a_machine_that_prefers_the_middle_shows_by_place_and_not_by_position():
    middle = np.array([0, 9, 9, 0])
    people, machine, sets, data = crowd_of_sets(1, "best", 100, lambda worth, rng: middle + rng.random(worth.shape))
    told = judge(people, machine, sets)
    assert told.position.low < 0.5 < told.position.high
    first, second, third, last = best_places(data.subset(data.annotators == 4))
    assert min(second.low, third.low) > 0.35
    assert max(first.high, last.high) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["best", "ranking"])
def test_of_sets_too_one_more_person_is_worth_one_person(kind):
    """A machine that answers each set as one person does, the same in both orders: 200 answers are worth 100."""
    worths, covered = [], []
    for seed in range(5):
        kept: list[np.ndarray] = []

        def one(worth, rng, kept=kept):
            kept.append(person(worth, rng) if not kept else kept[0][:, ::-1])
            return kept[-1]

        people, machine, sets, _data = crowd_of_sets(seed, kind, 250, one)
        told = judge(people, machine, sets)
        assert told.order.value == 1
        worths.append(told.worth.value)
        covered.append(told.worth.low <= 50 <= told.worth.high)
    assert np.mean(worths) == pytest.approx(50, rel=0.25)
    assert np.mean(covered) >= 0.8


def test_agreement_of_sets_by_hand():
    """Rankings A B C and A C B: of three pairs two agree: 1 - 4 / 6. A best against the other: 1 - (4 + 2) / 4."""
    data = Comparisons.from_rankings([[0, 1, 2], [0, 2, 1]] * 3, [0, 1] * 3, shown=[[0, 1, 2]] * 6)
    two = Comparisons.concatenate([shifted(data.subset([0, 1]), 3 * n) for n in range(3)])
    found, sets = implied_answers(two)
    told = judge(found.subset(found.who == 0), found.subset(found.who == 1), sets)
    assert told.agreement.value == pytest.approx(1 / 3)
    chosen = Comparisons.from_choices([0, 1, 3, 4], [[0, 1, 2]] * 2 + [[3, 4, 5]] * 2, [0, 1] * 2)
    found, sets = implied_answers(chosen)
    told = judge(found.subset(found.who == 0), found.subset(found.who == 1), sets)
    assert told.agreement.value == pytest.approx(-0.5)


def shifted(data: Comparisons, by: int) -> Comparisons:
    return Comparisons.from_ranks(np.split(data.ranks, data.starts[1:-1]), np.split(data.items + by, data.starts[1:-1]),
                                  data.annotators)  # fmt: skip


def test_sets_of_different_sizes_count_alike():
    """On pairs the machine agrees, on sets of four it does not: half a pair's agreement each, whatever the cells."""
    pairs = Comparisons.from_ranks([[0, 1]] * 4, [[0, 1], [0, 1], [2, 3], [2, 3]], [0, 1, 0, 1])
    fours = Comparisons.from_ranks(
        [[0, 1, 2, 3], [3, 2, 1, 0]] * 2, [[4, 5, 6, 7]] * 2 + [[8, 9, 10, 11]] * 2, [0, 1, 0, 1]
    )
    found, sets = implied_answers(Comparisons.concatenate([pairs, fours]))
    told = judge(found.subset(found.who == 0), found.subset(found.who == 1), sets)
    assert told.agreement.value == pytest.approx(0)
    assert told.n_sets == 4


@pytest.mark.parametrize("n_sets", [0, 1, 2])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_people", [0, 1, 2])
def test_next_to_no_answers_divide_by_nothing(n_sets, tied, n_people):
    """One set, ties alone, one person, nobody: figures are known or not, and never a warning."""
    ranks, sets, who = [], [], []
    for one in range(n_sets):
        for annotator in range(n_people + 1):
            ranks.append([0, 0, 0] if tied else [0, 1, 2])
            sets.append([3 * one, 3 * one + 1, 3 * one + 2])
            who.append(annotator)
    data = Comparisons.from_ranks(ranks, sets, who, n_items=9, n_annotators=3, tied=True if n_sets else None)
    found, judged = implied_answers(data)
    with np.errstate(all="raise"):
        told = judge(found.subset(found.who < n_people), found.subset(found.who == n_people), judged)
        weights, shares = machine_weights(data, n_people)
    assert told.n_sets == n_sets
    assert np.isfinite(weights).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    if n_sets < 2:
        assert np.isnan(told.agreement.value)


@pytest.mark.slow
def test_people_of_wmt_beside_a_scripted_judge_of_rankings():
    """Rankings of five systems with ties by people, and a judge that ranks what it is shown by the alphabet, in two
    orders of each set: no system leaves its interval, which at full weight some do."""
    if not (DATA / "wmt13_fr_en" / "rankings.csv.gz").exists():
        pytest.skip(f"{DATA / 'wmt13_fr_en'} is not there")
    contest = read_wmt13(DATA)
    some = contest.data.subset(np.arange(1_500))
    sets = contest.table.competitor[some.items].reshape(-1, 5)
    n_systems, n_people = int(contest.table.competitor.max()) + 1, some.n_annotators
    asked = np.unique(np.sort(sets, axis=1), axis=0)
    shown = np.concatenate([sets, asked, asked[:, ::-1]])
    ranks = np.concatenate([some.ranks.reshape(-1, 5), np.argsort(np.argsort(shown[len(sets) :], axis=1), axis=1)])
    who = np.concatenate([some.annotators, np.full(2 * len(asked), n_people)])
    data = Comparisons.from_ranks(ranks, shown, who, n_items=n_systems, n_annotators=n_people + 1, tied=True)
    weights, shares = machine_weights(data, n_people)
    alone = BradleyTerry().fit(data.subset(data.annotators < n_people))

    def moved(other: Comparisons) -> np.ndarray:
        found = BradleyTerry().fit(other).utilities()
        return np.abs(found - found.mean() - alone.utilities() + alone.utilities().mean()) > Z90 * (
            alone.standard_deviations()
        )

    assert not moved(data.with_weights(weights)).any()
    assert moved(data).any()
    assert shares[0] < 0.2
    found, judged = implied_answers(data)
    told = judge(found.subset(found.who < n_people), found.subset(found.who == n_people), judged)
    assert told.n_sets == len(asked)
    assert told.order.value == 1
    assert told.agreement.high < told.people.low
