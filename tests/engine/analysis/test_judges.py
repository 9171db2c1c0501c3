"""Machines beside people: what a machine can and can't do to a ranking, and figures against independent ones."""

import csv
import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.agreement import krippendorff_alpha
from models_engine.analysis.judges import judge, machine_weights, pair_answers
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
@pytest.mark.parametrize(("estimator", "n"), [(CrowdBT(), 2), (BradleyTerry(), 6)], ids=["CrowdBT", "BradleyTerry"])
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
    found, items = pair_answers(data)
    return found.subset(found.who < 4), found.subset(found.who == 4), len(items)


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
    found, items = pair_answers(data)
    told = judge(found, found.subset(found.who == 0), len(items))
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
    people, machine, n = with_machine(0, lambda margin, rng: (margin > 0).astype(float))
    longer = np.where(np.arange(n) % 2, 1.0, -1.0)
    prefers = type(machine)(machine.pair, machine.who, longer[machine.pair], machine.shown_first)
    half = np.arange(n) < n // 2
    told = judge(people, prefers, n, lengths=longer, tags={"first half": half, "none": np.zeros(n, dtype=bool)})
    assert told.longer.value == 1
    assert told.longer_difference.low > 0.4
    assert told.people_longer.value == pytest.approx(0.5, abs=0.05)
    assert told.tags["first half"].n == n // 2
    assert np.isnan(told.tags["none"].value)


def test_without_pairs_of_two_people_the_worth_is_not_known():
    people, machine, n = with_machine(0, lambda margin, rng: (margin > 0).astype(float))
    told = judge(people.subset(people.who == 0), machine, n)
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
    found, items = pair_answers(data)
    assert len(items) == 2139
    told = judge(found.subset(found.who < n_people), found.subset(found.who == n_people), len(items))
    assert told.agreement.high < told.people.low
    assert told.order.value == 1
    assert told.worth.high < 20
