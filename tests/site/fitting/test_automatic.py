"""The setting Automatic: which estimator a fit takes, when it is chosen anew, and what the Engine page says of it."""

import json

import pytest

from annotate.fitting.automatic import reusable_choice
from annotate.fitting.estimator_choices import AUTOMATIC, CHOICES, ESTIMATORS
from annotate.models import Project
from annotate.projects.forms import ProjectForm
from models_engine.errors import Cancelled
from models_engine.estimators import choosing
from models_engine.estimators.table import ESTIMATORS as OF_THE_ENGINE
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now

pytestmark = pytest.mark.embedded


@pytest.fixture
def project(project) -> Project:
    project.estimator = AUTOMATIC
    project.save()
    return project


def crowd_of(project: Project):
    return [make_annotator(project, f"Otter {i}") for i in range(8)]


def test_the_site_names_it_as_the_engine_does():
    assert AUTOMATIC == choosing.AUTOMATIC
    assert set(choosing.SIMPLEST_FIRST) <= set(ESTIMATORS), "owners may be given only what they could choose"
    assert AUTOMATIC in dict(ProjectForm.base_fields["estimator"].choices)
    assert set(CHOICES) == {AUTOMATIC, *ESTIMATORS}


@pytest.mark.slow
def test_a_fit_names_the_estimator_it_chose_and_keeps_why(project):
    make_labels(project, crowd_of(project), 80)
    fit = fit_now(project)
    choice = fit.diagnostics["choice"]
    assert fit.estimator == choice["estimator"]
    assert fit.estimator in OF_THE_ENGINE
    assert fit.status == Fit.Status.DONE
    assert choice["n_labels"] == choice["n_held_out"] == fit.n_labels
    assert {one["name"] for one in choice["trials"]} == {"BradleyTerry", "CrowdBT", "CollaborativeGP"}
    assert all(one["difference"] >= 0 for one in choice["trials"])
    json.dumps(fit.diagnostics, allow_nan=False)


@pytest.mark.slow
def test_it_is_remembered_until_the_labels_have_grown_by_half(project):
    annotators = crowd_of(project)
    make_labels(project, annotators, 80)
    first = fit_now(project)
    make_labels(project, annotators, 20, seed=1)
    second = fit_now(project)
    assert second.diagnostics["choice"] == first.diagnostics["choice"]
    assert (second.estimator, second.warm) == (first.estimator, True)
    make_labels(project, annotators, 20, seed=2)
    third = fit_now(project)
    assert third.diagnostics["choice"]["n_labels"] == third.n_labels > 1.4 * first.n_labels


def test_a_choice_is_not_remembered_where_most_labels_are_gone_or_the_estimator_is(project):
    fit = Fit(diagnostics={"choice": {"estimator": "CrowdBT", "n_labels": 90}})
    assert reusable_choice(fit, 61)["estimator"] == "CrowdBT"
    assert reusable_choice(fit, 59) is None
    assert reusable_choice(fit, 136) is None
    assert reusable_choice(Fit(diagnostics={"choice": {"estimator": "Oracle", "n_labels": 90}}), 90) is None
    assert reusable_choice(Fit(), 90) is None
    assert reusable_choice(None, 90) is None


def test_with_few_labels_the_simplest_is_taken(project):
    make_labels(project, crowd_of(project), 10)
    fit = fit_now(project)
    assert fit.estimator == "BradleyTerry"
    assert fit.diagnostics["choice"]["trials"] == []


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [10, 80])
def test_the_engine_page_says_which_and_why(client, alice, project, n_labels):
    make_labels(project, crowd_of(project), n_labels)
    fit = fit_now(project)
    client.force_login(alice)
    html = client.get(f"/projects/{project.pk}/engine/").content.decode()
    assert "Why this estimator" in html
    assert f"Chosen automatically at {fit.n_labels} answers" in html
    for trial in fit.diagnostics["choice"]["trials"]:
        assert f"{trial['loss']:.4f}" in html
    project.estimator = "CrowdBT"
    project.save()
    fit_now(project)
    assert "Why this estimator" not in client.get(f"/projects/{project.pk}/engine/").content.decode()


def test_a_fit_can_be_given_up_while_it_is_being_chosen(project):
    make_labels(project, crowd_of(project), 80)
    with pytest.raises(Cancelled):
        fit_now(project, progress=lambda step, total, objective: False)
    assert not Fit.objects.filter(project_id=project.pk).exists()
