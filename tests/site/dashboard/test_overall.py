"""The weighted total of several criteria: computed with each fit, told on pages, in exports, the API and by a link."""

import csv
import io
import re
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotate.criteria import list_criteria
from annotate.dashboard.overall.places import Place
from annotate.dashboard.overall.podium import podium
from annotate.dashboard.overall.queries import overall_of
from annotate.fitting.overall import load_criterion, total_of
from annotate.fitting.weights import carry_weights, weights_of
from annotate.jobs.fit_requests import request_fit
from annotate.models import OVERALL, DerivedRanking, FitState, Project
from annotate.privacy.erasure.actions import delete_fits_since
from annotate.projects.actions import change_project
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.fitting.test_criteria import CRITERIA, answer_all, fit_now
from tests.site.pages import page, rows_shown, signed_in
from tests.site.replay import replay


@pytest.fixture
def project(project) -> Project:
    project.criteria, project.estimator, project.overlap, project.top_k = CRITERIA, "BradleyTerry", 30, 2
    project.save()
    return project


@pytest.fixture
def fitted(project) -> Project:
    """Six items: clarity follows the keys upwards, correctness downwards; clarity counts three times as much."""

    def write() -> None:
        Project.objects.filter(pk=project.pk).update(weights=[3.0, 1.0])
        answer_all(project, make_annotator(project, "Otter"), 15)
        fit_now(Project.objects.get(pk=project.pk))

    replay("two criteria", write)
    project.refresh_from_db()
    return project


def stored(project: Project) -> DerivedRanking:
    return DerivedRanking.objects.get(project=project, criterion=OVERALL)


def test_the_worker_stores_the_total_of_both_posteriors(fitted):
    """Against the two stored posteriors, drawn and ranked here."""
    row, rng = stored(fitted), np.random.default_rng(7)
    own = {one.number: load_criterion(one, Fit.objects.get(number=row.fit_number)) for one in list_criteria(fitted)}
    draws = sum(
        weight * one.posterior.utilities() + weight * one.posterior.spread.sample(20_000, rng)
        for weight, one in zip((0.75, 0.25), own.values(), strict=True)
    )
    ranks = (-draws).argsort(axis=1).argsort(axis=1) + 1
    place = {item: n for n, item in enumerate(own[1].item_ids.tolist())}
    for n, item in enumerate(row.columns["item_id"]):
        assert row.columns["utility"][n] == pytest.approx(draws[:, place[item]].mean(), abs=0.05)
        assert row.columns["sd"][n] == pytest.approx(draws[:, place[item]].std(), rel=0.06)
        assert row.columns["p_first"][n] == pytest.approx((ranks[:, place[item]] == 1).mean(), abs=0.04)
        assert row.columns["p_top"][n] == pytest.approx((ranks[:, place[item]] <= 2).mean(), abs=0.04)
    assert sum(row.columns["p_first"]) == pytest.approx(1)
    assert sum(one["share"] for one in row.details["criteria"]) == pytest.approx(1)


def test_the_page_has_podium_table_and_weights(fitted, alice, vera):
    for user in (alice, vera):
        html = page(signed_in(user), fitted, "overall")
        assert rows_shown(html) == [f"item-{n}" for n in range(6)]
        assert html.count('class="podium-step') == 3
        assert "75%" in html
        # Answers that all agree leave a learned scale open, and with it the total of two criteria that disagree.
        assert re.search(r"leads so far|is first|No leader yet", html)
        assert html.count(" · chance to be first ") == 3
    assert "Set the weights" not in html


def test_the_report_has_podium_and_total(fitted, alice):
    html = page(signed_in(alice), fitted, "report")
    section = html.partition('aria-labelledby="report-overall"')[2]
    assert 'class="podium"' in section
    assert "Items by the weighted total of the criteria" in section


def test_a_project_without_criteria_has_none(project, alice):
    Project.objects.filter(pk=project.pk).update(criteria=[])
    client = signed_in(alice)
    assert "there is nothing to add up" in page(client, project, "overall")
    assert "/overall/" not in page(client, project)
    assert Api(alice, project)("get", "overall").json()["criteria"] == []


def test_before_every_criterion_is_fitted_the_page_says_which_is_missing(fitted, alice):
    assert "It appears here with the next fit" in overall_of(Project(criteria=CRITERIA)).why
    Fit.objects.filter(project_id=fitted.pk, criterion=2).delete()
    Fit.objects.filter(project_id=fitted.pk, criterion=1).update(data_version=0)
    request_fit(fitted)
    Project.objects.filter(pk=fitted.pk).update(criteria=[CRITERIA[0], {"name": "Style", "question": "?"}])
    # The first of the two is fitted while the second has no fit yet.
    columns, details, _posterior = total_of(
        Project.objects.get(pk=fitted.pk), Fit.objects.get(criterion=1, published=True)
    )
    assert (columns, details["missing"]) == ({}, {"2": "not fitted"})
    DerivedRanking.objects.update(columns=columns, details=details)
    assert "No ranking yet by “Style”." in page(signed_in(alice), fitted, "overall")


def test_other_weights_are_counted_by_the_next_fit(fitted, alice):
    client, url = signed_in(alice), reverse("settings-ranking", args=[fitted.pk])
    html = page(client, fitted, "settings-ranking")
    assert 'name="weights-2" id="id_weights_2" value="1"' in html
    kept = {"estimator": "BradleyTerry", "top_k": 2, "tie_margin": 0.1}
    refused = client.post(url, {**kept, "weights-1": "0", "weights-2": "0"})
    assert refused.status_code == 400
    assert "All weights are 0" in refused.content.decode()
    far = client.post(url, {**kept, "weights-1": "-1", "weights-2": "2"}).content.decode()
    assert "The weight of criterion 1 is -1. Write a number from 0 to 1000." in far
    assert client.post(url, {**kept, "weights-1": "0", "weights-2": "2"}).status_code == 302
    fitted.refresh_from_db()
    assert fitted.weights == [0.0, 2.0]
    FitState.objects.update(not_before=None)
    fit_now(fitted)
    row = stored(fitted)
    assert fitted.items.get(pk=row.columns["item_id"][0]).key == "item-5"
    assert [one["number"] for one in row.details["criteria"]] == [2]


def test_weights_follow_their_criteria(project, alice):
    assert weights_of(project) == [0.5, 0.5]
    project = Project.objects.get(pk=project.pk)
    change_project(project=project, actor=alice, values={"weights": [3.0, 1.0]}, now=NOW)
    project.refresh_from_db()
    turned = [CRITERIA[1], {"name": "Style", "question": "Which?"}, CRITERIA[0]]
    assert carry_weights(project.criteria, turned, project.weights) == [1.0, 1.0, 3.0]
    Project.objects.update(state="draft")
    change_project(project=project, actor=alice, values={"criteria": turned}, now=NOW)
    project.refresh_from_db()
    assert (project.weights, weights_of(project)) == ([1.0, 1.0, 3.0], [0.2, 0.2, 0.6])


def test_export_api_and_client_tell_the_same(fitted, alice):
    response = signed_in(alice).get(reverse("export", args=[fitted.pk, "overall", "csv"]))
    lines = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode("utf-8-sig"))))
    told = Api(alice, fitted)("get", "overall").json()
    assert [line["item"] for line in lines] == [f"item-{n}" for n in range(6)]
    assert [one["item"] for one in told["results"]] == [line["item"] for line in lines]
    assert float(lines[0]["p_first"]) == pytest.approx(told["results"][0]["p_first"])
    assert float(lines[0]["score_2"]) == pytest.approx(told["results"][0]["scores"][1]["score"])
    assert [one["weight"] for one in told["criteria"]] == [0.75, 0.25]
    assert "<" not in told["lead"]
    refused = Api(alice, fitted)("patch", "project", {"weights": [1, 2, 3]})
    assert "You gave 3 weights for 2 criteria." in refused.content.decode()
    assert Api(alice, fitted)("patch", "project", {"weights": [1, 2]}).json()["weights"] == [1.0, 2.0]


def test_a_link_shows_the_total_to_anybody(fitted, alice):
    client = signed_in(alice)
    assert '<option value="0" selected>Overall</option>' in page(client, fitted, "results-links"), "proposed first"
    client.post(reverse("results-links", args=[fitted.pk]), {"criterion": "0", "lifetime": ""})
    link = fitted.results_links.get()
    html = Client().get(reverse("results", args=[link.token])).content.decode()
    assert "Overall" in html
    shown = re.findall(r'<th scope="row" dir="auto" class="break-anywhere">([^<]+)</th>', html)
    assert shown == [f"Text number {n}" for n in range(6)]
    told = Client().get(reverse("api-results", args=[link.token])).json()
    assert [one["rank"] for one in told["results"]] == [1, 2, 3, 4, 5, 6]
    assert told["results"][0]["score"] == pytest.approx(stored(fitted).columns["score"][0])


def test_erasing_a_person_takes_the_total_away(fitted):
    delete_fits_since(fitted, NOW - timedelta(days=1))
    assert not DerivedRanking.objects.exists()


@pytest.mark.parametrize(
    ("p", "step", "sentence"),
    [
        (0.999, "chance to be first above .99", "is first: the chance that none is better is above .99."),
        (0.97, "chance to be first .97", "is first: the chance that none is better is .97."),
        (0.6, "chance to be first .60", "leads so far."),
    ],
)
def test_chances_are_said_in_words(p, step, sentence):
    figures = (0.0, 1.0, -1.0, 1.0, 50.0, 40.0, 60.0, 1.0, None, None, "", 9)
    places = [Place(n, n, 1, 2, *figures, p_first=chance) for n, chance in ((1, p), (2, 1 - p))]
    found = podium(places, {1: "Heron", 2: "Otter"}, n_items=3)
    assert found.steps[0].chance == step
    assert sentence in found.sentence
    assert found.steps[1].chance.replace("below ", "").startswith("chance to be first .")
