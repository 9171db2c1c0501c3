"""Goals of one ranking of all items: reliability, stable places and settled grade boundaries."""

import numpy as np
import pytest
from django.urls import reverse

from annotate.fitting.arrays import stored_posterior
from annotate.models import Label, Project
from models_engine.analysis.done import threshold
from models_engine.models import Fit
from tests.conftest import NOW
from tests.site.api_client import Api
from tests.site.dashboard.test_goal import answers, fit_now, kept, plain, set_goal
from tests.site.pages import page, signed_in

pytestmark = pytest.mark.embedded

__all__ = ["plain"]
GRADES = [{"name": "Pass", "limit": 50}, {"name": "Fail", "limit": None}]


def confirmed(project: Project, right: float) -> Fit:
    """The second of two fits, 50 answers apart, that are within the rule; only by that is the goal met."""
    first = kept(fit_now(project))
    assert (first["met"], len(first["looks"])) == (False, 1)
    answers(project, 50, seed=11, right=right)
    fit = fit_now(project)
    assert kept(fit)["met"]
    return fit


@pytest.mark.slow
def test_a_reliability_is_forecast_then_met(plain, alice):
    set_goal(plain, alice, goal="reliability", goal_reliability=0.9)
    answers(plain, 20, right=0.7)
    assert kept(fit_now(plain))["why"] == "early"
    answers(plain, 20, seed=1, right=0.7)
    fit_now(plain)
    answers(plain, 20, seed=2, right=0.7)
    goal = kept(fit_now(plain))
    assert goal["state"] < 0.9
    assert goal["needed"][0] <= goal["needed"][1]
    assert "The reliability is at least 0.90." in page(signed_in(alice), plain, "progress")
    answers(plain, 900, seed=3, right=0.85)
    fit = confirmed(plain, 0.85)
    utility, sd = np.array(fit.estimates.values_list("utility", "sd")).T
    noise = (sd**2 - stored_posterior(fit)[0].along_scale ** 2).mean()  # at a known scale
    assert kept(fit)["state"] == pytest.approx(utility.var() / (utility.var() + noise))


@pytest.mark.slow
def test_places_are_stable_when_they_are_off_by_little_on_average(plain, alice):
    set_goal(plain, alice, goal="places", goal_places=0.2)
    answers(plain, 30, right=0.6)
    goal = kept(fit_now(plain))
    assert not goal["met"]
    assert goal["state"] > 0.2
    answers(plain, 1500, seed=1, right=0.9)
    goal = kept(confirmed(plain, 0.9))
    assert goal["state"] <= threshold("places", 0.2, plain=True)
    assert "off by at most 0.2 places on average" in page(signed_in(alice), plain, "progress")


@pytest.mark.slow
def test_boundaries_are_settled_when_few_items_are_on_the_wrong_side(plain, alice):
    set_goal(plain, alice, goal="boundaries", grades=GRADES)
    answers(plain, 15, right=0.6)
    assert not kept(fit_now(plain))["met"]
    answers(plain, 1200, seed=1, right=0.9)
    fit = confirmed(plain, 0.9)
    assert not fit.estimates.filter(score_low__lt=50, score_high__gt=50).exists()
    assert "1 of 1 are settled now." in page(signed_in(alice), plain, "progress")
    report = page(signed_in(alice), plain, "report")
    assert "Every grade boundary is settled" in report
    assert "You can stop now." in report
    assert Api(alice, plain)("get", "report").json()["goal"]["verdict"] == "met"


@pytest.mark.parametrize(
    "values",
    [
        {"goal": "reliability", "goal_reliability": 0.5},
        {"goal": "places", "goal_places": 100.0},
        {"goal": "boundaries", "grades": GRADES},
    ],
)
def test_parts_that_nothing_connects_have_no_such_goal(plain, alice, values):
    set_goal(plain, alice, **values)
    labels = answers(plain, 60)
    first = {item.pk for item in plain.items.order_by("pk")[:3]}
    across = [
        label.pk
        for label in labels
        if len({one.item_id in first for one in label.presentation.presented.all()}) == 2
    ]  # fmt: skip
    Label.objects.filter(pk__in=across).update(voided_at=NOW, void_reason="excluded")
    assert kept(fit_now(plain))["why"] == "parts"
    assert "there is no common ranking yet" in page(signed_in(alice), plain, "progress")


def test_without_an_answer_nothing_is_met(plain, alice):
    set_goal(plain, alice, goal="places", goal_places=100.0)
    goal = kept(fit_now(plain))
    assert (goal["met"], goal["state"]) == (False, None)


@pytest.mark.parametrize(
    ("goal", "field", "said"),
    [
        ("reliability", "goal_reliability", "Say how reliable, 0.5 to 0.99"),
        ("places", "goal_places", "Say by how many places an item may be off"),
        ("boundaries", "goal", "This project has no grades. Set them first"),
    ],
)
def test_a_goal_needs_its_number_or_its_grades(project, alice, goal, field, said):
    client, url = signed_in(alice), reverse("goal", args=[project.pk])
    response = client.post(url, {"goal": goal, "price_per": "label", "currency": "EUR"})
    assert response.status_code == 400
    assert said in response.content.decode()
    assert set(Api(alice, project)("patch", "goal", {"goal": goal}).json()["errors"]) == {field}


def test_the_page_and_the_api_set_them(project, alice):
    client, url = signed_in(alice), reverse("goal", args=[project.pk])
    values = {"goal": "reliability", "goal_reliability": "0.9", "price_per": "label", "currency": "EUR"}
    assert client.post(url, values).status_code == 302
    project.refresh_from_db()
    assert (project.goal, project.goal_reliability, project.goal_value) == ("reliability", 0.9, 0.9)
    api = Api(alice, project)
    answer = api("patch", "goal", {"goal": "places", "goal_places": 1.5}).json()
    assert (answer["goal"], answer["goal_places"], answer["verdict"]) == ("places", 1.5, "waiting")
    assert api("delete", "goal").json()["goal_places"] is None
    assert Project.objects.get(pk=project.pk).goal_reliability is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ({"goal": "width", "goal_width": 0.05}, "Intervals of "),
        ({"goal": "reliability", "goal_reliability": 0.999}, "A reliability of "),
    ],
)
def test_a_goal_beyond_twenty_times_the_answers_names_what_is_within_reach(plain, alice, goal, said):
    set_goal(plain, alice, **goal)
    for seed in range(3):
        answers(plain, 20, seed=seed, right=0.7)
        fit = fit_now(plain)
    found, value = kept(fit), plain.goal_value
    assert (found["why"], found["needed"]) == ("far", None)
    html = page(signed_in(alice), plain, "progress")
    assert "Not reachable this way." in html
    assert said in html
    told = Api(alice, plain)("get", "goal").json()
    assert (told["verdict"], told["reach"]) == ("far", found["reach"])
    field = goal["goal"]
    set_goal(plain, alice, **{f"goal_{field}": value + (found["reach"] - value) * 1.2})
    answers(plain, 1, seed=9, right=0.7)
    assert kept(fit_now(plain))["needed"][1] > 10 * 60, "what is named is within reach, though far off"
