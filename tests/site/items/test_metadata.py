"""Metadata of items: by table, JSON, API and zip file, bounded, shown to annotators only where the owner says so."""

import io
import json
import random

import pytest
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.files.column_guessing import metadata_columns
from annotate.files.limits import MAX_METADATA
from annotate.files.writers import csv_chunks
from annotate.imports.forms import ColumnsForm
from annotate.imports.media.archives import Archive
from annotate.items.actions import add_items
from annotate.items.metadata import metadata_names
from annotate.models import Event, Item, Project
from annotate.plan_values import plan_values
from annotate.projects.copies.cloning import clone_project
from annotate.publishing.exports.registry import TABLES
from tests.conftest import NOW, make_token
from tests.site.imports.test_archives import packed, png
from tests.site.imports.test_formats import read
from tests.site.labelling.test_api import post
from tests.site.pages import signed_in
from tests.site.projects.test_projects import VALID

TABLE = 'key,text,meta_author,Meta_year,metadata\na,One,Ada, 1843 ,\nb,Two,,,"{""author"": ""Bo"", ""n"": 3}"\n'


def test_a_table_brings_metadata_by_the_names_of_its_columns():
    checked = read(TABLE.encode())
    assert not checked.errors
    assert [dict(item.metadata) for item in checked.items] == [
        {"author": "Ada", "year": "1843"},
        {"author": "Bo", "n": "3"},
    ]


def test_the_owner_ticks_other_columns(project, alice):
    owner, url = signed_in(alice), reverse("items-import", args=[project.pk])
    text = "key,text,source\na,One,A book\nb,Two,A paper\n"
    page = owner.post(url, {"way": "paste", "text": text, "written": "table"}, follow=True)
    upload = page.context["upload"].id
    values = dict(page.context["parsed"].reading.fields())
    shown = owner.get(url, {**values, "upload": upload, "metadata": ["2", "1"]})
    assert [item.metadata for item in shown.context["parsed"].checked.items] == [
        (("source", "A book"),),
        (("source", "A paper"),),
    ]
    assert not shown.context["parsed"].reading.unused
    fields = shown.context["parsed"].reading.fields()
    owner.post(url, {**dict(fields), "upload": upload, "n": "2", "action": "all"})
    assert project.items.get(key="a").metadata == {"source": "A book"}
    assert "source: A book" in owner.get(reverse("items", args=[project.pk])).content.decode()
    assert isinstance(shown.context["parsed"].reading.columns_form, ColumnsForm)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("no JSON", "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"a": {"b": 1}}', "no JSON object"),
        ("[" * 50_000, "no JSON object"),
        (json.dumps({"a": "x" * 501}), "have 501 characters; the limit is 500"),
        (json.dumps({"n" * 61: "x"}), "have 61 characters; the limit is 60"),
        (json.dumps({" ": "x"}), "the limit is 60"),
        (json.dumps({f"n{i}": "x" for i in range(MAX_METADATA + 1)}), f"has {MAX_METADATA + 1} metadata; the limit is"),
    ],
)
def test_what_is_too_much_is_told_with_its_limit(cell, message):
    quoted = cell.replace('"', '""')
    checked = read(f'key,text,metadata\na,One,"{quoted}"\n'.encode())
    assert not checked.items
    assert message in checked.errors[0].message


def test_a_zip_file_brings_metadata():
    content = packed({"manifest.csv": "file,key,meta_camera\na.png,a,Old\n", "a.png": png()})
    row = next(iter(Archive(io.BytesIO(content), ()).rows()))
    assert row.lines[0][1].metadata == (("camera", "Old"),)
    assert metadata_columns(["meta_", "x", "METADATA"]) == ((2, ""),)


@pytest.fixture
def told(project):
    """Two items with metadata, one of which has what could do harm in it."""
    project.items.all().delete()
    rows = read(b"key,text,meta_author,meta_secret\na,One,<b>Ada</b>,hidden-a\nb,Two,Bo,hidden-b\n").items
    add_items(project, rows, NOW, random.Random(0))
    return project


def test_annotators_see_what_the_owner_shows_and_nothing_else(told, client):
    Project.objects.filter(pk=told.pk).update(shown_metadata=["author", "not there"])
    client.post(reverse("join", args=[told.join_token]), {"pseudonym": "Otter"})
    page = client.get(reverse("label", args=[told.pk])).content.decode()
    assert "&lt;b&gt;Ada&lt;/b&gt;" in page
    assert "Bo</dd>" in page
    assert "hidden-" not in page
    assert page.count('class="item-metadata"') == 2


def test_by_the_api_annotators_see_the_same(told):
    Project.objects.filter(pk=told.pk).update(shown_metadata=["author"])
    secret = post(reverse("api-join", args=[told.join_token])).json()["secret"]
    step = post(reverse("api-next", args=[told.pk]), secret=secret).json()
    assert sorted(one["metadata"]["author"] for one in step["task"]["items"]) == ["<b>Ada</b>", "Bo"]
    assert "hidden" not in json.dumps(step)


def test_the_settings_offer_the_names_that_there_are(told, alice):
    assert metadata_names(told) == ["author", "secret"]
    owner, url = signed_in(alice), reverse("settings-answers", args=[told.pk])
    page = owner.get(url)
    assert [value for value, _name in page.context["form"].fields["shown_metadata"].choices] == ["author", "secret"]
    sent = {"task_type": "pair", "outcomes": ["skip"], "shown_metadata": ["author"], "marks_differences": "on"}
    assert owner.post(url, sent).status_code == 302
    told.refresh_from_db()
    assert (told.shown_metadata, told.marks_differences) == (["author"], True)
    assert plan_values(told)["shown_metadata"] == ["author"]


def test_the_api_sets_what_is_shown_and_changes_metadata(told, alice, client):
    headers = {"Authorization": f"Bearer {make_token(alice)[1]}"}
    whole = reverse("api-project", args=[told.pk])
    changed = client.patch(whole, {"shown_metadata": ["author"]}, content_type="application/json", headers=headers)
    assert changed.json()["shown_metadata"] == ["author"]
    item = told.items.get(key="a")
    url = reverse("api-item", args=[told.pk, item.pk])
    given = {"metadata": {"author": "Eve", "empty": ""}}
    found = client.patch(url, given, content_type="application/json", headers=headers).json()
    assert found["metadata"] == {"author": "Eve"}
    assert Event.objects.filter(verb="item's metadata changed").count() == 1
    refused = client.patch(url, {"metadata": {"a": "x" * 501}}, content_type="application/json", headers=headers)
    assert refused.status_code == 422
    new = {"items": [{"key": "c", "text": "Three", "metadata": {"author": "Cy"}}]}
    added = client.post(reverse("api-items", args=[told.pk]), new, content_type="application/json", headers=headers)
    assert added.status_code == 201
    assert told.items.get(key="c").metadata == {"author": "Cy"}


def test_metadata_leave_and_come_back_and_go_with_a_clone(told, alice):
    table = b"".join(csv_chunks(TABLES["items"].names(told), TABLES["items"].rows(Criterion(told))))
    before = [item.metadata for item in told.items.order_by("pk")]
    assert [dict(item.metadata) for item in read(table).items] == before
    clone = clone_project(source=told, actor=alice, name="Twin", with_items=True, now=NOW, rng=random.Random(0))
    assert [item.metadata for item in clone.items.order_by("pk")] == before


def test_a_new_project_may_name_metadata_that_are_still_to_come(alice, client):
    headers = {"Authorization": f"Bearer {make_token(alice)[1]}"}
    body = {"name": VALID["name"], "question": VALID["question"], "shown_metadata": ["year"]}
    made = client.post(reverse("api-projects"), body, content_type="application/json", headers=headers)
    assert (made.status_code, made.json()["shown_metadata"]) == (201, ["year"])
    assert not Item.objects.filter(project=made.json()["id"]).exists()
