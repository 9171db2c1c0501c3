"""Who made an item: named by import, page and API, exported, copied, never shown to annotators."""

import csv
import io
import random

import pytest
from django.urls import reverse

from annotate.files.column_guessing import Columns
from annotate.files.layout import guess_columns, guess_layout
from annotate.models import Event, FitState
from annotate.projects.copies.cloning import clone_project
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.fixture
def url(project):
    return reverse("items", args=[project.pk])


@pytest.mark.parametrize("name", ["competitor", "Model", "system"])
def test_an_import_takes_the_column_as_competitor(name):
    rows = "".join(f"Prompt {n // 2},orca {n % 2},A long answer to the prompt number {n}\n" for n in range(8))
    text = f"prompt,{name},text\n{rows}"
    assert guess_columns(text, guess_layout(text, "answers.csv"))[1] == Columns(text=2, context=0, competitor=1)


def test_the_owner_names_the_competitor_of_one_item_and_of_many(owner, project, url):
    first, second = project.items.order_by("pk")[:2]
    answer_one(make_annotator(project, "Judge"), now=NOW)
    before = FitState.objects.get(project=project).wanted
    page = owner.post(url, {"item": first.pk, "action": "competitor", "competitor": " Orca \t 70b "}, follow=True)
    assert "The competitor of “item-0” is saved." in page.content.decode()
    assert "<bdi>Orca 70b</bdi>" in page.content.decode()
    owner.post(url, {"items": [first.pk, second.pk], "action": "name", "competitor": "Orca 70b"})
    assert set(project.items.exclude(competitor="").values_list("pk", "competitor")) == {
        (first.pk, "Orca 70b"),
        (second.pk, "Orca 70b"),
    }
    logged = Event.objects.filter(verb__contains="competitor").order_by("pk").values_list("details", flat=True)
    assert list(logged) == [{"key": "item-0"}, {"items": 1, "keys": ["item-1"]}], "the log keeps no name"
    assert FitState.objects.get(project=project).wanted == before + 2
    project.refresh_from_db()
    assert project.has_competitors
    owner.post(url, {"items": [first.pk, second.pk], "action": "name", "competitor": ""})
    project.refresh_from_db()
    assert not project.has_competitors


def test_a_name_that_is_too_long_is_refused_with_the_limit(owner, project, url):
    item = project.items.get(key="item-1")
    page = owner.post(url, {"item": item.pk, "action": "competitor", "competitor": "x" * 101}, follow=True)
    assert "The competitor has 101 characters; the limit is 100." in page.content.decode()
    item.refresh_from_db()
    assert item.competitor == ""


def test_the_api_reads_adds_and_changes_competitors(alice, project):
    api = Api(alice, project)
    made = api("post", "items", {"items": [{"text": "One", "competitor": "Orca"}, {"text": "Two"}]}, key="a")
    assert made.status_code == 201
    rows = {row["text"]: row for row in api("get", "items").json()["results"]}
    assert (rows["One"]["competitor"], rows["Two"]["competitor"]) == ("Orca", "")
    changed = api("patch", "item", {"competitor": "Llama"}, args=[rows["Two"]["id"]])
    assert (changed.status_code, changed.json()["competitor"]) == (200, "Llama")
    assert api("patch", "item", {"competitor": "x" * 101}, args=[rows["Two"]["id"]]).status_code == 400


def test_annotators_never_see_competitors(client, project, alice):
    project.items.update(competitor="Orca 70b")
    answer_one(make_annotator(project, "Judge", user=alice), now=NOW)
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    task = client.post(reverse("label", args=[project.pk]), follow=True).content.decode()
    assert "Text number" in task
    assert "Orca 70b" not in task


def test_export_and_duplicate_keep_competitors(owner, project, alice):
    project.items.filter(key="item-1").update(competitor="Orca")
    response = owner.get(reverse("export", args=[project.pk, "items", "csv"]))
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    named = {row["item"]: row["competitor"] for row in csv.DictReader(io.StringIO(text))}
    assert (named["item-1"], named["item-2"]) == ("Orca", "")
    clone = clone_project(source=project, actor=alice, name="Again", with_items=True, now=NOW, rng=random.Random(0))
    assert clone.items.get(key="item-1").competitor == "Orca"
