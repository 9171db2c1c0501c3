"""The pages about people: one annotator, the taste map, cohorts; what the engine makes for them, and from what."""

import io

import numpy as np
import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from annotate import cohort_runs, evaluating, portraying
from annotate.actions.archive import archive_project, unarchive_project
from annotate.forms.people import TastesForm
from annotate.models import AnnotatorPortrait, CohortComparison, Portrait, Project
from annotate.stored_words import in_words
from models_engine.errors import InsufficientData
from models_engine.models import AnnotatorEstimate
from tests.conftest import make_annotator
from tests.site.pages import page, signed_in
from tests.site.test_fitting import fit_now
from tests.site.test_fitting_tastes import divided  # noqa: F401  (a fixture)

pytestmark = pytest.mark.embedded


def go_on(*_: object) -> bool:
    return True


def portrayed(project: Project) -> Portrait:
    Project.objects.filter(pk=project.pk).update(estimator="CollaborativeGP")
    fit_now(project)
    portraying.make(portraying.claim_next(owner="test", now=timezone.now()), progress=go_on)
    return Portrait.objects.get(project=project)


def annotator_page(client, annotator, query: str = "") -> str:
    response = client.get(reverse("annotator", args=[annotator.project_id, annotator.key]) + query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_own_ranking_beside_the_consensus(alice, divided):  # noqa: F811
    """Half of the crowd ranks the items by their order, the other half the other way round."""
    portrait = portrayed(divided)
    client, (first, *_, last) = signed_in(alice), list(divided.annotators.order_by("pk"))
    html = annotator_page(client, first, "?sort=place")
    order = [html.index(f"/ranking/{item.pk}/") for item in divided.items.order_by("pk")]
    assert order == sorted(order)
    html = annotator_page(client, last, "?sort=place")
    order = [html.index(f"/ranking/{item.pk}/") for item in divided.items.order_by("pk")]
    assert order == sorted(order, reverse=True)
    assert "0 of 20 sets of three: 0%" in html
    assert portrait.n_grouped == 8
    assert AnnotatorPortrait.objects.filter(fit_number=portrait.fit_number).count() == 8
    rows = list(AnnotatorEstimate.objects.filter(fit__published=True).order_by("annotator_id"))
    assert [(row.n_triads, row.n_cycles) for row in rows] == [(20, 0)] * 8
    assert portraying.claim_next(owner="test", now=timezone.now()) is None, "of this fit there is one"
    assert "Component 1" in page(client, divided, "tastes")


def test_few_answers_are_not_guessed_from(alice, project):
    html = annotator_page(signed_in(alice), make_annotator(project, "Otter"))
    assert "Not enough answers: 0 count so far" in html
    assert "Surely differs from" not in html


def test_an_archived_project_gets_neither_portrait_nor_evaluation(alice, divided):  # noqa: F811
    Project.objects.filter(pk=divided.pk).update(estimator="CollaborativeGP")
    fit_now(divided)
    archive_project(project=divided, actor=alice, now=timezone.now())
    assert not portraying.claim_next(owner="test", now=timezone.now())
    assert not evaluating.claim_next(owner="test", now=timezone.now())
    unarchive_project(project=divided, actor=alice, now=timezone.now())
    assert portraying.claim_next(owner="test", now=timezone.now())
    assert evaluating.claim_next(owner="test", now=timezone.now())


def test_the_components_drawn_are_shown_as_chosen():
    form = TastesForm(QueryDict("y=3"))
    assert form.axes() == (1, 3)
    assert (form["x"].value(), form["y"].value()) == (1, "3")


def test_an_estimator_without_tastes_says_so(alice, divided):  # noqa: F811
    fit_now(divided)
    client = signed_in(alice)
    assert "learns one ranking for all" in annotator_page(client, divided.annotators.first())
    assert "so there is no map of tastes" in page(client, divided, "tastes")
    assert portraying.claim_next(owner="test", now=timezone.now()) is None


def test_excluding_from_the_page_leads_back_there(alice, project):
    otter = make_annotator(project, "Otter")
    client, url = signed_in(alice), reverse("annotator", args=[project.pk, otter.key])
    response = client.post(reverse("annotator-exclude", args=[project.pk, otter.key]), {"stay": "1"})
    assert response["Location"] == url
    assert "Readmit" in client.get(url).content.decode()


def compared(alice, project: Project, first: str, second: str = "") -> CohortComparison:
    client = signed_in(alice)
    response = client.post(reverse("cohorts-compare", args=[project.pk]), {"first": first, "second": second})
    assert response.status_code == 302
    row = cohort_runs.claim_next(owner="test", now=timezone.now())
    assert row is not None
    cohort_runs.make(row, progress=go_on)
    row.refresh_from_db()
    return row


@pytest.mark.parametrize("estimator", ["BradleyTerry", "CollaborativeGP"])
def test_two_cohorts_side_by_side(alice, divided, estimator):  # noqa: F811
    Project.objects.update(estimator=estimator)
    fit_now(divided)
    people = list(divided.annotators.order_by("pk"))
    for one in people[:4]:
        one.source = "platform"
        one.save()
    row = compared(alice, divided, "source|platform", "source|link")
    assert (row.status, row.sizes) == ("ready", [[4, 60], [4, 60]])
    with np.load(io.BytesIO(bytes(row.arrays))) as arrays:
        first, second = arrays["first"], arrays["second"]
    assert (np.diff(first) < 0).all()
    assert (np.diff(second) > 0).all()
    html = page(signed_in(alice), divided, "cohorts", f"?show={row.pk}&sort=first")
    assert "The cohorts are told apart on" in html
    order = [html.index(f"/ranking/{item.pk}/") for item in divided.items.order_by("pk")]
    assert order == sorted(order)
    assert "1 likes it more" in html
    assert "2 likes it more" in html


def test_cohorts_of_different_lists_or_too_small_are_refused(alice, divided):  # noqa: F811
    fit_now(divided)
    person = divided.annotators.first()
    person.source = "platform"
    person.save()
    client = signed_in(alice)
    client.post(reverse("cohorts-compare", args=[divided.pk]), {"first": "source|platform", "second": "tag|x"})
    assert not CohortComparison.objects.exists()
    with pytest.raises(InsufficientData) as refused:
        compared(alice, divided, "source|platform")
    row = CohortComparison.objects.get()
    cohort_runs.record_failure(row, message=str(refused.value), now=timezone.now())
    assert "The first cohort has 15 labels of 1 annotators" in page(client, divided, "cohorts")
    german = page(client, divided, "cohorts", headers={"Accept-Language": "de"})
    assert "Die erste Kohorte hat 15 Urteile von 1 Teilnehmenden" in german


@pytest.mark.parametrize("message", ["", "The disk is full: 5%", "7", "[1]", '{"why": "of an older version"}'])
def test_a_text_of_another_kind_is_told_as_it_is(message):
    assert in_words(message) == message
