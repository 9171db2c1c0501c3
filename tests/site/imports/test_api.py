"""Imports by the API, with the engine in between; captions of recordings."""

import csv
import io

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotate.models import FeatureNames, Item, Label
from tests.conftest import make_token, make_user, member
from tests.site.api_client import Api
from tests.site.imports.test_jobs import work

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def api(alice, project) -> Api:
    return Api(alice, project)


def hand_in(api: Api, kind: str, name: str, content: bytes, **more):
    data = {"kind": kind, "file": SimpleUploadedFile(name, content), **more}
    url = reverse("api-imports", args=[api.project.pk])
    return api.client.post(url, data, headers={"Authorization": f"Bearer {api.secret}"})


def test_items_are_checked_told_and_written_on_the_owners_word(api, project):
    content = b"essay,id,score\nOne more,n1,3\nTaken,item-1,4\nAnother,n2,5\n"
    asked = hand_in(api, "items", "essays.csv", content, columns='{"text": "essay", "features": ["score"]}')
    assert (asked.status_code, asked.json()["state"]) == (202, "uploaded")
    number = asked.json()["id"]
    again = hand_in(api, "items", "essays.csv", content)
    assert (again.status_code, again.json()["type"]) == (409, "urn:crowdrank:problem:import-running")
    work()
    told = api("get", "import", args=[number]).json()
    assert (told["state"], told["n_rows"], told["n_bad"], told["n_written"]) == ("checked", 3, 1, 0)
    assert told["columns"] == ["essay", "id", "score"]
    [problem] = told["problems"]
    assert (problem["row"], "item-1" in problem["problem"]) == (3, True)
    file = b"".join(api("get", "import-left-out", args=[number]).streaming_content).decode("utf-8-sig")
    assert [row["essay"] for row in csv.DictReader(io.StringIO(file))] == ["Taken"]
    assert api("post", "import-go-on", args=[number]).json()["state"] == "running"
    work()
    assert api("get", "import", args=[number]).json()["state"] == "done"
    assert sorted(project.items.filter(key__startswith="n").values_list("body", flat=True)) == ["Another", "One more"]
    assert FeatureNames.objects.get().names == ["score"]
    assert api("post", "import-go-on", args=[number]).json()["type"] == "urn:crowdrank:problem:not-now"
    assert api("post", "import-stop", args=[number]).json()["state"] == "done"
    assert [row["id"] for row in api("get", "imports").json()["results"]] == [number]


def test_comparisons_and_features_are_read_as_is_said(api, project):
    content = b"who,one,other,best\nAnn,item-0,item-1,item-0\nBea,item-1,item-2,item-2\n"
    columns = '{"annotator": "who", "left": "one", "right": "other", "answer": "best"}'
    wrong = hand_in(api, "comparisons", "v.csv", content, columns='{"left": "nowhere"}', read_as="pairs")
    assert "nowhere" in wrong.json()["errors"]["file"][0]
    assert hand_in(api, "comparisons", "v.csv", content, columns="[1]").json()["errors"].keys() == {"columns"}
    sent = hand_in(api, "comparisons", "v.csv", content, columns=columns, read_as="pairs", at_once="true", before="z ")
    assert sent.status_code == 202
    work()
    assert api("get", "import", args=[sent.json()["id"]]).json()["n_written"] == 2
    assert sorted(Label.objects.values_list("annotator__pseudonym", flat=True)) == ["z Ann", "z Bea"]
    twice = hand_in(api, "comparisons", "v.csv", content, columns=columns, read_as="pairs")
    assert twice.json()["type"] == "urn:crowdrank:problem:imported-before"
    matrix = io.BytesIO()
    np.save(matrix, np.arange(4.0).reshape(2, 2))
    keys = SimpleUploadedFile("keys.txt", b"item-0\nitem-3\n")
    made = hand_in(api, "features", "m.npy", matrix.getvalue(), keys=keys, called="len", at_once="true")
    work()
    assert api("get", "import", args=[made.json()["id"]]).json()["state"] == "done"
    assert FeatureNames.objects.get().names == ["len1", "len2"]
    assert "not a zip file" in hand_in(api, "media", "m.zip", b"text").json()["errors"]["file"][0]
    assert "empty" in hand_in(api, "items", "i.csv", b" ").json()["errors"]["file"][0]


def test_an_import_is_stopped(api, project):
    number = hand_in(api, "items", "items.csv", b"key,text\na,One\n").json()["id"]
    assert api("post", "import-stop", args=[number]).json()["state"] == "cancelled"
    work()
    assert not project.items.filter(key="a").exists()


def test_captions_are_set_read_and_removed(api, project):
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n"
    talk = Item.objects.create(
        project=project, key="talk", kind="audio", body="A talk", media=ContentFile(b"x", "t.wav")
    )
    assert api("get", "item-captions", args=[talk.pk]).status_code == 404
    given = {"text": text.replace("\n", "\r\n"), "language": "en"}
    assert api("put", "item-captions", given, args=[talk.pk]).json() == {"text": text, "language": "en"}
    assert api("get", "item-captions", args=[talk.pk]).json() == {"text": text, "language": "en"}
    assert "WEBVTT" in api("put", "item-captions", {**given, "text": "Hi"}, args=[talk.pk]).json()["errors"]["text"][0]
    assert set(api("put", "item-captions", {**given, "language": "?"}, args=[talk.pk]).json()["errors"]) == {"language"}
    assert api("delete", "item-captions", args=[talk.pk]).status_code == 204
    assert api("get", "item-captions", args=[talk.pk]).status_code == 404
    words = project.items.filter(kind="text").first()
    assert api("put", "item-captions", given, args=[words.pk]).status_code == 404


def test_only_managers_import_and_set_captions(api, alice, project):
    number = hand_in(api, "items", "items.csv", b"key,text\nitem-1,Taken\n").json()["id"]
    work()
    talk = Item.objects.create(
        project=project, key="talk", kind="audio", body="A talk", media=ContentFile(b"x", "t.wav")
    )
    viewer, reader = Api(member(project, "viewer", "viewer"), project), Api(alice, project)
    reader.secret = make_token(alice, "read")[1]
    stranger = Api(make_user("stranger"), project)
    for who, status in ((viewer, 403), (reader, 403), (stranger, 404)):
        assert hand_in(who, "items", "more.csv", b"key,text\nb,Two\n").status_code == status
        assert who("put", "item-captions", {"text": "WEBVTT", "language": "en"}, args=[talk.pk]).status_code == status
        assert who("delete", "item-captions", args=[talk.pk]).status_code == status
    for who, status in ((viewer, 403), (reader, 200), (stranger, 404)):
        assert who("get", "import-left-out", args=[number]).status_code == status
        assert who("get", "imports").status_code == status
    assert stranger("get", "item-captions", args=[talk.pk]).status_code == 404
    assert Client().get(reverse("api-imports", args=[project.pk])).status_code == 401


def test_an_empty_file_of_keys_is_not_taken_for_none(api, project):
    matrix = io.BytesIO()
    np.save(matrix, np.ones((project.items.count(), 1)))
    refused = hand_in(api, "features", "m.npy", matrix.getvalue(), keys=SimpleUploadedFile("keys.txt", b""))
    assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"keys"})
    assert not FeatureNames.objects.exists()


def test_an_empty_file_is_no_item(api, project):
    data = {"file": SimpleUploadedFile("photo.png", b"")}
    url = reverse("api-item-files", args=[project.pk])
    refused = api.client.post(url, data, headers={"Authorization": f"Bearer {api.secret}"})
    assert (refused.status_code, refused.json()["errors"].keys()) == (422, {"file"})


def test_counts_are_imported_and_exported_by_the_api(api, project):
    content = b"who,song,plays\nAnn,item-0,3\nBea,item-1,4\n"
    columns = '{"annotator": "who", "item": "song", "count": "plays"}'
    refused = hand_in(api, "counts", "c.csv", content, columns=columns)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crowdrank:problem:takes-answers")
    type(project).objects.filter(pk=project.pk).update(state="draft")
    assert (
        "item" in hand_in(api, "counts", "c.csv", content, columns='{"item": null}').json()["errors"]["file"][0].lower()
    )
    sent = hand_in(api, "counts", "c.csv", content, columns=columns, at_once="true", before="z ")
    assert sent.status_code == 202
    work()
    assert api("get", "import", args=[sent.json()["id"]]).json()["n_written"] == 2
    assert api("get", "project").json()["evidence"] == "counts"
    exported = b"".join(api("get", "export", args=["counts", "csv"]).streaming_content).decode("utf-8-sig")
    rows = [(row["annotator"], row["item"], row["count"]) for row in csv.DictReader(io.StringIO(exported))]
    assert rows == [("z Ann", "item-0", "3"), ("z Bea", "item-1", "4")]
    more = hand_in(api, "comparisons", "v.csv", b"annotator,left,right,answer\nA,item-0,item-1,item-0\n")
    assert more.json()["type"] == "urn:crowdrank:problem:ranked-by-counts"


@pytest.mark.parametrize("kind", ["items", "comparisons", "media", "features", "counts"])
def test_an_empty_file_is_told_as_one_that_cannot_be_read(api, project, kind):
    refused = hand_in(api, kind, {"media": "a.zip", "features": "a.npy"}.get(kind, "a.csv"), b"")
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"file"})
    assert not project.imports.exists()


def test_weights_of_comparisons_are_told_as_left_aside(api):
    content = b"annotator,left,right,outcome,weight\nu,item-0,item-1,1,2\nu,item-1,item-2,1,1\nu,item-0,item-2,1,-4\n"
    number = hand_in(api, "comparisons", "weighted.csv", content).json()["id"]
    work()
    told = api("get", "import", args=[number]).json()
    assert (told["n_weighted"], told["n_bad"]) == (1, 1)
    assert told["problems"][0]["row"] == 4
    assert "“-4”" in told["problems"][0]["problem"]
