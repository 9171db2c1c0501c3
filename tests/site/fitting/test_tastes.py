"""Components of taste in the rows: what the estimator found, at most five, and who stands where along them."""

from itertools import combinations

import numpy as np
import pytest

from annotate.fitting.tastes import gamma_interval
from annotate.models import Project
from models_engine.models import MAX_COMPONENTS, AnnotatorEstimate, Estimate
from tests.conftest import make_annotator
from tests.site.fitting.test_run import answer_pairs, fit_now
from tests.site.replay import replay

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("quick_draws")]


@pytest.fixture
def divided(project) -> Project:
    """Six items, ranked by their order by half of the crowd and the other way round by the other half."""
    replay("divided", lambda: answer_divided(project))
    return project


def answer_divided(project: Project) -> None:
    pairs = list(combinations(project.items.order_by("pk"), 2))
    for number in range(8):
        answer_pairs([make_annotator(project, f"Otter {number}")], pairs, lambda a, b, n=number: int(n < 4))


def fitted(project: Project, estimator: str):
    Project.objects.update(estimator=estimator)
    fit = fit_now(project)
    fit.refresh_from_db()
    items = list(Estimate.objects.filter(fit=fit).order_by("item_id"))
    return fit, items, list(AnnotatorEstimate.objects.filter(fit=fit).order_by("annotator_id"))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["CollaborativeGP", "CrowdGPPL"])
def test_components_tell_the_two_halves_of_a_crowd_apart(divided, estimator):
    fit, items, people = fitted(divided, estimator)
    assert fit.components["kind"] == "tastes"
    shares = fit.components["shares"]
    assert 1 <= len(shares) <= MAX_COMPONENTS
    assert shares[0] > 0.5, "the crowd differs along one line"
    assert {len(row.loadings) for row in items} == {len(row.scores) for row in people} == {len(shares)}
    side = np.array([row.scores[0] for row in people])
    along = np.array([row.loadings[0] for row in items])
    by_order = np.arange(len(items))[::-1]
    assert abs(np.corrcoef(along, by_order)[0, 1]) > 0.9
    assert (np.sign(side) == np.sign(np.corrcoef(along, by_order)[0, 1]) * np.repeat([1, -1], 4)).all()
    for row in people:
        assert 0 < row.taste_distance_low < row.taste_distance < row.taste_distance_high
        # Of a chain that now and then takes somebody for reversed the mean may lie below 95% of the draws.
        assert 0.9 < row.reliability_low <= row.reliability < row.reliability_high <= 1


def test_an_estimator_without_tastes_stores_none(divided):
    fit, items, people = fitted(divided, "CrowdBT")
    assert fit.components is None
    assert {row.loadings for row in items} == {None}
    assert {(row.scores, row.taste_distance, row.taste_distance_low) for row in people} == {(None, None, None)}


@pytest.mark.slow
def test_groups_say_that_they_are_groups(divided):
    fit, _, people = fitted(divided, "AngleBasedMixture")
    assert fit.components["kind"] == "groups"
    assert sum(fit.components["shares"]) == pytest.approx(1, abs=1e-4)
    assert np.array([row.scores for row in people]).sum(axis=1) == pytest.approx(np.ones(8), abs=1e-4)
    assert [row.scores.index(max(row.scores)) == people[0].scores.index(max(people[0].scores)) for row in people] == (
        [True] * 4 + [False] * 4
    )


def test_the_gamma_interval_holds_ninety_percent():
    mean, sd = np.array([1.0, 0.2]), np.array([0.3, 0.15])
    low, high = gamma_interval(mean, sd, 0.9)
    rng = np.random.default_rng(0)
    for place in range(2):
        draws = rng.gamma((mean[place] / sd[place]) ** 2, sd[place] ** 2 / mean[place], 100_000)
        assert np.quantile(draws, [0.05, 0.95]) == pytest.approx([low[place], high[place]], abs=0.01)
    assert np.isfinite(gamma_interval(np.zeros(1), np.zeros(1), 0.9)).all()
