"""AngleBasedMixture: groups planted in simulated ballots, monotone bounds, probabilities that add up to one."""

import io
from itertools import pairwise, permutations
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from models_engine.benchmarks.apa import read_apa
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting, NotConverged
from models_engine.estimators import angle_mixture
from models_engine.estimators.angle_based import AngleBased
from models_engine.estimators.angle_mixture import AngleBasedMixture, AngleMixturePosterior
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.inference.angle.completions import draw_rankings
from models_engine.inference.angle.mixture import LabelProfiles, MixtureGroups
from models_engine.inference.angle.order_target import OrderTarget
from models_engine.linalg import centre
from models_engine.simulate import simulate_crowd
from tests.budget import examples
from tests.engine.estimators.test_angle_based import all_places, mixed_labels, plain_log_likelihood, rankings_of
from tests.pace import is_within
from tests.paths import DATA

APART = np.array([[-3.0, -1.5, 0.0, 1.5, 3.0], [2.0, 3.0, -3.0, -2.0, 0.0]])  # eta of two groups


def two_groups(seed: int = 0, n: int = 200) -> tuple[Comparisons, np.ndarray]:
    """Ballots, each by an annotator of its own, and the group each comes from; a third are of the second."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 1 / 3).astype(int)
    rankings = np.array([rankings_of(APART[one], 1, rng)[0] for one in group])
    return Comparisons.from_rankings(rankings, np.arange(n)), group


@pytest.fixture(scope="module")
def fitted_groups() -> AngleMixturePosterior:
    """The fit of `two_groups()`."""
    return AngleBasedMixture(2).fit(two_groups()[0])


@pytest.mark.slow
def test_simulated_groups_are_recovered(fitted_groups):
    _, group = two_groups()
    posterior = fitted_groups
    assert_allclose(posterior.shares.mean(axis=0), [1 - group.mean(), group.mean()], atol=0.06)
    assert_allclose(posterior.groups.mean(axis=0), -APART, atol=0.7)
    assert (posterior.memberships.argmax(axis=1) == group).mean() > 0.95
    crowd = posterior.shares.mean(axis=0) @ posterior.groups.mean(axis=0)
    assert_allclose(posterior.utilities(), crowd, atol=0.05)


@pytest.mark.slow
def test_dic_finds_the_number_of_groups():
    estimator = AngleBasedMixture(n_restarts=2, n_draws=400)
    assert estimator.fit(two_groups(n=60)[0]).shares.shape[1] == 2
    alike = rankings_of(APART[0], 60, np.random.default_rng(0))
    assert estimator.fit(Comparisons.from_rankings(alike, np.arange(60))).shares.shape[1] == 1


def test_dic_of_one_group_counts_its_parameters():
    """The deviance at the mean plus twice the effective number of parameters: kappa theta has t - 1."""
    data = Comparisons.from_rankings(rankings_of(APART[0], 400, np.random.default_rng(0)), np.arange(400))
    posterior = AngleBasedMixture(1).fit(data)
    profiles = LabelProfiles.of(data)
    deviance = -2 * float(profiles.count @ profiles.log_likelihood(-posterior.utilities()[None])[:, 0])
    assert (posterior.dic - deviance) / 2 == pytest.approx(4, abs=1)


def test_one_group_is_the_angle_based_model():
    data = mixed_labels()
    one, plain = AngleBasedMixture(1).fit(data), AngleBased(inference="laplace").fit(data)
    assert_allclose(one.utilities(), plain.utilities(), atol=0.2 * plain.standard_deviations().mean())
    assert_allclose(one.standard_deviations(), plain.standard_deviations(), rtol=0.15)


def test_profiles_hold_the_labels():
    """Three annotators with mixed labels, two of them alike."""
    part = mixed_labels()
    same = part.with_weights(part.weights)
    data = Comparisons.concatenate(
        [
            Comparisons.from_rankings([[0, 1, 2, 3, 4]], [0], n_items=5),
            Comparisons.from_rankings([[0, 1, 2, 3, 4]], [2], n_items=5),
            Comparisons.from_pairs([3, 1], [4, 2], [0.5, 0.0], [1, 1], n_items=5, weights=[1.0, 2.0]),
        ]
    )
    profiles, eta = LabelProfiles.of(data), np.random.default_rng(0).normal(size=(2, 5))
    assert profiles.count.tolist() == [2, 1]
    found = profiles.log_likelihood(centre(eta))[profiles.profile]
    for annotator in (0, 2):
        own = data.subset(data.annotators == annotator)
        assert_allclose(found[annotator], [plain_log_likelihood(own, centre(one)) for one in eta])
    halves = Comparisons.from_pairs([3, 4, 1], [4, 3, 2], [1, 1, 0], weights=[0.5, 0.5, 2.0], n_items=5)
    assert_allclose(found[1], [plain_log_likelihood(halves, centre(one)) for one in eta])
    by_one = LabelProfiles.of(same).log_likelihood(centre(eta)).sum(axis=0)
    assert_allclose(by_one, [plain_log_likelihood(part, centre(one)) for one in eta])


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), t=st.sampled_from([3, 5, 9]), n_groups=st.integers(1, 3))
@settings(max_examples=examples(8), deadline=None)
def test_the_bound_never_decreases_for_exact_and_variational_groups(seed, t, n_groups):
    rng = np.random.default_rng(seed)
    rankings = np.argsort(rng.random((30, t)) + 2 * rng.random((3, t))[rng.integers(3, size=30)], axis=1)
    profiles = LabelProfiles.of(Comparisons.from_rankings(rankings, np.arange(30)))
    memberships = rng.dirichlet(np.ones(n_groups), size=len(profiles.count))
    groups = MixtureGroups.of(profiles, memberships, 3.0, rng=rng)
    trace = [groups.bound]
    for _ in range(25):
        groups = MixtureGroups.of(profiles, groups.next_memberships(profiles), 3.0, groups, rng=rng)
        trace.append(groups.bound)
    assert (np.diff(trace) >= -1e-6 * np.abs(trace[1:])).all()


@pytest.mark.slow
def test_concentrated_groups_are_not_favoured():
    """Uniform ballots over four items: the approximate constant would reward groups of one ranking."""
    rankings = np.array(list(permutations(range(4))) * 4)
    posterior = AngleBasedMixture(4, n_restarts=2).fit(Comparisons.from_rankings(rankings, np.arange(len(rankings))))
    expected = posterior.shares.mean(axis=0) @ np.linalg.norm(posterior.groups.mean(axis=0), axis=1)
    assert expected < 3
    one = AngleBasedMixture(1).fit(Comparisons.from_rankings(rankings, np.arange(len(rankings))))
    assert posterior.dic > one.dic - 5


@pytest.mark.slow
def test_predictive_probabilities_sum_to_one_and_average_the_groups(fitted_groups):
    data, _ = two_groups()
    posterior = fitted_groups
    places = all_places(5)
    new = Comparisons.from_rankings(np.argsort(places, axis=1), np.full(120, 200))
    density = np.exp(posterior.log_predictive(new))
    assert density.sum() == pytest.approx(1, abs=1e-9)
    expected = np.zeros(120)
    for share, eta in zip((2 / 3, 1 / 3), APART, strict=True):
        log_weight = (places - 2) / np.sqrt(10) @ eta
        expected += share * np.exp(log_weight - logsumexp(log_weight))
    assert np.abs(density - expected).sum() / 2 < 0.1, "total variation distance"
    plain = np.exp(AngleBased().fit(data).log_predictive(new))
    assert np.abs(plain - expected).sum() / 2 > 0.3


@pytest.mark.slow
def test_annotators_who_only_compare_pairs_are_separated():
    rng = np.random.default_rng(0)
    group = np.arange(40) % 2
    left, right = np.array(np.triu_indices(5, 1)).repeat(2, axis=1)
    who = np.repeat(np.arange(40), len(left))
    a, b = np.tile(left, 40), np.tile(right, 40)
    outcome = (rng.random(len(a)) < 1 / (1 + np.exp(APART[group[who], a] - APART[group[who], b]))).astype(float)
    data = Comparisons.from_pairs(a, b, outcome, who)
    posterior = AngleBasedMixture(2).fit(data)
    agreement = (posterior.memberships.argmax(axis=1) == group).mean()
    assert max(agreement, 1 - agreement) > 0.95
    for annotator in (0, 1):
        own = posterior.for_annotator(annotator)
        assert np.corrcoef(own.utilities(), -APART[group[annotator]])[0, 1] > 0.9
        assert posterior.pairwise_probabilities(0, 3, annotator) == pytest.approx(own.preference(0, 3))
    assert posterior.divisiveness().argmin() != posterior.divisiveness().argmax()


def test_complete_rankings_of_many_items():
    rng = np.random.default_rng(0)
    truth = centre(rng.normal(size=(2, 12)) * 2)
    group = np.arange(60) % 2
    rankings = np.argsort(-(truth[group] + rng.gumbel(size=(60, 12))), axis=1)
    posterior = AngleBasedMixture(2).fit(Comparisons.from_rankings(rankings, np.arange(60)))
    agreement = (posterior.memberships.argmax(axis=1) == group).mean()
    assert max(agreement, 1 - agreement) > 0.95


@pytest.mark.slow
def test_groups_are_found_in_incomplete_rankings_of_many_items():
    """Thirty people, each of whom ranked six sets of three out of ten items, from two planted groups.

    By this seed the planted utilities tell all thirty apart (by others one of them answers as the other group would).
    """
    rng = np.random.default_rng(5)
    eta = centre(rng.normal(size=(2, 10)) * 4)
    group, who = np.arange(30) % 2, np.repeat(np.arange(30), 6)
    places = draw_rankings(eta[group[who]], rng)
    sets = np.argsort(rng.random(places.shape), axis=1)[:, :3]
    orders = np.take_along_axis(sets, np.argsort(np.take_along_axis(places, sets, axis=1), axis=1), axis=1)
    data = Comparisons.from_rankings(orders, who, n_items=10)
    two = AngleBasedMixture(2, n_restarts=2, n_draws=300).fit(data)
    assert two.diagnostics.converged
    agreement = (two.memberships.argmax(axis=1) == group).mean()
    assert max(agreement, 1 - agreement) > 0.9
    found, order = two.groups.mean(axis=0), [0, 1] if agreement > 0.5 else [1, 0]
    off = (found[order] + eta) / two.groups.std(axis=0)[order]
    assert np.sqrt((off**2).mean(axis=1)).max() < 1.5, "posterior standard deviations from what was planted"
    assert two.dic < AngleBasedMixture(1, n_draws=300).fit(data).dic - 5


@pytest.mark.slow
def test_groups_short_of_their_modes_end_where_exact_steps_end_for_less(monkeypatch: pytest.MonkeyPatch):
    """Steps of the memberships leave each group a share of the last rise below its mode: fewer derivatives, no fall."""
    rng = np.random.default_rng(3)
    eta, group = centre(rng.normal(size=(2, 10)) * 3), np.arange(40) % 2
    order = np.argsort(draw_rankings(eta[group], rng), axis=1)
    kept = np.sort(np.argsort(rng.random(order.shape), axis=1)[:, :4], axis=1)
    data = Comparisons.from_rankings(np.take_along_axis(order, kept, axis=1), np.arange(40), n_items=10)
    derivatives, fitted = OrderTarget._derivatives, MixtureGroups.of

    def fit_with(left_out: float) -> tuple[int, list[tuple[tuple[int, ...], float]]]:
        counted, trace = [0], []

        def count(*args: Any, **options: Any) -> tuple[float, np.ndarray, np.ndarray]:
            counted[0] += 1
            return derivatives(*args, **options)

        def keep(*args: Any, **options: Any) -> MixtureGroups:
            groups = fitted(*args, **options)
            trace.append((tuple(id(one.rankings[0]) for one in groups.groups), groups))
            return groups

        monkeypatch.setattr(angle_mixture, "LEFT_OUT", left_out)
        monkeypatch.setattr(OrderTarget, "_derivatives", count)
        monkeypatch.setattr(MixtureGroups, "of", keep)
        AngleBasedMixture(2, n_restarts=1, n_draws=10, tolerance=1e-6).fit(data)
        return counted[0], [(drawn, groups.bound) for drawn, groups in trace]

    (few, loose), (many, exact) = fit_with(0.1), fit_with(0.0)
    same = [after[1] - before[1] for before, after in pairwise(loose) if before[0] == after[0]]
    assert len(same) > 5
    assert min(same) > -1e-6, "over the same drawn rankings the bound never falls"
    assert loose[-1][1] > exact[-1][1] - 0.3, "two sets of drawn rankings differ by their own error"
    assert few < many


@pytest.mark.slow
def test_one_group_of_incomplete_rankings_of_many_items_is_the_angle_based_model():
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 10, 4).choices(60, 4, rng)
    one, plain = AngleBasedMixture(1, n_draws=300).fit(data), AngleBased(inference="laplace").fit(data)
    assert_allclose(one.utilities(), plain.utilities(), atol=0.2 * plain.standard_deviations().mean())
    assert_allclose(one.standard_deviations(), plain.standard_deviations(), rtol=0.2)


@pytest.mark.slow
def test_storing_loading_and_restricting_keep_predictions():
    data, _ = two_groups(n=60)
    posterior = AngleBasedMixture(2, n_draws=300, n_restarts=1).fit(data)
    file = io.BytesIO()
    np.savez(file, **posterior.to_arrays())
    file.seek(0)
    loaded = AngleMixturePosterior.from_arrays(np.load(file, allow_pickle=False))
    assert_allclose(loaded.log_predictive(data), posterior.log_predictive(data))
    assert loaded.dic == posterior.dic
    part = posterior.restrict([4, 1])
    assert part.pairwise_probabilities(0, 1) == pytest.approx(posterior.pairwise_probabilities(4, 1))
    components = posterior.components()
    assert components.are_groups
    assert components.share.sum() == pytest.approx(1)
    own = posterior.utilities() + components.annotator_scores @ components.item_loadings.T
    assert_allclose(own, posterior.memberships @ posterior.groups.mean(axis=0), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e6, 1e9, 1e12])
def test_huge_weights_are_fitted_and_the_caller_is_heard_at_least_once_a_second(weight):
    """Three rankings that count a million times and more: rounding errors of the bound must not keep it from ending."""
    rng = np.random.default_rng(0)
    data = Comparisons.from_rankings([rng.permutation(4) for _ in range(3)], range(3), weights=weight * np.ones(3))
    heard = [process_time()]
    posterior = AngleBasedMixture().fit(data, progress=lambda *_: heard.append(process_time()))
    heard.append(process_time())
    assert posterior.diagnostics.converged
    assert np.isfinite(posterior.utilities()).all()
    assert is_within(np.diff(heard).max(), 1), "seconds of computing during which nothing could be cancelled"
    assert is_within(heard[-1] - heard[0], 20)


@pytest.mark.slow
def test_a_group_whose_mode_diverges_is_reported():
    """Nothing but the one order, a billion times: beyond the length that sums over rankings can hold."""
    data = Comparisons.from_rankings([range(8)], [0], weights=[1e12])
    with pytest.warns(NotConverged):
        posterior = AngleBasedMixture(1).fit(data)
    assert not posterior.diagnostics.converged


def test_bad_settings_are_reported():
    with pytest.raises(InvalidSetting, match="n_groups=0"):
        AngleBasedMixture(0).fit(two_groups(n=10)[0])
    with pytest.raises(InvalidData, match="give two or more"):
        AngleBasedMixture(1).fit(Comparisons.from_pairs([], [], [], n_items=1))


@pytest.mark.slow
@pytest.mark.skipif(
    not (DATA / "apa1980" / "full_rankings.csv.gz").is_file(), reason=f"the APA ballots are not in {DATA}"
)
def test_two_groups_predict_held_out_ballots_better_than_one():
    rankings = read_apa(DATA)
    test = np.random.default_rng(0).permutation(len(rankings)) % 5 == 0
    train = Comparisons.from_rankings(rankings[~test], np.arange((~test).sum()))
    held_out = Comparisons.from_rankings(rankings[test], np.full(test.sum(), train.n_annotators))
    ours = AngleBasedMixture(2, n_restarts=2).fit(train).log_predictive(held_out).mean()
    theirs = PlackettLuce().fit(train).log_predictive(held_out).mean()
    assert ours > theirs + 0.05 > -np.log(120) + 0.05
