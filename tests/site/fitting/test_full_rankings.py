"""Projects of rankings by the angle-based models: chosen on the settings page, fitted, and shown as a ranking."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.fitting.estimator_choices import AUTOMATIC, CAUTIONS, OF_RANKINGS
from annotate.fitting.reading import read_labels
from annotate.models import Project
from models_engine.estimators.choosing import OF_FULL_RANKINGS, candidate_names
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.fitting.test_run import fit_now
from tests.site.labelling.test_task_types import next_for, send
from tests.site.pages import page, signed_in
from tests.site.task_types import form_of, set_task

pytestmark = pytest.mark.embedded


def answer_by_key(project: Project, n_people: int, n_against: int, n_answers: int = 1) -> None:
    """People who put items in order of their keys, the last of them the other way round."""
    for number in range(n_people):
        annotator = make_annotator(project, f"Otter {number}")
        for seed in range(n_answers):
            presentation = next_for(annotator, seed)
            keys = [int(key.split("-")[1]) for key in shown_keys_of(presentation)]
            sign = -1 if number >= n_people - n_against else 1
            send(presentation, form_of(project, sorted(range(len(keys)), key=lambda place: sign * keys[place])))


def shown_keys_of(presentation) -> list[str]:
    return list(presentation.presented.order_by("position").values_list("item__key", flat=True))


def choose(client, project: Project, estimator: str) -> Fit:
    response = client.post(reverse("estimator-use", args=[project.pk]), {"estimator": estimator})
    assert response.status_code == 302
    project.refresh_from_db()
    assert project.estimator == estimator
    return fit_now(project, timezone.now())


@pytest.mark.slow
def test_full_rankings_are_fitted_and_shown(alice, project):
    set_task(project, "ranking", 6, overlap=50)
    answer_by_key(project, 9, n_against=2)
    client = signed_in(alice)
    fit = choose(client, project, "AngleBased")
    assert (fit.status, fit.estimator) == (Fit.Status.DONE, "AngleBased")
    assert fit.converged
    shown = page(client, project, "ranking")
    assert str(CAUTIONS["AngleBased"])[:40] in shown
    places = [shown.index(f"Text number {number}") for number in range(6)]
    assert places == sorted(places)


@pytest.mark.slow
def test_groups_among_full_rankings_are_found_and_shown(alice, project):
    set_task(project, "ranking", 6, overlap=50)
    answer_by_key(project, 16, n_against=6)
    client = signed_in(alice)
    fit = choose(client, project, "AngleBasedMixture")
    assert fit.status == Fit.Status.DONE
    assert fit.components["kind"] == "groups"
    assert fit.components["shares"] == pytest.approx([10 / 16, 6 / 16], abs=0.1)
    assert "Text number 0" in page(client, project, "ranking")


@pytest.mark.slow
def test_rankings_of_some_of_many_items_converge(alice, project):
    """Ten items of which each answer ranks four: beyond what is summed exactly."""
    set_task(project, "ranking", 4, overlap=50)
    make_items_up_to(project, 10)
    answer_by_key(project, 6, n_against=0, n_answers=5)
    fit = choose(signed_in(alice), project, "AngleBased")
    assert fit.converged
    assert "mode of the log posterior" in str(fit.message)


def make_items_up_to(project: Project, n: int) -> None:
    for number in range(project.items.count(), n):
        project.items.create(key=f"item-{number}", body=f"Text number {number}")


def test_the_choice_is_offered_where_people_rank(alice, project):
    client, address = signed_in(alice), reverse("settings-ranking", args=[project.pk])
    assert not any(f'value="{name}"' in client.get(address).content.decode() for name in OF_RANKINGS)
    set_task(project, "ranking", 4)
    assert all(f'value="{name}"' in client.get(address).content.decode() for name in OF_RANKINGS)
    set_task(project, "pair", 2, estimator="AngleBased")
    html = client.get(address).content.decode()
    assert 'value="AngleBased"' in html, "in use"
    assert 'value="AngleBasedMixture"' not in html


def test_the_automatic_choice_tries_them_where_every_answer_ranks_all_items(project):
    set_task(project, "ranking", 6, overlap=50, estimator=AUTOMATIC)
    answer_by_key(project, 3, n_against=0)
    assert set(candidate_names(read_labels(Criterion(project)).data)) >= OF_FULL_RANKINGS == OF_RANKINGS
    make_items_up_to(project, 7)
    assert not OF_FULL_RANKINGS & set(candidate_names(read_labels(Criterion(project)).data))
