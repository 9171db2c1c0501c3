"""Items of several sections: by a table, a form, JSON, the API and a zip file, shown in order and safe."""

import io
import json
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse

from annotate.core.sections import MAX_SECTIONS, Section, parse_sections, section_words, sections_in, write_sections
from annotate.criteria import Criterion
from annotate.files.writers import csv_chunks
from annotate.imports import queue as imports_queue
from annotate.imports.media.archives import Archive
from annotate.management.commands.worker import create_worker
from annotate.models import ImportJob, Item
from annotate.privacy.own_data.export import answer_row
from annotate.projects.actions import delete_project
from annotate.projects.copies.cloning import clone_project
from annotate.publishing.exports.preferences import rows as preference_rows
from annotate.publishing.exports.registry import TABLES
from tests.conftest import NOW, answer_one, make_annotator, make_token
from tests.site.imports.test_archives import packed, png
from tests.site.imports.test_formats import read
from tests.site.pages import signed_in
from tests.site.recordings import wav

SECTIONS = [
    {"kind": "text", "text": "A <plain> line", "heading": "Answer"},
    {"kind": "code", "text": "def f():\n    return 1", "language": "python"},
    {"kind": "chat", "text": [{"role": "user", "content": "Why?"}]},
    {"kind": "link", "link": "https://example.org/page", "text": "More"},
]
FILES = [{"kind": "image", "file": "a.png", "text": "A square"}, {"kind": "audio", "file": "b.wav"}]


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# --- What is read -----------------------------------------------------------------------------------------------------


def test_a_table_names_sections_by_its_columns():
    checked = read(
        b"key,section_2_code,section_1,section_3_link\na,x = 1,Read this:,https://example.org\nb,,Only this,\n"
    )
    assert not checked.errors
    assert [item.kind for item in checked.items] == ["sections", "sections"]
    assert sections_in(checked.items[0].body) == [
        Section("text", "Read this:"),
        Section("code", "x = 1"),
        Section("link", link="https://example.org"),
    ]
    assert [one.text for one in sections_in(checked.items[1].body)] == ["Only this"]


@pytest.mark.parametrize("name", ["items.json", "items.csv", "kind.csv"])
def test_json_holds_sections_whole(name):
    text = json.dumps(SECTIONS)
    content = {
        "items.json": json.dumps([{"key": "a", "sections": SECTIONS}]),
        "items.csv": f"key,sections\na,{quoted(text)}\n",
        "kind.csv": f"key,text,kind\na,{quoted(text)},sections\n",
    }[name]
    checked = read(content.encode(), name)
    assert not checked.errors
    assert [one.kind for one in sections_in(checked.items[0].body)] == ["text", "code", "chat", "link"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no JSON", "not valid JSON"),
        ("{}", "no list"),
        ("[]", "no list"),
        ('["a"]', "Section 1 is not understood"),
        ('[{"kind": "poem", "text": "a"}]', "text, markdown, html, code, chat"),
        ('[{"text": "a", "onclick": "b"}]', "only these fields"),
        ('[{"text": "a"}, {"text": " "}]', "Section 2: it has no text"),
        ('[{"kind": "html", "text": "<script>x</script>"}]', "no text that can be shown"),
        ('[{"kind": "chat", "text": "hello"}]', "not valid JSON"),
        ('[{"kind": "link", "link": "javascript:alert(1)"}]', "not a web address"),
        ('[{"text": {"a": 1}}]', "no text"),
        ('[{"text": "a", "heading": "' + "h" * 101 + '"}]', "101 characters; the limit is 100"),
        ('[{"text": "a", "file": "b.png"}]', "only images, sound and video"),
        ('[{"kind": "image", "file": "b.png"}]', "Import such items as a zip file"),
        ('[{"kind": "image"}]', "names no file"),
        (
            json.dumps([{"text": "a"}] * (MAX_SECTIONS + 1)),
            f"has {MAX_SECTIONS + 1} sections; the limit is {MAX_SECTIONS}",
        ),
        ("[" * 90_000, "not valid JSON"),
    ],
)
def test_what_is_no_section_is_refused_with_what_to_correct(text, message):
    checked = read(f"key,sections\na,{quoted(text)}\n".encode())
    assert not checked.items
    assert message in checked.errors[0].message


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "html", "text": "<img src=x onerror=alert(1)>x<script>alert(1)</script>"},
        {"kind": "markdown", "text": "[x](javascript:alert(1)) <b onclick=alert(1)>"},
        {"kind": "code", "text": "</code><script>alert(1)</script>", "language": '"><script>'},
        {"kind": "text", "text": "<script>alert(1)</script>"},
    ],
)
def test_a_malicious_section_is_shown_as_words(value):
    shown = parse_sections(json.dumps([value]))[0].rendered
    for element in ElementTree.fromstring(f"<div>{shown}</div>").iter():
        assert element.tag in {"div", "p", "pre", "code", "span", "a"}
        assert set(element.attrib) <= {"class", "tabindex"}


def test_what_is_written_is_read_again_the_same():
    sections = parse_sections(json.dumps(SECTIONS))
    assert parse_sections(write_sections(sections)) == sections
    assert section_words(write_sections(sections)) == "A <plain> line\n\ndef f():\n    return 1\n\nWhy?\n\nMore"
    assert section_words("[1] says") == "[1] says"


# --- With files -------------------------------------------------------------------------------------------------------


def imported(project, alice) -> Item:
    manifest = json.dumps({"key": "whole", "title": "Whole", "sections": [SECTIONS[0], *FILES]}) + "\n"
    content = packed({"manifest.jsonl": manifest, "a.png": png(), "b.wav": wav()})
    owner, url = signed_in(alice), reverse("items-import", args=[project.pk])
    owner.post(url, {"way": "archive", "archive": ContentFile(content, "set.zip")}, follow=True)
    create_worker("test").run_job(imports_queue.QUEUE)
    job = ImportJob.objects.get()
    assert (job.state, job.errors) == ("checked", [])
    owner.post(reverse("import-job", args=[project.pk, job.pk]), {"action": "go"})
    create_worker("test").run_job(imports_queue.QUEUE)
    job.refresh_from_db()
    assert (job.state, job.message) == ("done", "")
    return Item.objects.get(key="whole")


@pytest.mark.slow
def test_a_zip_file_brings_sections_with_their_files(project, alice):
    item = imported(project, alice)
    text, image, sound = sections_in(item.body)
    assert (item.kind, item.n_pages, item.name, text.heading) == ("sections", 2, "Whole", "Answer")
    assert (image.file, image.text, sound.file, sound.text) == (1, "A square", 2, "b")
    owner = signed_in(alice)
    for number, content_type in ((1, "image/png"), (2, "audio/wav")):
        response = owner.get(reverse("item-page", args=[item.pk, number]))
        assert response["Content-Type"] == content_type
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert owner.get(reverse("item-page", args=[item.pk, 3])).status_code == 404


@pytest.mark.slow
def test_a_clone_has_the_files_and_a_deleted_project_leaves_none(
    project, alice, settings, django_capture_on_commit_callbacks
):
    item = imported(project, alice)
    clone = clone_project(source=project, actor=alice, name="Twin", with_items=True, now=NOW, rng=random.Random(0))
    assert clone.items.get(key="whole").body == item.body
    assert clone.items.get(key="whole").pages.count() == 2
    for one in (project, clone):
        with django_capture_on_commit_callbacks(execute=True):
            delete_project(project=one)
    assert not [file for file in Path(settings.MEDIA_ROOT).glob("items/*") if file.is_file()]


@pytest.mark.parametrize(
    ("sections", "files", "message"),
    [
        (FILES, {"b.wav": wav()}, "There is no file “a.png”"),
        ([{"kind": "audio", "file": "a.png"}], {"a.png": png()}, "not of the kind “audio”"),
        ([{"kind": "image", "file": "a.png"}], {"a.png": b"no picture"}, "“a.png”"),
    ],
)
def test_a_file_that_does_not_fit_is_told_with_its_row(sections, files, message):
    manifest = json.dumps({"key": "a", "sections": sections}) + "\n"
    found = list(Archive(io.BytesIO(packed({"manifest.jsonl": manifest, **files})), ()).rows())
    assert message in found[0].problem
    assert not found[0].lines


# --- Shown and taken out ----------------------------------------------------------------------------------------------


@pytest.fixture
def shown(project):
    """Two items of several sections, one of which somebody has answered about."""
    project.items.all().delete()
    body = write_sections(parse_sections(json.dumps(SECTIONS)))
    for key in ("a", "b"):
        Item.objects.create(project=project, key=key, kind="sections", body=body)
    return project


def test_annotators_see_the_sections_in_order(shown, client):
    client.post(reverse("join", args=[shown.join_token]), {"pseudonym": "Otter"})
    page = client.get(reverse("label", args=[shown.pk])).content.decode()
    places = [
        page.index(words) for words in ("A &lt;plain&gt; line", "code-keyword", "chat-user", "https://example.org/page")
    ]
    assert places == sorted(places)
    assert page.count('class="item-section"') == 8
    assert "<plain>" not in page


def test_items_are_named_and_exported_by_their_words(shown):
    label = answer_one(make_annotator(shown, "Otter"))
    item = shown.items.get(key="a")
    assert item.title.startswith("A <plain> line def f(): return 1")
    table = b"".join(csv_chunks(TABLES["items"].names(shown), TABLES["items"].rows(Criterion(shown))))
    assert [one.body for one in read(table).items] == [item.body, item.body]
    row = next(preference_rows(Criterion(shown)))
    assert row[1] == row[2] == item.words
    told = answer_row(label.presentation, list(label.presentation.items.all()))
    assert told[3] == [item.body, item.body]


def test_the_api_adds_and_returns_sections(project, alice, client):
    headers = {"Authorization": f"Bearer {make_token(alice)[1]}"}
    url = reverse("api-items", args=[project.pk])
    body = {"items": [{"key": "whole", "sections": SECTIONS}]}
    assert client.post(url, body, content_type="application/json", headers=headers).status_code == 201
    found = client.get(f"{url}?q=plain", headers=headers).json()["results"][0]
    assert (found["kind"], [one["kind"] for one in found["sections"]]) == ("sections", ["text", "code", "chat", "link"])
    bad = {"items": [{"key": "c", "sections": [{"kind": "poem"}]}]}
    refused = client.post(url, bad, content_type="application/json", headers=headers)
    assert refused.status_code == 422
    assert "Section 1" in refused.content.decode()
