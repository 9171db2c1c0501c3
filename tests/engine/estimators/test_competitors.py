"""Competitors: honest intervals where pooled pairs have none, quadrature, symmetry, tags, features, bad input."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_expit

from models_engine.analysis.scores import score_competitors
from models_engine.benchmarks.competitors import N_CARELESS, OURS, POOLED, UNWEIGHED, measure_simulated, measure_speed
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, InsufficientData, InvalidData, InvalidSetting, NotConverged, TooLarge
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import CompetitorTable, count_evidence
from models_engine.estimators.competitors import MAX_EFFECTS, Competitors
from models_engine.inference.competitors.careless import attentive_shares
from models_engine.simulate import Competition, competition
from tests.engine.competitor_quadrature import assert_is_quadrature
from tests.pace import is_within


def table_of(truth: Competition, tags: bool = False) -> CompetitorTable:
    tag = np.repeat(truth.tag, truth.items.shape[1]) if tags else None
    return CompetitorTable.of(truth.competitor, context=truth.context, tag=tag)


@cache
def contest(seed: int = 0, n: int = 6, contexts: int = 30, labels: int = 900, **keywords):
    """(truth, labels, table)."""
    rng = np.random.default_rng(seed)
    truth = competition(rng, n, contexts, 15, **{"item_sd": 0.7, "tie": 0.5, "side": 0.3, **keywords})
    return truth, truth.pairs(labels, rng), table_of(truth, bool(keywords.get("n_tags")))


@pytest.mark.slow
def test_intervals_hold_the_truth_where_those_of_pooled_pairs_are_too_narrow():
    """14 crowds with lucky items and differing tastes; pooled Bradley-Terry is the control that must fail."""
    found = {row.estimator: row for row in measure_simulated(14, seed=3)}
    assert 0.85 <= found[OURS].coverage <= 0.95, found
    assert found[POOLED].coverage < 0.7, found
    assert 0.85 < found[OURS].spread < 1.15, found


@pytest.mark.slow
def test_intervals_hold_the_truth_where_a_fifth_of_the_annotators_answer_at_random():
    """12 crowds; the same fit without weighing annotators is the control that must fail."""
    found = {row.estimator: row for row in measure_simulated(12, seed=3, n_careless=N_CARELESS)}
    assert found[OURS].coverage >= 0.8, found
    assert found[OURS].coverage > found[UNWEIGHED].coverage + 0.15, found
    assert found[OURS].loss < found[UNWEIGHED].loss, found


def test_who_answers_at_random_loses_their_weight_and_attentive_annotators_keep_theirs():
    truth, data, table = contest(labels=3_000, n_careless=3)
    attentive = Competitors().fit(data, table).effects.attentive
    assert attentive.shape == (15,)
    assert attentive[:3].max() < 0.2
    assert attentive[3:].min() > 0.9
    assert_array_equal(Competitors(careless=False).fit(data, table).effects.attentive, 1)
    assert truth.n_careless == 3


def test_the_chance_to_be_attentive_is_that_of_a_mixture_by_hand():
    """One pair of items shown to three annotators ten times, ties left out: Bayes' rule with the share of the careless
    at its expectation, found by bisection."""
    right = np.array([10, 7, 0])
    outcome = np.concatenate([np.repeat([1.0, 0.0], [n, 10 - n]) for n in right])
    who = np.repeat(np.arange(3), 10)
    pairs = Comparisons.from_pairs(np.zeros(30, int), np.ones(30, int), outcome, who).pairs()
    margin = np.full(30, 1.5)
    ratio = np.exp(right * log_expit(1.5) + (10 - right) * log_expit(-1.5) - 10 * np.log(0.5))

    def attentive(careless):
        return (1 - careless) * ratio / ((1 - careless) * ratio + careless)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        expected = (1 + (1 - attentive(middle)).sum()) / (10 + 3)
        low, high = (middle, high) if expected > middle else (low, middle)
    assert_allclose(attentive_shares(pairs, margin, np.zeros(30)), attentive(low), rtol=1e-4)


def test_the_posterior_is_that_of_quadrature():
    """Two competitors: the items' difference in each context, their spread and the competitors' difference summed over
    grids."""
    rng = np.random.default_rng(1)
    truth = competition(rng, 2, 40, 5, item_sd=0.8)
    data, table = truth.pairs(400, rng), table_of(truth)
    found = Competitors(tastes=False, careless=False, side=False, tolerance=1e-6).fit(data, table)
    pairs = data.pairs()
    context = truth.context[pairs.left]
    first = np.bincount(context, (pairs.left % 2 == 0) == (pairs.outcome == 1), minlength=40)
    second = np.bincount(context, minlength=40) - first

    def answers(z: np.ndarray) -> np.ndarray:
        return first[:, None, None] * log_expit(z) + second[:, None, None] * log_expit(-z)

    assert_is_quadrature(found, answers, 241, 60, 41)


def test_more_answers_about_the_same_contexts_cannot_narrow_an_interval_below_what_contexts_allow():
    _, data, table = contest(2, contexts=8, labels=8 * 400, item_sd=1.0)
    found = Competitors().fit(data, table)
    floor = found.effects.item_spread[0] / np.sqrt(8)
    assert (found.standard_deviations() > 0.75 * floor).all()
    everything = Comparisons.concatenate([data] * 4)
    assert (Competitors().fit(everything, table).standard_deviations() > 0.75 * floor).all()


def test_tastes_of_few_annotators_widen_the_intervals():
    rng = np.random.default_rng(4)
    truth = competition(rng, 5, 200, 4, item_sd=0.3, taste_sd=0.8)
    data, table = truth.pairs(6_000, rng), table_of(truth)
    counted, not_counted = (Competitors(tastes=one).fit(data, table) for one in (True, False))
    assert counted.effects.taste[0] == pytest.approx(0.8, rel=0.35)
    assert not_counted.effects.taste[0] == 0
    assert counted.standard_deviations().mean() > 0.25
    assert not_counted.standard_deviations().mean() < 0.1
    assert_allclose(counted.utilities(), not_counted.utilities())


def test_where_nobody_differs_hardly_any_taste_is_found():
    _, data, table = contest(5, contexts=200, labels=6_000)
    assert Competitors().fit(data, table).effects.taste[0] < 0.15


def test_renaming_competitors_renames_and_reversing_negates():
    _, data, table = contest()
    found = Competitors(tolerance=1e-6).fit(data, table)
    order = np.random.default_rng(0).permutation(6)
    renamed = CompetitorTable.of(order[table.competitor], context=table.context)
    assert_allclose(Competitors(tolerance=1e-6).fit(data, renamed).utilities()[order], found.utilities(), atol=1e-4)
    pairs = data.pairs()
    back = Comparisons.from_pairs(pairs.left, pairs.right, 1 - pairs.outcome, pairs.annotator, n_items=data.n_items)
    reverse = Competitors(tolerance=1e-6).fit(back, table)
    assert_allclose(reverse.utilities(), -found.utilities(), atol=1e-4)
    assert_allclose(reverse.standard_deviations(), found.standard_deviations(), atol=1e-4)
    assert reverse.likelihood.side == pytest.approx(-found.likelihood.side, abs=1e-4)


def test_weight_2_is_the_row_twice():
    _, data, table = contest()
    doubled = Competitors(tolerance=1e-6, tastes=False).fit(data.with_weights(np.full(data.n_labels, 2.0)), table)
    twice = Competitors(tolerance=1e-6, tastes=False).fit(Comparisons.concatenate([data, data]), table)
    assert_allclose(doubled.utilities(), twice.utilities(), atol=1e-5)
    assert_allclose(doubled.covariance(), twice.covariance(), atol=1e-5)


def test_side_and_ties_are_recovered():
    _, data, table = contest(6, contexts=100, labels=6_000)
    found = Competitors().fit(data, table).likelihood
    assert abs(found.side - 0.3) < 3 * found.side_sd
    assert found.tie == pytest.approx(0.5, rel=0.15)


def test_contexts_are_the_connected_parts_where_none_are_given():
    _, data, table = contest(labels=3_000)
    assert len(np.unique(data.connected_parts())) == 30, "else the parts are not the contexts"
    found = Competitors().fit(data, CompetitorTable.of(table.competitor))
    assert_allclose(found.utilities(), Competitors().fit(data, table).utilities(), atol=1e-6)


@pytest.mark.slow
def test_tags_show_where_a_competitor_shines():
    truth, data, table = contest(7, n=8, contexts=300, labels=12_000, n_tags=3, tag_sd=0.6)
    found = Competitors().fit(data, table)
    error = (found.effects.tag_effects - truth.tag_effects) / found.effects.tag_effect_sds
    assert np.mean(np.abs(error) < 1.645) > 0.75
    assert np.corrcoef(found.effects.tag_effects.ravel(), truth.tag_effects.ravel())[0, 1] > 0.8
    own = found.for_tag(1)
    shown = truth.utilities + truth.tag_effects[1]
    assert np.mean(np.abs(own.utilities() - shown + shown.mean()) < 2 * own.standard_deviations()) > 0.8
    with pytest.raises(InvalidData, match="no tag 3; the fit has 3"):
        found.for_tag(3)


def test_tags_that_mean_nothing_are_shrunk_away():
    _, data, table = contest(8, contexts=200, labels=6_000, n_tags=3)
    found = Competitors().fit(data, table)
    assert np.abs(found.effects.tag_effects).max() < 0.25


def test_features_are_held_equal():
    """One competitor writes long answers and people like them long: with length known, it is no better."""
    rng = np.random.default_rng(9)
    truth = competition(rng, 4, 200, 20, item_sd=0.5, utility_sd=1e-9)
    length = rng.standard_normal(truth.items.size) + 2.0 * (truth.competitor == 0)
    longer = replace(truth, items=truth.items + 0.7 * length.reshape(truth.items.shape))
    data, table = longer.pairs(5_000, rng), table_of(longer)
    known = replace(data, item_features=10 * length[:, None])
    plain, held = Competitors().fit(data, table), Competitors().fit(known, table)
    assert plain.utilities()[0] > 0.8
    assert abs(held.utilities()[0]) < 3 * held.standard_deviations()[0]
    assert held.effects.features[0] == pytest.approx(0.07, abs=3 * held.effects.feature_sds[0]), (
        "per unit of the feature"
    )
    assert held.effects.feature_sds[0] < 0.01


def test_rankings_with_ties_enter_as_pairs_with_ties():
    """A weak order of three: a = b > c has a tie and two wins, each of weight 2 * 2 / (1 + 1 + 4)."""
    data = Comparisons.from_ranks([[0, 0, 1]], [[0, 1, 2]])
    pairs = data.pairs_with_ties()
    assert_array_equal(pairs.outcome, [0.5, 1, 1])
    assert_allclose(pairs.weight, 2 / 3)
    assert len(data.pairs()) == 2, "where equal ranks are merely untold"
    table = CompetitorTable.of([0, 1, 2])
    assert Competitors(tied_ranks=True).fit(data, table).likelihood.tie is not None
    assert Competitors().fit(data, table).likelihood.tie is None


def test_probabilities_agree_with_draws():
    _, data, table = contest()
    found = Competitors().fit(data, table)
    rng = np.random.default_rng(0)
    g = found.sample(40_000, rng=rng)
    items = g + rng.normal(scale=np.sqrt(found.effects.item_variance), size=g.shape)
    assert found.superiority(0, 1) == pytest.approx((g[:, 0] > g[:, 1]).mean(), abs=0.01)
    assert found.better_on_new_context(0, 1) == pytest.approx((items[:, 0] > items[:, 1]).mean(), abs=0.01)
    margin, side = items[:, 0] - items[:, 1], found.likelihood.side
    answers = (1 / (1 + np.exp(-margin - side)) + 1 / (1 + np.exp(-margin + side))) / 2
    wins = found.expected_wins()
    assert wins[0, 1] == pytest.approx(answers.mean(), abs=0.01)
    assert_allclose(wins + wins.T, 1)
    assert abs(wins[0, 1] - 0.5) < abs(found.superiority(0, 1) - 0.5), "one answer tells less than the average"


def test_what_was_seen_is_counted_by_hand():
    # contexts 0 and 1, items of competitors 0, 1, 2 in each; competitors 3 and 4 met only each other.
    table = CompetitorTable.of([0, 1, 2, 0, 1, 2, 3, 4], context=[0, 0, 0, 1, 1, 1, 2, 2])
    data = Comparisons.from_pairs([0, 3, 0, 6], [1, 5, 2, 7], [1, 0, 0.5, 1], [0, 1, 1, 0], weights=[1, 1, 1, 1])
    found = count_evidence(data, table)
    assert found.n_contexts.tolist() == [2, 1, 2, 1, 1]
    assert found.n_items.tolist() == [2, 1, 2, 1, 1]
    assert found.n_labels.tolist() == [3, 1, 2, 1, 1]
    assert found.n_annotators.tolist() == [2, 1, 1, 1, 1]
    assert found.part.tolist() == [0, 0, 0, 1, 1]
    assert (found.wins[0, 1], found.wins[2, 0], found.wins[0, 2], found.ties[0, 2], found.ties[2, 0]) == (1, 1, 0, 1, 1)


def test_a_posterior_comes_back_from_its_arrays():
    _, data, table = contest(7, n=8, contexts=300, labels=12_000, n_tags=3, tag_sd=0.6)
    found = Competitors().fit(data, table)
    again = CompetitorPosterior.from_arrays(found.to_arrays())
    assert_array_equal(again.utilities(), found.utilities())
    assert_array_equal(again.expected_wins(), found.expected_wins())
    assert_array_equal(again.for_tag(2).covariance(), found.for_tag(2).covariance())
    kept = found.restrict([5, 2])
    assert_allclose(kept.superiority(0, 1), found.superiority(5, 2))
    assert_allclose(kept.for_tag(1).superiority(0, 1), found.for_tag(1).superiority(5, 2))


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (lambda: CompetitorTable.of([0, 1, 7], n_competitors=3), InvalidData, "row 2.*7.*0 to 2"),
        (lambda: CompetitorTable.of([0, 1, -1]), InvalidData, "-1"),
        (lambda: CompetitorTable.of([0, 1, 1], context=[0, 0]), InvalidData, "context has 2 rows and competitor 3"),
        (lambda: CompetitorTable.of([0, 1], context=[0, 0], tag=[0, 1]), InvalidData, "item 1 has tag 1.*same tag"),
        (lambda: CompetitorTable.of([0, 1], tag=[0, 1]), InvalidData, "tags belong to contexts"),
    ],
)
def test_a_table_that_cannot_be_is_refused(table, error, words):
    with pytest.raises(error, match=words):
        table()


def test_bad_input_is_refused_with_value_and_next_step():
    data = Comparisons.from_pairs([0, 1], [1, 2], [1, 0])
    fit = Competitors().fit
    with pytest.raises(InsufficientData, match=r"all 3 compared items are of competitor 0; .*two competitors or more"):
        fit(data, CompetitorTable.of([0, 0, 0]))
    with pytest.raises(InvalidData, match=r"about 3 items .* competitors of 2"):
        fit(data, CompetitorTable.of([0, 1]))
    with pytest.raises(InvalidData, match="row 1: item 1 of context 0 is compared with item 2 of context 1"):
        fit(data, CompetitorTable.of([0, 1, 2], context=[0, 0, 1]))
    with pytest.raises(InsufficientData, match="no item is compared"):
        fit(Comparisons.from_pairs([], [], [], n_items=2), CompetitorTable.of([0, 1]))
    with pytest.raises(InsufficientData, match="no answer with a preference or a tie"):
        Competitors(ties="ignore").fit(Comparisons.from_pairs([0], [1], [0.5]), CompetitorTable.of([0, 1]))
    with pytest.raises(TooLarge, match="Merge tags"):
        fit(data, CompetitorTable.of([0, 1, 2], context=[0, 0, 0], tag=[0, 0, 0], n_tags=MAX_EFFECTS))
    with pytest.raises(InvalidSetting, match="tie_sd=0"):
        Competitors(tie_sd=0).fit(data, CompetitorTable.of([0, 1, 2]))
    with pytest.raises(Cancelled):
        fit(data, CompetitorTable.of([0, 1, 2]), progress=lambda *_: False)
    with pytest.warns(NotConverged):
        Competitors(max_iterations=1).fit(data, CompetitorTable.of([0, 1, 2]))


def test_one_answer_and_perfect_separation_give_finite_figures():
    one = Competitors().fit(Comparisons.from_pairs([0], [1], [1]), CompetitorTable.of([0, 1]))
    assert np.isfinite(one.utilities()).all()
    assert 0.5 < one.superiority(0, 1) < 0.95
    table = CompetitorTable.of(np.tile([0, 1], 50), context=np.repeat(np.arange(50), 2))
    data = Comparisons.from_pairs(np.arange(0, 100, 2), np.arange(1, 100, 2), np.ones(50))
    found = Competitors().fit(data, table)
    assert np.isfinite(found.covariance()).all()
    assert found.superiority(0, 1) > 0.99


@pytest.mark.alone
@pytest.mark.slow
def test_a_hundred_thousand_labels_take_under_five_seconds():
    seconds = float(measure_speed(0).split(": ")[1].split(" CPU")[0])
    assert is_within(seconds, 5)


def test_the_score_is_the_chance_to_win_a_new_prompt_against_an_average_competitor():
    """Against draws of the utility and of both items' effects; without a side effect the link is logistic."""
    _truth, data, table = contest()
    found = Competitors(side=False).fit(data, table)
    scores, rng = score_competitors(found), np.random.default_rng(2)
    own = rng.standard_normal((3, 200_000))
    effect = np.sqrt(found.effects.item_variance)
    for at in (0, 5):
        mean, deviation = found.utilities()[at], found.standard_deviations()[at]
        margin = mean + deviation * own[0] + effect * (own[1] - own[2])
        assert scores.score[at] == pytest.approx(100 * np.exp(log_expit(margin)).mean(), abs=0.3)
        low = mean - 1.6449 * deviation + effect * (own[1] - own[2])
        assert scores.low[at] == pytest.approx(100 * np.exp(log_expit(low)).mean(), abs=0.3)
