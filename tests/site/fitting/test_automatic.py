"""The setting Automatic: which estimator a fit takes, when it is chosen anew, and what the Engine page says of it."""

import json

import pytest

from annotate.criteria import Criterion
from annotate.fitting import run as fitting_run
from annotate.fitting.automatic import reusable_choice
from annotate.fitting.estimator_choices import AUTOMATIC, CHOICES, ESTIMATORS
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.models import FitState, Project
from annotate.projects.forms import ProjectForm
from models_engine.errors import Cancelled
from models_engine.estimators import choosing
from models_engine.estimators.table import ESTIMATORS as OF_THE_ENGINE
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import LATER, claim, fit_now

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("quick_draws")]


@pytest.fixture
def project(project) -> Project:
    project.estimator = AUTOMATIC
    project.save()
    return project


@pytest.fixture
def quick_candidates(monkeypatch) -> None:
    """Leaves out the slowest candidate, where which ones are tried does not matter."""
    monkeypatch.setattr(choosing, "SIMPLEST_FIRST", ("BradleyTerry", "PlackettLuce", "CrowdBT"))


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


@pytest.mark.usefixtures("quick_candidates")
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


@pytest.mark.usefixtures("quick_candidates")
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


@pytest.mark.usefixtures("quick_candidates")
@pytest.mark.slow
def test_all_answers_are_ranked_before_the_estimator_is_chosen(client, alice, project):
    annotators = crowd_of(project)
    make_labels(project, annotators, 40)
    few = fit_now(project)
    assert few.diagnostics["choice"]["trials"] == []
    make_labels(project, annotators, 60, seed=1)
    told, shown = [], []

    def watch(step, total, objective):
        quick = published_fit(Criterion(project))
        if quick.number == few.number + 1 and not shown:
            told.append((quick.estimator, quick.n_labels, quick.diagnostics["choosing"]))
            client.force_login(alice)
            shown.append([client.get(f"/projects/{project.pk}/{page}").content.decode() for page in ("", "engine/")])
        return True

    chosen = fit_now(project, progress=watch)
    assert told == [("BradleyTerry", chosen.n_labels, True)], "published before the choice, of all answers"
    assert f"BradleyTerry computed these figures first, from {chosen.n_labels} answers." in shown[0][0]
    assert "Automatic” is comparing the estimators" in shown[0][1]
    assert "Why this estimator" not in shown[0][1]
    assert chosen.number == few.number + 2
    assert "choosing" not in chosen.diagnostics
    assert chosen.diagnostics["choice"]["n_labels"] == chosen.n_labels
    assert FitState.objects.get().published_fit == chosen.number
    assert "computed these figures first" not in client.get(f"/projects/{project.pk}/").content.decode()
    make_labels(project, annotators, 10, seed=2)
    assert fit_now(project).number == chosen.number + 1, "nothing is to be chosen, so one fit is enough"


@pytest.mark.usefixtures("quick_candidates")
@pytest.mark.slow
def test_a_worker_that_stops_while_choosing_leaves_the_quick_fit_and_the_choice_is_made_later(project):
    make_labels(project, crowd_of(project), 80)

    def until_published(step, total, objective):
        return published_fit(Criterion(project)) is None

    with pytest.raises(Cancelled):
        fit_now(project, progress=until_published)
    quick = published_fit(Criterion(project))
    assert quick.diagnostics["choosing"]
    assert FitState.objects.get().fitted < FitState.objects.get().wanted, "the answers still wait for their fit"
    FitState.objects.update(owner="", lease_until=None)
    chosen = fit_now(project)
    assert chosen.number == quick.number + 1, "the quick fit is not made twice of the same answers"
    assert chosen.diagnostics["choice"]["trials"]


@pytest.mark.usefixtures("quick_candidates")
@pytest.mark.slow
def test_a_quick_fit_that_fails_does_not_keep_the_choice_from_being_made(project, monkeypatch):
    make_labels(project, crowd_of(project), 80)
    first, fit = read_labels(Criterion(project)).data.data_hash(), OF_THE_ENGINE["BradleyTerry"].estimator.fit

    def fails_on_all(self, data, **values):
        if data.data_hash() == first:
            raise ArithmeticError("no")
        return fit(self, data, **values)

    monkeypatch.setattr(OF_THE_ENGINE["BradleyTerry"].estimator, "fit", fails_on_all)
    monkeypatch.setattr(choosing, "_chosen", choose_crowd_bt)
    chosen = fit_now(project)
    assert chosen.estimator == "CrowdBT"
    assert Fit.objects.filter(status=Fit.Status.FAILED).count() == 1


def choose_crowd_bt(names, found, failed, annotators):
    return choosing.Choice("CrowdBT", "", (), 0)


@pytest.mark.slow
def test_a_criterion_with_a_quick_fit_alone_is_still_to_be_fitted(project):
    make_labels(project, crowd_of(project), 80)
    taken = claim(project)
    quick = fitting_run.try_quick_fit(Criterion(project), taken, None, lambda *_: True, lambda: LATER)
    assert quick.data_version == taken.version
    assert [one.number for one in fitting_run.outdated_criteria(project, taken)] == [quick.criterion]


def test_a_fit_can_be_given_up_while_it_is_being_chosen(project):
    make_labels(project, crowd_of(project), 80)
    with pytest.raises(Cancelled):
        fit_now(project, progress=lambda step, total, objective: False)
    assert not Fit.objects.filter(project_id=project.pk).exists()
