"""What is found out about people by one of several criteria: taste maps, groups and cohorts of its own."""

import csv
import io
import re
import zipfile
from itertools import combinations

import numpy as np
import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.annotators.cohorts.groupings import groupings, members
from annotate.annotators.tastes import queue as tastes_queue
from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion, list_criteria
from annotate.fitting.published import published_fit
from annotate.jobs import idle
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import AnnotatorTaste, CohortComparison, Event, FitState, Project, TasteMap, User
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.annotators.test_pages import annotator_page, go_on
from tests.site.api_client import Api
from tests.site.fitting.test_criteria import CRITERIA
from tests.site.fitting.test_run import fit_now
from tests.site.pages import signed_in
from tests.site.replay import replay

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("quick_draws")]


@pytest.fixture
def crossed(project) -> Project:
    """Eight people and six items: by clarity the first four rank them by their order and the others the other way
    round, by correctness every second one does."""
    project.criteria, project.estimator, project.overlap = CRITERIA, "CollaborativeGP", 30
    project.save()
    replay("crossed", lambda: answer_crossed(project))
    return project


def answer_crossed(project: Project) -> None:
    for number in range(8):
        otter = make_annotator(project, f"Otter {number}", source="platform" if number < 4 else "link")
        for pair in combinations(project.items.order_by("pk"), 2):
            with write_transaction():
                shown = assignment.reopen_presentation(annotator=otter, items=[one.pk for one in pair], now=NOW)
            clarity, correctness = int(number >= 4), number % 2
            answer = Answer("choice", clarity, further=(Answer("choice", correctness),))
            record_label(presentation=shown, answer=answer, now=NOW)


@pytest.fixture
def fitted(crossed, quick_draws) -> None:
    replay("fitted", lambda: fit_now(crossed))


def draw_taste_maps(project: Project) -> list[TasteMap]:
    """By each criterion, once it is fitted."""
    while row := tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now()):
        tastes_queue.QUEUE.work(row, progress=go_on)
    return list(TasteMap.objects.filter(project=project).order_by("criterion"))


@pytest.fixture
def mapped(fitted, crossed) -> None:
    replay("mapped", lambda: draw_taste_maps(crossed))


def sides(taste_map: TasteMap) -> list[bool]:
    """On which side of the first component each annotator stands, the first one's being True."""
    rows = AnnotatorTaste.objects.filter(annotator__project=taste_map.project, fit_number=taste_map.fit_number)
    scores = [row.scores[0] for row in rows.order_by("annotator")]
    return [score * scores[0] > 0 for score in scores]


HALVES, ALTERNATING = [True] * 4 + [False] * 4, [True, False] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("mapped")
def test_each_criterion_has_a_taste_map_of_its_own(crossed):
    taste_maps = list(TasteMap.objects.filter(project=crossed).order_by("criterion"))
    assert (
        [one.fit_number for one in taste_maps]
        == [published_fit(seen).number for seen in list_criteria(crossed)]
        == [1, 2]
    )
    assert [sides(one) for one in taste_maps] == [HALVES, ALTERNATING]
    # The next fits': what is kept by the other criterion stays until its own turn.
    FitState.objects.update(wanted=F("wanted") + 1, not_before=None)
    TasteMap.objects.filter(criterion=2).update(not_before=None)
    fit_now(crossed)
    TasteMap.objects.filter(criterion=1).update(not_before=timezone.now() + idle.RETRY_PAUSE)
    row = tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    assert row.criterion == 2, "that of the first criterion rests"
    tastes_queue.QUEUE.work(row, progress=go_on)
    kept = AnnotatorTaste.objects.filter(annotator__project=crossed)
    assert set(kept.values_list("criterion", "fit_number")) == {(1, 1), (2, 4)}


@pytest.mark.slow
@pytest.mark.usefixtures("fitted")
def test_tastes_that_were_too_large_to_store_are_fitted_to_the_criterions_answers(crossed):
    for fit in Fit.objects.filter(project_id=crossed.pk):
        Fit.objects.filter(pk=fit.pk).update(arrays=None)
    for _criterion in (1, 2):
        tastes_queue.QUEUE.work(tastes_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)
    assert [sides(one) for one in TasteMap.objects.order_by("criterion")] == [HALVES, ALTERNATING]


@pytest.mark.slow
@pytest.mark.usefixtures("mapped")
def test_an_own_ranking_is_by_the_criterion_looked_at(alice, crossed):
    client, second = signed_in(alice), crossed.annotators.order_by("pk")[1]
    for query, backwards in (("", False), ("&criterion=1", False), ("&criterion=2", True)):
        html = annotator_page(client, second, f"?sort=place{query}")
        order = [html.index(f"/ranking/{item.pk}/") for item in crossed.items.order_by("pk")]
        assert order == sorted(order, reverse=backwards)
        assert "flags are for the first criterion, “Clarity”" in html
    assert client.get(reverse("tastes", args=[crossed.pk]), {"criterion": 3}).status_code == 404


PAGES = ["annotators", "annotator", "tastes", "cohorts"]


@pytest.fixture
def compared(mapped, crossed, alice) -> None:
    replay("compared", lambda: compare_platform_with_the_rest(crossed, alice))


def compare_platform_with_the_rest(project: Project, owner: User) -> None:
    """By the second criterion."""
    asked = {"first": "source|platform", "second": ""}
    signed_in(owner).post(reverse("cohorts-compare", args=[project.pk]) + "?criterion=2", asked)
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)


@pytest.mark.slow
@pytest.mark.usefixtures("compared")
@pytest.mark.parametrize("name", PAGES)
def test_links_of_the_pages_about_people_keep_the_criterion(alice, crossed, name):
    client, first = signed_in(alice), crossed.annotators.first()
    crossed.annotators.filter(pk=crossed.annotators.last().pk).update(excluded_at=timezone.now())
    args = [crossed.pk, first.key] if name == "annotator" else [crossed.pk]
    html = client.get(reverse(name, args=args), {"criterion": 2}).content.decode()
    main = html[html.index("<main") : html.index("</main")]
    start = reverse("ranking", args=[crossed.pk]).removesuffix("ranking/")
    links = [one.replace("&amp;", "&") for one in re.findall(r'href="([^"]*)"', main)]
    by_none = ("/annotators/tags/", "/annotators/features/", "/annotators/exclude/", "/as/", "/erase/", "/settings/")
    ours = [one for one in links if one.startswith((start, "?")) and not any(part in one for part in by_none)]
    assert len(ours) > 5
    assert [one for one in ours if "criterion=" not in one] == []
    asking, sending = re.findall(r'<form[^>]*method="get".*?</form>', main, re.S), re.findall(r'action="([^"]*)"', main)
    assert all('name="criterion" value="2"' in form for form in asking)
    lost = [
        one for one in sending if "criterion=2" not in one and not any(f'action="{one}"' in form for form in asking)
    ]
    assert lost == []


@pytest.mark.slow
@pytest.mark.usefixtures("fitted")
def test_who_is_excluded_on_a_criterions_page_leads_back_to_it(alice, crossed):
    client, first = signed_in(alice), crossed.annotators.first()
    for stay, where in (({"stay": "1"}, "annotator"), ({}, "annotators")):
        url = reverse("annotator-exclude", args=[crossed.pk, first.key]) + "?criterion=2"
        response = client.post(url, stay)
        args = [crossed.pk, first.key] if where == "annotator" else [crossed.pk]
        assert response["Location"] == reverse(where, args=args) + "?criterion=2"
    assert f"annotator={first.key}&amp;criterion=2" in client.get(response["Location"]).content.decode()


@pytest.mark.usefixtures("mapped")
@pytest.mark.slow
def test_cohorts_are_fitted_by_the_answers_to_the_criterion(alice, crossed):
    client, url = signed_in(alice), reverse("cohorts-compare", args=[crossed.pk])
    for query in ("", "?criterion=2"):
        sent = client.post(url + query, {"first": "source|platform", "second": "source|link"})
        row = cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now())
        cohorts_queue.QUEUE.work(row, progress=go_on)
        assert sent["Location"].endswith(f"{query}&show={row.pk}" if query else f"?show={row.pk}")
    first, second = CohortComparison.objects.order_by("criterion")
    assert [(one.fit_number, one.sizes) for one in (first, second)] == [(1, [[4, 60]] * 2), (2, [[4, 60]] * 2)]
    told = [client.get(reverse("cohorts", args=[crossed.pk]), {"criterion": n}).context["cohorts"] for n in (1, 2)]
    assert [[one.comparison.pk for one in page.kept] for page in told] == [[first.pk], [second.pk]]
    assert told[0].table.n_separated >= 4
    assert told[1].table.n_separated == 0, "by correctness each cohort is half of either view"
    with np.load(io.BytesIO(bytes(first.arrays))) as arrays:
        assert (np.diff(arrays["first"]) < 0).all()
        assert (np.diff(arrays["second"]) > 0).all()
    other = client.get(reverse("cohorts", args=[crossed.pk]), {"show": first.pk, "criterion": 2}).context["cohorts"]
    assert other.shown is None
    details = Event.objects.filter(verb="cohorts compared").order_by("pk").values_list("details", flat=True)
    assert [one["criterion"] for one in details] == [1, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("mapped")
def test_groups_are_those_of_the_criterion(crossed):
    """Whatever eight people's groups are, here there are said to be two by the second criterion, none by the first."""
    TasteMap.objects.filter(criterion=1).update(n_groups=1)
    TasteMap.objects.filter(criterion=2).update(n_groups=2)
    AnnotatorTaste.objects.filter(annotator__project=crossed).update(group=0)
    odd = set(crossed.annotators.order_by("pk").values_list("pk", flat=True)[1::2])
    AnnotatorTaste.objects.filter(criterion=2).update(group=0)
    AnnotatorTaste.objects.filter(criterion=2, annotator__in=odd).update(group=1)
    [found] = [one for one in groupings(Criterion(crossed, 2)) if one.key == "group"]
    assert [one.n for one in found.values] == [4, 4]
    assert members(Criterion(crossed, 2), "group", "1") == odd
    assert [one.key for one in groupings(Criterion(crossed))] == ["source"]
    assert members(Criterion(crossed), "group", "1") == set()


@pytest.mark.slow
@pytest.mark.usefixtures("mapped")
def test_the_api_tells_of_one_criterion_at_a_time(alice, crossed):
    taste_maps = TasteMap.objects.filter(project=crossed).order_by("criterion")
    api, second = Api(alice, crossed), crossed.annotators.order_by("pk")[1]
    for number, taste_map in enumerate(taste_maps, 1):
        told = api("get", "tastes", criterion=number).json()
        assert told["fit"] == taste_map.fit_number
        own = api("get", "annotator-ranking", args=[second.key], criterion=number, sort="place").json()
        keys = list(crossed.items.order_by("pk").values_list("key", flat=True))
        assert [row["item"] for row in own["results"]] == (keys if number == 1 else keys[::-1])
    assert api("get", "tastes", criterion=3).status_code == 422
    asking = {"by": "source", "first": "platform", "second": "link"}
    assert set(api("post", "cohorts", {**asking, "criterion": 3}).json()["errors"]) == {"criterion"}
    row = api("post", "cohorts", {**asking, "criterion": 2}).json()
    assert row["criterion"] == 2
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)
    assert api("get", "cohorts-row", args=[row["id"]]).json()["n_separated"] == 0
    assert [len(api("get", "cohorts", criterion=n).json()["comparisons"]) for n in (1, 2)] == [0, 1]


@pytest.mark.usefixtures("mapped")
def test_own_data_names_the_criterion_of_every_figure(alice, crossed):
    first = crossed.annotators.first()
    content = b"".join(Api(alice, crossed)("get", "annotator-data", args=[first.key]).streaming_content)
    files = zipfile.ZipFile(io.BytesIO(content))
    for name in ("tastes.csv", "figures.csv"):
        rows = csv.DictReader(io.StringIO(files.read(name).decode("utf-8-sig")))
        assert sorted(row["criterion"] for row in rows) == ["1", "2"]
