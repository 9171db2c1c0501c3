"""The pages about people: one annotator, the taste map, cohorts; what the engine makes for them, and from what."""

import io
from datetime import timedelta
from itertools import combinations

import numpy as np
import pytest
from django.db import connection
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.annotators.cohorts.queries import SideBySideQuery, side_by_side
from annotate.annotators.tastes import job as tastes_job
from annotate.annotators.tastes import queue as tastes_queue
from annotate.annotators.tastes.forms import TastesForm
from annotate.annotators.tastes.queries import enough_text
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting import evaluation_queue
from annotate.fitting.arrays import to_bytes
from annotate.fitting.stored_posterior import load_tastes, main_part_rows
from annotate.models import AnnotatorTaste, CohortComparison, Event, FitState, Item, Membership, Project, TasteMap, User
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.projects.copies.archiving import archive_project, unarchive_project
from models_engine.errors import InsufficientData
from models_engine.estimators.collaborative import gp
from models_engine.models import AnnotatorEstimate, Fit
from tests.conftest import make_annotator
from tests.site.factories import engine_is_up
from tests.site.fitting.test_run import answer_pairs, fit_now
from tests.site.fitting.test_tastes import divided  # noqa: F401  (a fixture)
from tests.site.pages import page, signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("quick_draws")]


def go_on(*_: object) -> bool:
    return True


def draw_taste_map(project: Project) -> TasteMap:
    Project.objects.filter(pk=project.pk).update(estimator="CollaborativeGP")
    fit_now(project)
    tastes_queue.QUEUE.work(tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)
    return TasteMap.objects.get(project=project)


def annotator_page(client, annotator, query: str = "") -> str:
    response = client.get(reverse("annotator", args=[annotator.project_id, annotator.key]) + query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.mark.slow
def test_nobody_erased_while_tastes_are_written_comes_back(divided):  # noqa: F811
    Project.objects.filter(pk=divided.pk).update(estimator="CollaborativeGP")
    fit_now(divided)
    fit = Fit.objects.get(project_id=divided.pk, published=True)
    row, gone = TasteMap(project=divided), divided.annotators.first()
    known = load_tastes(fit, Criterion(divided), go_on)
    tastes = tastes_job.compute_tastes(fit, known, main_part_rows(fit, known.item_ids), go_on)

    def erase(*_: object) -> bool:
        erase_annotator(annotator=gone, by=BY_OWNER, now=timezone.now())
        return True

    tastes_job.write_tastes(row, fit, known, tastes, erase)
    connection.check_constraints()  # as a commit would
    assert set(AnnotatorTaste.objects.values_list("annotator", flat=True)) == set(
        divided.annotators.values_list("pk", flat=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("max_dense", [gp.MAX_DENSE_TASTES, 1], ids=["drawn", "without a matrix over items"])
def test_own_ranking_beside_the_consensus(alice, divided, monkeypatch, max_dense):  # noqa: F811
    """Half of the crowd ranks the items by their order, the other half the other way round."""
    monkeypatch.setattr(gp, "MAX_DENSE_TASTES", max_dense)
    taste_map = draw_taste_map(divided)
    client, (first, *_, last) = signed_in(alice), list(divided.annotators.order_by("pk"))
    html = annotator_page(client, first, "?sort=place")
    order = [html.index(f"/ranking/{item.pk}/") for item in divided.items.order_by("pk")]
    assert order == sorted(order)
    html = annotator_page(client, last, "?sort=place")
    order = [html.index(f"/ranking/{item.pk}/") for item in divided.items.order_by("pk")]
    assert order == sorted(order, reverse=True)
    assert "0 of 20 sets of three: 0%" in html
    assert taste_map.n_grouped == 8
    assert AnnotatorTaste.objects.filter(fit_number=taste_map.fit_number).count() == 8
    rows = list(AnnotatorEstimate.objects.filter(fit__published=True).order_by("annotator_id"))
    assert [(row.n_triads, row.n_cycles) for row in rows] == [(20, 0)] * 8
    assert tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now()) is None, "of this fit there is one"
    shown = page(client, divided, "tastes")
    assert "Component 1" in shown
    assert (shown.count('class="mark-item"') > 0) == ('class="map-items small"' in shown)


@pytest.mark.slow
def test_own_rankings_are_kept_where_tastes_have_no_component(alice, project, monkeypatch):
    """Everybody answers alike; of many items, tastes are fitted without a matrix over them."""
    monkeypatch.setattr(gp, "MAX_DENSE_TASTES", 1)
    pairs = list(combinations(project.items.order_by("pk"), 2))
    for number in range(6):
        answer_pairs([make_annotator(project, f"Otter {number}")], pairs, lambda a, b: 0)
    taste_map = draw_taste_map(project)
    with np.load(io.BytesIO(bytes(taste_map.arrays))) as arrays:
        assert int(arrays["n_told"]) == 0
        assert arrays["loadings"].shape == (project.items.count(), 1)
    assert taste_map.n_groups == 0
    client, first = signed_in(alice), project.annotators.order_by("pk").first()
    html = annotator_page(client, first, "?sort=place")
    assert all(f"/ranking/{item.pk}/" in html for item in project.items.all())
    assert page(client, project, "tastes")


def test_few_answers_are_not_guessed_from(alice, project):
    html = annotator_page(signed_in(alice), make_annotator(project, "Otter"))
    assert "Too few answers to say what this person prefers: 0 so far" in html
    assert "Clearly differs from" not in html


@pytest.mark.slow
def test_an_archived_project_gets_neither_taste_map_nor_evaluation(alice, divided):  # noqa: F811
    Project.objects.filter(pk=divided.pk).update(estimator="CollaborativeGP")
    fit_now(divided)
    archive_project(project=divided, actor=alice, now=timezone.now())
    assert not tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    assert not evaluation_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    unarchive_project(project=divided, actor=alice, now=timezone.now())
    assert tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    assert evaluation_queue.QUEUE.claim_next(owner="test", now=timezone.now())


def test_the_components_drawn_are_shown_as_chosen():
    form = TastesForm(QueryDict("y=3"))
    assert form.axes() == (1, 3)
    assert (form["x"].value(), form["y"].value()) == (1, "3")


@pytest.mark.slow
def test_groups_are_turned_on_where_they_are_looked_for(alice, divided):  # noqa: F811
    Project.objects.filter(pk=divided.pk).update(estimator="CrowdBT")
    fit_now(divided)
    client = signed_in(alice)
    assert "one shared ranking for everybody" in annotator_page(client, divided.annotators.first())
    html = page(client, divided, "tastes")
    assert "This project looks for one shared ranking." in html
    assert "Turn on groups" in html
    assert tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now()) is None
    chosen = {"estimator": "CollaborativeGP", "next": "tastes"}
    for _sent in range(2):
        response = client.post(reverse("estimator-use", args=[divided.pk]), chosen)
        assert response["Location"] == reverse("tastes", args=[divided.pk])
    divided.refresh_from_db()
    assert divided.estimator == "CollaborativeGP"
    changes = Event.objects.filter(project=divided, actor=alice, details__icontains="CollaborativeGP")
    assert changes.count() == 1
    html = page(client, divided, "tastes")
    assert "The map appears after the next update" in html
    assert "The engine is not running" in html
    draw_taste_map(divided)
    Item.objects.filter(project=divided).update(body="Coffee at cost.", name="")
    html = page(client, divided, "tastes")
    assert "Who stands where" in html
    assert "prefer <bdi>“Coffee at cost”</bdi>." in html


@pytest.mark.slow
def test_the_page_says_what_the_map_waits_for(alice, bob, divided):  # noqa: F811
    Project.objects.filter(pk=divided.pk).update(estimator="CrowdBT")
    fit_now(divided)
    Project.objects.filter(pk=divided.pk).update(estimator="CollaborativeGP")
    now, client = timezone.now(), signed_in(alice)
    engine_is_up(now)
    assert "The engine is computing" not in page(client, divided, "tastes")
    lease = {"owner": "engine-1#a", "lease_until": now + timedelta(minutes=1)}
    other = Project.objects.create(name="Other", state="open")
    FitState.objects.create(project=other, wanted=1, **lease)
    assert "The engine is computing 1 other project at the moment." in page(client, divided, "tastes")
    FitState.objects.filter(project=divided).update(**lease, step=3, steps=200)
    assert "That update is being computed now: step 3 of at most 200." in page(client, divided, "tastes")
    FitState.objects.filter(project=divided).update(step=0, steps=0)
    assert "That update is being computed now." in page(client, divided, "tastes")


@pytest.mark.parametrize(
    ("enough", "told"),
    [
        ((82, 3.0), "About 82 people with as many answers each would be enough, or about 36 answers of each"),
        ((82, float("nan")), "About 82 people with as many answers each would be enough."),
        ((float("nan"), 2.0), "About 24 answers of each of these people would be enough."),
        (
            (float("nan"), float("nan")),
            "Even twelve times as many people, or as many answers of each, may not be enough.",
        ),
    ],
)
def test_too_few_to_tell_says_how_many_would_be_enough(enough, told):
    rows = [AnnotatorTaste(n_labels=n, group=0) for n in (11, 12, 12)] + [AnnotatorTaste(n_labels=1, group=None)] * 9
    assert enough_text(rows, *enough).startswith(told)


@pytest.mark.slow
def test_who_may_only_look_is_told_who_turns_groups_on(alice, bob, divided):  # noqa: F811
    Membership.objects.update_or_create(project=divided, user=bob, defaults={"role": "viewer"})
    Project.objects.filter(pk=divided.pk).update(estimator="CrowdBT")
    fit_now(divided)
    html = page(signed_in(bob), divided, "tastes")
    assert "An owner or manager of the project can do that." in html
    assert "Turn on groups</button>" not in html


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
    row = cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    assert row is not None
    cohorts_queue.QUEUE.work(row, progress=go_on)
    row.refresh_from_db()
    return row


@pytest.mark.slow
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
    assert "The cohorts clearly differ on" in html
    order = [html.index(f"/ranking/{item.pk}/") for item in divided.items.order_by("pk")]
    assert order == sorted(order)
    assert "1 likes it more" in html
    assert "2 likes it more" in html
    table = side_by_side(divided, bytes(row.arrays), SideBySideQuery())
    for one in table.rows:  # the drawing has the order of the figures, in both cohorts and within each
        a, b = ([float(x.removesuffix("%")) for x in (m.low, m.middle, m.high)] for m in one.marks)
        for low, middle, high in (a, b):
            assert 0 <= low < high <= 100
            assert low - 0.1 < middle < high + 0.1
        assert (a[1] > b[1]) == (one.difference > 0)
    assert html.count('class="mark-bell"') == len(table.rows)
    assert "Score in 1" in html
    assert "Utility in 1" not in html
    for one in table.rows:  # the chance against an average item, on either side of one half as the utility of zero
        for (score, low, high), (_place, utility, *_ends) in zip(one.scores, (one.first, one.second), strict=True):
            assert 0 <= low < high <= 100
            assert low - 0.1 < score < high + 0.1  # near 0 and 100 the mean may lie a hair outside
            assert (score > 50) == (utility > 0)
    User.objects.filter(pk=alice.pk).update(is_expert=True)
    assert "Utility in 1" in page(signed_in(alice), divided, "cohorts", f"?show={row.pk}")
    with np.load(io.BytesIO(bytes(row.arrays))) as arrays:
        older = to_bytes({name: values for name, values in arrays.items() if not name.endswith("_scores")})
    CohortComparison.objects.filter(pk=row.pk).update(arrays=older)
    User.objects.filter(pk=alice.pk).update(is_expert=False)
    html = page(signed_in(alice), divided, "cohorts", f"?show={row.pk}")
    assert "Score in 1" not in html
    assert "Utility in 1" in html


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
    cohorts_queue.QUEUE.record_failure(row, message=str(refused.value), now=timezone.now())
    assert "The first cohort has too few answers to be compared: 15 from 1 annotators." in page(
        client, divided, "cohorts"
    )
    german = page(client, divided, "cohorts", headers={"Accept-Language": "de"})
    assert "Die erste Kohorte hat zu wenige Antworten für einen Vergleich: 15 von 1 Teilnehmenden." in german


@pytest.mark.parametrize("message", ["", "The disk is full: 5%", "7", "[1]", '{"why": "of an older version"}'])
def test_a_text_of_another_kind_is_told_as_it_is(message):
    assert render_message(message) == message
