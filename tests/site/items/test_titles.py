"""Titles of items: given on the items page and by the API, shown first in results, never to annotators."""

import csv
import io

import pytest
from django.urls import reverse

from annotate.models import Event, Item
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_fit


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.fixture
def url(project):
    return reverse("items", args=[project.pk])


def test_an_item_is_called_by_its_title_else_by_its_first_words():
    item = Item(body="The first\nwords " + "of a long text " * 20)
    assert item.title == item.first_words
    assert item.title.startswith("The first words of")
    item.name = "Anna Berg"
    assert (item.title, str(item)) == ("Anna Berg", "Anna Berg")
    assert item.first_words.startswith("The first words of")


def test_the_owner_gives_a_title_and_takes_it_away(owner, project, url):
    item = project.items.get(key="item-1")
    page = owner.post(url, {"item": item.pk, "action": "title", "title": " Anna \t Berg "}, follow=True)
    assert "The title of “item-1” is saved." in page.content.decode()
    item.refresh_from_db()
    assert item.name == "Anna Berg"
    shown = page.content.decode()
    assert shown.index("Anna Berg</span>") < shown.index("Text number 1</span>"), "the first words stand beneath"
    assert [event.details for event in Event.objects.filter(verb="item's title changed")] == [{"key": "item-1"}]
    owner.post(url, {"item": item.pk, "action": "title", "title": ""})
    owner.post(url, {"item": item.pk, "action": "title", "title": ""})
    item.refresh_from_db()
    assert item.title == "Text number 1"
    assert Event.objects.filter(verb="item's title changed").count() == 2, "the same again changes nothing"


def test_a_title_that_is_too_long_is_refused_with_the_limit(owner, project, url):
    item = project.items.get(key="item-1")
    page = owner.post(url, {"item": item.pk, "action": "title", "title": "x" * 201}, follow=True)
    assert "The title has 201 characters; the limit is 200." in page.content.decode()
    item.refresh_from_db()
    assert item.name == ""


def test_a_viewer_gives_no_titles(client, project, url, vera):
    client.force_login(vera, "allauth.account.auth_backends.AuthenticationBackend")
    item = project.items.get(key="item-1")
    assert client.post(url, {"item": item.pk, "action": "title", "title": "Mine"}).status_code == 403
    item.refresh_from_db()
    assert item.name == ""


def test_items_are_found_by_their_titles(owner, project, url):
    project.items.filter(key="item-3").update(name="Anna Berg")
    lines = owner.get(url, {"q": "anna"}).context["items"].lines
    assert [line.item.key for line in lines] == ["item-3"]


def test_the_api_reads_adds_and_changes_titles(alice, project):
    api = Api(alice, project)
    made = api("post", "items", {"items": [{"text": "One", "title": "Anna"}, {"text": "Two"}]}, key="a")
    assert made.status_code == 201
    rows = {row["text"]: row for row in api("get", "items").json()["results"]}
    assert (rows["One"]["title"], rows["Two"]["title"]) == ("Anna", "")
    changed = api("patch", "item", {"title": "Ben"}, args=[rows["Two"]["id"]])
    assert (changed.status_code, changed.json()["title"]) == (200, "Ben")
    assert api("patch", "item", {"title": "x" * 201}, args=[rows["Two"]["id"]]).status_code == 400
    assert project.items.get(body="Two").name == "Ben"


def test_annotators_never_see_titles(client, project, alice):
    project.items.update(name="Anna Berg")
    annotator = make_annotator(project, "Judge", user=alice)
    answer_one(annotator, now=NOW)
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    answers = client.get(reverse("own-answers", args=[project.pk])).content.decode()
    task = client.post(reverse("label", args=[project.pk]), follow=True).content.decode()
    for page in (answers, task):
        assert "Text number" in page
        assert "Anna Berg" not in page


def test_the_export_has_titles(owner, project):
    project.items.filter(key="item-1").update(name="Anna Berg")
    response = owner.get(reverse("export", args=[project.pk, "items", "csv"]))
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    titles = {row["item"]: row["title"] for row in csv.DictReader(io.StringIO(text))}
    assert (titles["item-1"], titles["item-2"]) == ("Anna Berg", "")


@pytest.mark.slow
def test_results_name_items_as_the_project_says(owner, project):
    items = list(project.items.order_by("pk")[:2])
    Item.objects.filter(pk=items[0].pk).update(name="Anna Berg")
    make_fit(project, [[(items[0], 1.0, 0.1, 20), (items[1], -1.0, 0.1, 20)]])
    pages = [reverse(name, args=[project.pk]) for name in ("report", "scale", "known-set-new")]
    shown = {"title": (True, False), "text": (False, True), "both": (True, True)}
    for by, (has_title, has_text) in shown.items():
        owner.post(reverse("settings-ranking", args=[project.pk]), settings_of(project) | {"items_shown_by": by})
        for page in pages:
            said = owner.get(page).content.decode()
            names = said.count("Anna Berg") > 0, any(f"{mark}{items[0].body}<" in said for mark in (">", ": "))
            assert names == (has_title, has_text), (by, page)
        ranking = owner.get(reverse("ranking", args=[project.pk])).content.decode()
        assert ("Anna Berg" in ranking) == has_title, ranking[ranking.find("Anna Berg") - 300 :][:400]


def settings_of(project):
    return {name: getattr(project, name) for name in ("estimator", "top_k", "tie_margin")}
