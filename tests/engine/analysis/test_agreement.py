"""Agreement, side bias and calibration: against slow definitions, scipy, symmetries and simulations."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import binomtest, kendalltau

from models_engine.analysis.agreement import (
    _chance_agreement,
    consensus_inflation,
    first_shown_share,
    krippendorff_alpha,
    variance_inflation,
    wilson_interval,
)
from models_engine.analysis.evaluation import (
    calibration_bins,
    evaluate_estimators,
    sample_annotators,
    sample_pairs,
    spiegelhalter_z,
)
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, InsufficientData
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.choosing import assign_folds
from models_engine.estimators.plackett_luce import PlackettLuce


def pairs(n: int, n_items: int, n_annotators: int, seed: int, *, ties: float = 0.0, worth=None) -> Comparisons:
    rng = np.random.default_rng(seed)
    shown = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n)])
    worth = np.zeros(n_items) if worth is None else np.asarray(worth)
    p = 1 / (1 + np.exp(worth[shown[:, 1]] - worth[shown[:, 0]]))
    outcome = np.where(rng.random(n) < ties, 0.5, rng.random(n) < p)
    return Comparisons.from_pairs(shown[:, 0], shown[:, 1], outcome, rng.integers(0, n_annotators, n), n_items=n_items)


class FailingEstimator(BradleyTerry):
    def fit(self, data, start=None, rng=None, progress=None):
        raise InsufficientData("give more.")


def slow_alpha(data: Comparisons) -> float:
    """By coincidences, answer by answer; both names of a pair's items are as frequent as each other by definition."""
    units: dict[tuple[int, int], dict[int, str]] = {}
    for label in range(data.n_labels):
        cell = slice(data.starts[label], data.starts[label + 1])
        cells = list(zip(data.items[cell].tolist(), data.ranks[cell].tolist(), strict=True))
        for (a, rank_a), (b, rank_b) in combinations(cells, 2):
            if rank_a == rank_b and len(cells) > 2:
                continue
            low = min(a, b)
            above = low if (rank_a < rank_b) == (a == low) else max(a, b)
            value = "tie" if rank_a == rank_b else ("low" if above == low else "high")
            units.setdefault((low, max(a, b)), {}).setdefault(int(data.annotators[label]), value)
    lists = [list(unit.values()) for unit in units.values() if len(unit) > 1]
    n = sum(map(len, lists))
    observed = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in lists) / n
    n_ties = sum(unit.count("tie") for unit in lists)
    frequency = [(n - n_ties) / 2, (n - n_ties) / 2, n_ties]
    same = sum(f * (f - 1) for f in frequency)
    return 1 - observed / (1 - same / (n * (n - 1)))


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_alpha_matches_the_definition(ties):
    data = pairs(300, 6, 7, seed=1, ties=ties, worth=[2, 1, 0, 0, -1, -2])
    assert krippendorff_alpha(data).alpha == pytest.approx(slow_alpha(data), abs=1e-12)


def test_alpha_of_rankings_follows_from_kendalls_tau():
    rng = np.random.default_rng(3)
    orders = np.array([np.argsort(np.arange(5) + rng.normal(0, 2, 5)) for _ in range(4)])
    data = Comparisons.from_rankings(orders, np.arange(4))
    found = krippendorff_alpha(data)
    tau = np.mean([kendalltau(np.argsort(a), np.argsort(b)).statistic for a, b in combinations(orders, 2)])
    n = 4 * 10
    assert found.alpha == pytest.approx(1 - (1 - tau) / 2 / (n / 2 / (n - 1)), abs=1e-12)
    assert (found.n_units, found.n_values) == (10, n)


def test_alpha_is_unchanged_by_item_names_and_sides():
    data = pairs(200, 5, 4, seed=2, ties=0.1, worth=[1, 1, 0, -1, -1])
    turned = Comparisons.from_pairs(
        data.items[1::2], data.items[::2], (1 + data.ranks[::2] - data.ranks[1::2]) / 2, data.annotators
    )
    assert krippendorff_alpha(turned).alpha == pytest.approx(krippendorff_alpha(data).alpha)
    assert krippendorff_alpha(data.renamed([3, 0, 4, 1, 2])).alpha == pytest.approx(krippendorff_alpha(data).alpha)


def test_alpha_is_zero_by_chance_and_one_for_unanimity():
    inside = 0
    for seed in range(40):
        found = krippendorff_alpha(pairs(400, 8, 6, seed=seed))
        inside += found.low <= 0 <= found.high
    assert 29 <= inside <= 40  # 90% of 40, four standard errors
    agreed = Comparisons.from_pairs([0, 0, 1, 1], [1, 1, 2, 2], [1, 1, 1, 1], [0, 1, 0, 1])
    assert krippendorff_alpha(agreed).alpha == 1
    assert np.isnan(krippendorff_alpha(Comparisons.from_pairs([0], [1], [1], [0])).alpha)
    assert np.isnan(krippendorff_alpha(Comparisons.from_pairs([0, 0], [1, 1], [0.5, 0.5], [0, 1])).alpha)
    twice = Comparisons.from_pairs([0, 0], [1, 1], [1, 0], [0, 0])  # one person is no crowd
    assert krippendorff_alpha(twice).n_units == 0


@pytest.mark.parametrize("answers", [[1, 1], [1, 0]], ids=["agreed", "opposed"])
def test_alpha_of_units_that_are_all_alike_has_an_interval(answers):
    """The units' spread is 0, which says nothing of the next ones: the more units, the narrower."""
    widths = []
    for n in (1, 5, 50):
        firsts, seconds = np.repeat(np.arange(n), 2), np.repeat(np.arange(n) + 1, 2)
        found = krippendorff_alpha(Comparisons.from_pairs(firsts, seconds, answers * n, [0, 1] * n))
        assert found.low <= found.alpha <= found.high
        widths.append(found.high - found.low)
    assert widths[0] > 0.5 > widths[2] > 0.04
    assert widths[0] > widths[1] > widths[2]


def test_an_interval_of_unanimity_holds_the_agreement_of_people_who_sometimes_err():
    """Two people who disagree on 3% of the pairs agree on all of 20 in .54 of crowds, whose intervals still hold it."""
    n = 20
    agreed = Comparisons.from_pairs(np.repeat(np.arange(n), 2), np.repeat(np.arange(n) + 1, 2), [1] * 2 * n, [0, 1] * n)
    found = krippendorff_alpha(agreed)
    assert found.low < 1 - 2 * 0.03 < found.high == 1


def test_first_shown_share_counts_labels_with_a_single_best_only():
    found = first_shown_share(Comparisons.from_pairs([0, 1, 2, 0], [1, 0, 0, 2], [1, 1, 0, 0.5], [0, 0, 0, 0]))
    assert (found.share, found.n, found.chance) == (pytest.approx(2 / 3), 3, 0.5)
    sets = Comparisons.from_choices([2, 0], [[2, 0, 1], [1, 0, 2]], [0, 0])
    assert (first_shown_share(sets).share, first_shown_share(sets).chance) == (0.5, pytest.approx(1 / 3))
    assert first_shown_share(Comparisons.from_rankings([[0, 1, 2]])).n == 0


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (50, 100), (7, 7)])
def test_wilson_interval_matches_scipy(k, n):
    expected = binomtest(k, n).proportion_ci(0.9, method="wilson")
    assert wilson_interval(k / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_calibration_accepts_correct_and_rejects_overconfident_probabilities():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.5, 1, 4000)
    y = (rng.random(4000) < p).astype(float)
    assert abs(spiegelhalter_z(p, y)) < 3
    steep = p**2 / (p**2 + (1 - p) ** 2)
    assert spiegelhalter_z(steep, y) > 5
    flat = 0.5 + (p - 0.5) / 2
    assert spiegelhalter_z(flat, y) < -5
    bins = calibration_bins(p, y)
    assert sum(one.n for one in bins) == 4000
    for one in bins:
        assert one.low <= one.predicted <= one.high
        assert one.came_low <= one.came_true <= one.came_high
        assert one.came_true == pytest.approx(one.predicted, abs=0.07)
    assert [one.low for one in calibration_bins(np.array([0.5, 1.0]), np.array([0.0, 1.0]))] == [0.5, 0.9]


def test_sampled_pairs_do_not_depend_on_the_answer():
    data = pairs(50, 5, 3, seed=1, ties=0.2)
    of_pairs = sample_pairs(data)
    untied = data.ranks[::2] != data.ranks[1::2]
    assert np.array_equal(of_pairs.items.reshape(-1, 2), data.items.reshape(-1, 2)[untied])
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(4) for _ in range(600)])
    shown = np.array([rng.permutation(order) for order in orders])
    drawn = sample_pairs(Comparisons.from_rankings(orders, np.arange(600) % 5, shown=shown))
    assert drawn.n_labels == 600
    above = drawn.ranks.reshape(-1, 2).argmin(axis=1)
    best = np.take_along_axis(drawn.items.reshape(-1, 2), above[:, None], axis=1)[:, 0]
    for order, winner, two in zip(orders.tolist(), best, drawn.items.reshape(-1, 2).tolist(), strict=True):
        assert winner == min(two, key=order.index)
    assert np.mean(above == 0) == pytest.approx(0.5, abs=0.09)


def test_evaluation_prefers_the_true_model():
    data = pairs(1500, 10, 8, seed=4, worth=np.linspace(3, -3, 10))
    candidates = {"BradleyTerry": BradleyTerry(), "flat": BradleyTerry(prior_sd=0.05)}
    right, flat = evaluate_estimators(data, candidates)
    assert (right.n, flat.n) == (1500, 1500)
    assert right.loss < flat.loss < np.log(2)
    assert right.accuracy > 0.75
    assert abs(right.z) < 3
    assert flat.z < -5


def test_accuracy_and_calibration_are_those_of_the_fair_labels():
    data = pairs(1500, 10, 8, seed=4, worth=np.linspace(3, -3, 10))
    shown = np.abs(data.items.reshape(-1, 2)[:, 0] - data.items.reshape(-1, 2)[:, 1])
    far = shown >= 5  # easy to predict
    (every,) = evaluate_estimators(data, {"BradleyTerry": BradleyTerry()})
    (easy,) = evaluate_estimators(data, {"BradleyTerry": BradleyTerry()}, fair=far)
    (hard,) = evaluate_estimators(data, {"BradleyTerry": BradleyTerry()}, fair=~far)
    assert easy.loss == hard.loss == every.loss, "all are fitted to and predicted"
    assert (easy.n_pairs, hard.n_pairs) == (far.sum(), (~far).sum())
    assert easy.accuracy > every.accuracy > hard.accuracy
    (none,) = evaluate_estimators(data, {"BradleyTerry": BradleyTerry()}, fair=np.zeros(1500, dtype=bool))
    assert (none.n_pairs, none.bins) == (0, ())


def test_evaluation_of_choices_and_of_an_estimator_that_fails():
    rng = np.random.default_rng(1)
    sets = np.array([rng.choice(6, 3, replace=False) for _ in range(150)])
    noisy = -sets + rng.gumbel(size=sets.shape)
    chosen = np.take_along_axis(sets, noisy.argmax(axis=1)[:, None], axis=1)[:, 0]
    data = Comparisons.from_choices(chosen, sets, rng.integers(0, 3, 150), n_items=6)
    good, bad = evaluate_estimators(data, {"PlackettLuce": PlackettLuce(), "hungry": FailingEstimator()})
    assert good.loss < np.log(3)
    assert 50 < good.n_pairs < 150
    assert bad.failed == "give more."
    assert evaluate_estimators(data, {"PlackettLuce": PlackettLuce()})[0].loss == good.loss
    with pytest.raises(Cancelled):
        evaluate_estimators(data, {"BradleyTerry": BradleyTerry()}, progress=lambda *_: False)


def test_the_gain_over_a_reference_is_paired_by_label():
    """One fifth of the labels of two annotators is predicted: labels count as independent."""
    data = pairs(2500, 10, 2, seed=4, worth=np.linspace(3, -3, 10))
    candidates = {"flat": BradleyTerry(prior_sd=0.3), "BradleyTerry": BradleyTerry()}
    flat, right = evaluate_estimators(data, candidates, reference="flat")
    out = assign_folds(data, 0) == 0
    losses = [
        -estimator.fit(data.subset(~out), rng=np.random.default_rng(0)).log_predictive(data.subset(out))
        for estimator in candidates.values()
    ]
    difference = losses[0] - losses[1]
    assert right.gain == pytest.approx(difference.mean()) == pytest.approx(flat.loss - right.loss)
    assert right.gain_error == pytest.approx(difference.std(ddof=1) / np.sqrt(len(difference)))
    assert np.isnan([flat.gain, evaluate_estimators(data, candidates)[1].gain]).all()


def test_sampling_annotators_keeps_all_their_labels():
    annotators = np.repeat(np.arange(30), np.arange(1, 31))  # 465 labels, annotator j gave j + 1
    data = Comparisons.from_pairs(np.zeros(465, int), np.ones(465, int), np.ones(465), annotators)
    kept = sample_annotators(data, 200)
    assert kept.sum() == 200
    share = np.bincount(annotators[kept], minlength=30) / np.arange(1, 31)
    assert ((share > 0) & (share < 1)).sum() <= 1
    assert 0 in share
    np.testing.assert_array_equal(kept, sample_annotators(data, 200))
    assert (kept != sample_annotators(data, 200, seed=1)).any()
    assert sample_annotators(data, 465).all()
    assert sample_annotators(data, 10_000).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_people", "k"), [(2, 20), (10, 10)])
def test_random_rankings_rarely_show_agreement_beyond_chance(n_people, k):
    """The pairs of one ranking hang together: as if independent, 13 to 21 of 100 such crowds agreed beyond chance."""
    rng = np.random.default_rng(0)
    found = [krippendorff_alpha(Comparisons.from_rankings(rng.permuted(np.tile(np.arange(k), (n_people, 1)), axis=1),
                                                 np.arange(n_people))) for _ in range(100)]  # fmt: skip
    assert np.mean([one.low > 0 for one in found]) < 0.1
    assert np.mean([one.low <= 0 <= one.high for one in found]) > 0.8


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [([0, 1, 2, 3, 4], 15 / 9), (list(range(9)), 23 / 9), ([0, 1, 1, 1], 4 / 2)],
    ids=["ranking of 5", "ranking of 9", "best of 4"],
)
def test_the_variance_of_chance_agreement_on_one_set(ranks, expected):
    """Of rankings by Kendall (1938); of the best of k, by hand: k - 1 alike with 1/k, else 1 otherwise, gives k/2."""
    one = Comparisons.from_ranks([ranks] * 12, [list(range(len(ranks)))] * 12, np.arange(12))
    shared = _chance_agreement(np.array([ranks]))[0]
    assert variance_inflation(one, 12 * 11 * shared) == pytest.approx(expected, rel=0.06)
    pair = Comparisons.from_pairs([0, 0], [1, 1], [1, 0], [0, 1])
    assert variance_inflation(pair, 2) == 1


def test_the_variance_of_chance_agreement_where_places_are_shared():
    """Against all random orders of both answers, listed; the first pattern alone would count no pair."""
    patterns = [[0, 0, 0], [0, 1, 1], [0, 1, 2], [0, 1, 2]]
    orders = [list(order) for pattern in patterns for order in permutations(pattern)]  # each pattern in 3! orders
    pairs = list(combinations(range(3), 2))
    signs = [np.sign([one[a] - one[b] for a, b in pairs]) for one in orders]
    scores = [one * other for one in signs for other in signs]
    n_shared, variance = _chance_agreement(np.array(patterns))
    assert n_shared == pytest.approx(np.mean([np.abs(row).sum() for row in scores]), rel=0.05)
    assert variance == pytest.approx(np.mean([np.sum(row) ** 2 for row in scores]), rel=0.06)
    data = Comparisons.from_ranks(patterns, [[0, 1, 2]] * 4, np.arange(4), tied=True)
    key = [[np.sign(one[b] - one[a]) for a, b in pairs] for one in orders]  # beside one order of all items
    expected = np.mean(np.sum(key, axis=1) ** 2) / np.mean(np.abs(key).sum(axis=1))
    assert consensus_inflation(data) == pytest.approx(expected, rel=0.05)


def test_a_probability_of_one_half_has_no_favourite():
    """Of items met nowhere else nothing is known: neither is the favourite, so half of them win, whichever did."""
    data = Comparisons.from_pairs(np.arange(0, 200, 2), np.arange(1, 200, 2), np.ones(100), n_items=200)
    found = evaluate_estimators(data, {"BradleyTerry": BradleyTerry()})[0]
    assert [(one.n, one.predicted, one.came_true) for one in found.bins] == [(100, 0.5, 0.5)]
    assert found.accuracy == 0.5


@pytest.mark.parametrize("k", [3, 5, 8])
def test_pairs_of_a_ranking_count_as_kendall_says(k):
    data = Comparisons.from_rankings([list(range(k))] * 3, annotators=[0, 1, 2])
    assert consensus_inflation(data) == pytest.approx((2 * k + 5) / 9, rel=0.05)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_each_pattern_of_shared_places_counts_as_often_as_it_came(order):
    """By hand: the best of 5 answers 4 pairs, agreeing 4, 2, 0, -2 or -4 (mean square 8); a ranking 10 (10 x 15/9)."""
    patterns = [[0, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 1, 2, 3, 4]]
    data = Comparisons.from_ranks([patterns[i] for i in order], [[0, 1, 2, 3, 4]] * 4, [0, 1, 2, 3])
    assert consensus_inflation(data) == pytest.approx((3 * 8 + 10 * 15 / 9) / (3 * 4 + 10), rel=0.04)


def test_pairs_alone_count_as_they_are():
    data = Comparisons.from_pairs(left=[0, 1, 2], right=[1, 2, 0], outcome=[1, 0.5, 0], annotators=[0, 0, 1])
    assert consensus_inflation(data) == 1
    assert consensus_inflation(data.subset(np.array([], dtype=int))) == 1


def test_intervals_of_people_who_rank_by_chance_hold_one_half():
    """As independent pairs, one in five intervals of 10 rankings of 5 by chance would miss .5, not one in ten."""
    k, n_rankings, n_people = 5, 10, 600
    rng = np.random.default_rng(7)
    orders = rng.permuted(np.tile(np.arange(k), (n_people * n_rankings, 1)), axis=1)
    data = Comparisons.from_rankings(orders.tolist(), annotators=np.repeat(np.arange(n_people), n_rankings))
    pairs = data.pairs()
    follows = (pairs.left < pairs.right) == (pairs.outcome == 1)
    n = np.bincount(pairs.annotator, minlength=n_people)
    share = np.bincount(pairs.annotator[follows], minlength=n_people) / n
    counted = np.ceil(n / consensus_inflation(data)).astype(int)
    ends = np.array([wilson_interval(p, m) for p, m in zip(share, counted, strict=True)])
    covered = ((ends[:, 0] <= 0.5) & (ends[:, 1] >= 0.5)).mean()
    naive = np.array([wilson_interval(p, m) for p, m in zip(share, n, strict=True)])
    assert ((naive[:, 0] <= 0.5) & (naive[:, 1] >= 0.5)).mean() < 0.84
    assert 0.87 < covered < 0.95
