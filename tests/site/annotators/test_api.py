"""What the API tells of people: tags, tastes, cohorts, an annotator's own ranking and data; the screens' figures."""

import csv
import io
import zipfile
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.models import AnnotatorTag, Project
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.annotators.test_pages import draw_taste_map, go_on
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.fitting.test_run import fit_now
from tests.site.fitting.test_tastes import divided  # noqa: F401  (a fixture)
from tests.site.pages import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.usefixtures("quick_draws")]


def test_a_goal_is_set_told_as_on_the_page_and_removed(alice, project):
    api = Api(alice, project)
    make_labels(project, [make_annotator(project, "Otter")], 12)
    told = api("patch", "goal", {"goal": "comparisons", "goal_comparisons": 30, "price": "0.10"}).json()
    assert (told["goal"], told["verdict"], told["price"]) == ("comparisons", "waiting", "0.1000")
    kept = {"kind": "comparisons", "value": 30, "met": False, "state": 4, "why": "", "needed": [60, 80, None]}
    later = NOW + timedelta(hours=1)  # than the labels
    items = list(project.items.order_by("pk"))
    spread_fit(project, items, diagnostics={"goal": kept}, n_labels=12, started_at=later)
    told = api("get", "goal").json()
    assert (told["verdict"], told["needed"]) == ("open", {"low": 60, "middle": 80, "high": None})
    assert told["cost"]["n_paid"] == 12
    context = signed_in(alice).get(reverse("progress", args=[project.pk])).context
    goal, cost = context["goal"], context["cost"]
    assert (told["sentence"], told["stands"], told["likely"]) == (goal.sentence, goal.stands, goal.likely)
    assert told["cost"] == {name: getattr(cost, name) for name in ("spent", "rate", "n_paid", "total", "between")}
    assert (told["goal_deadline"], told["by_deadline"]) == (None, None)
    assert api("patch", "goal", {"goal_deadline": "2027-01-31"}).json()["goal_deadline"] == "2027-01-31"
    assert set(api("patch", "goal", {"goal_deadline": "soon"}).json()["errors"]) == {"goal_deadline"}
    assert api("patch", "goal", {"goal_deadline": None}).json()["goal_deadline"] is None
    assert set(api("patch", "goal", {"goal": "width"}).json()["errors"]) == {"goal_width"}
    assert set(api("patch", "goal", {"price": 0.1}).json()["errors"]) == {"price"}
    assert set(api("patch", "goal", {"goal": "plan"}).json()["errors"]) == {"goal"}
    gone = api("delete", "goal").json()
    assert (gone["goal"], gone["verdict"], gone["price"]) == ("", None, "0.1000")


def test_tags_are_put_and_taken_all_or_none(alice, project):
    api = Api(alice, project)
    otter, newt = make_annotator(project, "Otter"), make_annotator(project, "Newt", platform_id="p-7")
    rows = [{"annotator": "Otter", "tags": ["experts", "Berlin"]}, {"annotator": "p-7", "tags": ["experts"]}]
    wrong = api("post", "annotator-tags", {"action": "tag", "rows": [*rows, {"annotator": "Nobody", "tags": ["x"]}]})
    assert set(wrong.json()["errors"]) == {"rows.2"}
    assert not AnnotatorTag.objects.exists()
    for _again in range(2):
        assert api("post", "annotator-tags", {"action": "tag", "rows": rows}, key="once").json() == {"n_tags": 3}
    assert api("get", "annotator-tags").json() == [
        {"name": "Berlin", "n_annotators": 1},
        {"name": "experts", "n_annotators": 2},
    ]
    [row] = api("get", "annotators", tag="Berlin").json()["results"]
    assert (row["pseudonym"], row["tags"]) == ("Otter", ["Berlin", "experts"])
    assert api("post", "annotator-tags", {"action": "untag", "rows": rows[1:]}).json() == {"n_tags": 1}
    assert [one.tags.count() for one in (otter, newt)] == [2, 0]


@pytest.mark.slow
def test_tastes_and_own_rankings_are_those_of_the_pages(alice, divided):  # noqa: F811
    api, client = Api(alice, divided), signed_in(alice)
    assert api("get", "tastes").status_code == 404
    taste_map = draw_taste_map(divided)
    told = api("get", "tastes").json()
    page = client.get(reverse("tastes", args=[divided.pk])).context["map"]
    assert (told["fit"], told["n_annotators"], told["n_pages"]) == (taste_map.fit_number, 8, 1)
    assert [one["share"] for one in told["components"]] == [one.share for one in page.components]
    for mine, theirs in zip(told["components"], page.components, strict=True):
        assert [(row["item"], row["by"]) for row in mine["high"]] == [(i.key, by) for i, by in theirs.high.items]
        assert [(row["item"], row["by"]) for row in mine["low"]] == [(i.key, by) for i, by in theirs.low.items]
    assert [(one["number"], one["n"]) for one in told["groups"]] == [(one.number, one.n) for one in page.groups]
    for row, dot in zip(told["results"], page.table, strict=True):
        assert (row["pseudonym"], row["group"]) == (dot.row.annotator.pseudonym, dot.group)
        assert [(one["score"], one["sd"]) for one in row["scores"]] == dot.scores
    assert api("get", "tastes", page=2).status_code == 404

    first = divided.annotators.order_by("pk").first()
    told = api("get", "annotator-ranking", args=[first.key], sort="place").json()
    url = reverse("annotator", args=[divided.pk, first.key])
    own = client.get(url, {"sort": "place"}).context["person"].ranking
    assert (told["reason"], told["n_items"], told["n_sure"]) == ("", own.n_items, own.n_sure)
    shared = ("place", "crowd_place", "utility", "low", "high", "crowd", "difference", "is_sure")
    assert [[row[name] for name in shared] for row in told["results"]] == [
        [getattr(row, name) for name in shared] for row in own.rows
    ]
    few = api("get", "annotator-ranking", args=[make_annotator(divided, "Shy").key]).json()
    assert (few["reason"], few["fit"], few["results"]) == ("few", None, [])


@pytest.mark.slow
def test_cohorts_are_asked_for_and_read_as_on_the_page(alice, divided):  # noqa: F811
    api, client = Api(alice, divided), signed_in(alice)
    asking = {"by": "source", "first": "platform", "second": "link"}
    assert api("post", "cohorts", asking).json()["type"] == "urn:crowdrank:problem:no-such-cohorts"
    for one in divided.annotators.order_by("pk")[:4]:
        one.source = "platform"
        one.save()
    assert api("post", "cohorts", asking).json()["type"] == "urn:crowdrank:problem:nothing-to-compare-yet"
    Project.objects.update(estimator="BradleyTerry")
    fit_now(divided)
    first = api("post", "cohorts", asking, key="once")
    assert (first.status_code, first.json()["status"], first.json()["sizes"]) == (202, "asked", [])
    assert api("post", "cohorts", asking, key="once").json() == first.json()
    number = first.json()["id"]
    assert api("get", "cohorts-row", args=[number]).json()["results"] == []
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)
    told = api("get", "cohorts-row", args=[number], sort="first").json()
    shown = client.get(reverse("cohorts", args=[divided.pk]), {"show": number, "sort": "first"}).context["cohorts"]
    table = shown.table
    assert told["sizes"] == [{"n_annotators": 4, "n_labels": 60}] * 2
    assert (told["n_items"], told["n_separated"], told["correlation"]) == (
        table.n_items,
        table.n_separated,
        table.correlation,
    )
    for mine, theirs in zip(told["results"], table.rows, strict=True):
        assert (mine["item"], mine["difference"], mine["low"]) == (theirs.item.key, theirs.difference, theirs.low)
        for name, place, scores in zip(("first", "second"), (theirs.first, theirs.second), theirs.scores, strict=True):
            assert tuple(mine[name].values()) == (*place, *scores)
    whole = api("get", "cohorts").json()
    [division] = [one for one in whole["divisions"] if one["key"] == "source"]
    assert {(one["key"], one["n"]) for one in division["values"]} == {("platform", 4), ("link", 4)}
    assert [one["id"] for one in whole["comparisons"]] == [number]


def test_an_owner_takes_an_annotators_data_without_their_secret(alice, project):
    api = Api(alice, project)
    otter = make_annotator(project, "Otter")
    answer_one(otter, now=timezone.now())
    other = make_annotator(project, "Newt")
    content = b"".join(api("get", "annotator-data", args=[otter.key]).streaming_content)
    files = zipfile.ZipFile(io.BytesIO(content))
    text = "".join(files.read(name).decode() for name in files.namelist())
    assert otter.resume_token not in text
    assert other.pseudonym not in text
    [row] = csv.DictReader(io.StringIO(files.read("annotators.csv").decode("utf-8-sig")))
    assert (row["pseudonym"], "resume_token" in row) == ("Otter", False)
    assert len(list(csv.DictReader(io.StringIO(files.read("answers.csv").decode("utf-8-sig"))))) == 1
