"""Tables of features, in the engine's layout: page, API and command; what can't be read says where and why."""

import gzip
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.models import FeatureNames, ImportJob, ItemFeatures
from models_engine.io.label_tables import read_features
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.imports.test_api import hand_in
from tests.site.imports.test_jobs import answer_one, work
from tests.site.pages import signed_in

pytestmark = pytest.mark.embedded
ENGINE = (
    b"item,words,difficulty\nitem-0,120,0.5\nitem-1,80,1.5\nitem-2,95,-2\nitem-3,100,0\nitem-4,60,1\nitem-5,70,3e-1\n"
)


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")


def send(owner, project, content: bytes, name: str = "items.csv", **more):
    url = reverse("features-import", args=[project.pk])
    return owner.post(url, {"file": SimpleUploadedFile(name, content), "called": "f", **more}, follow=True)


def test_a_file_of_the_engine_gives_the_fit_the_engines_own_features(project, alice, tmp_path):
    path = tmp_path / "items.csv"
    path.write_bytes(ENGINE)
    assert "Waiting to be checked" in send(signed_in(alice), project, ENGINE).content.decode()
    work()
    assert FeatureNames.objects.get(project=project).names == ["words", "difficulty"]
    answer_one(make_annotator(project, "Otter"))
    labels = read_labels(Criterion(project))
    own = read_features(path)
    keys = [project.items.get(pk=pk).key for pk in labels.item_ids.tolist()]
    assert labels.data.item_features.tolist() == [own.values[own.names.index(key)].tolist() for key in keys]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.csv.gz", gzip.compress(ENGINE, mtime=0)),
        ("f.tsv", ENGINE.replace(b",", b"\t")),
        ("f.json", json.dumps([{"item": f"item-{n}", "words": n, "difficulty": 1.5} for n in range(6)]).encode()),
    ],
)
def test_other_tables_are_read_alike_by_the_api(project, alice, name, content):
    made = hand_in(Api(alice, project), "features", name, content, at_once="true")
    assert made.status_code == 202
    work()
    assert FeatureNames.objects.get(project=project).names == ["words", "difficulty"]
    assert ItemFeatures.objects.count() == 6


def test_a_table_without_rows_is_told_as_such(project, alice):
    assert hand_in(Api(alice, project), "features", "f.csv", b"item,words\n").status_code == 202
    work()
    job = ImportJob.objects.get()
    html = signed_in(alice).get(reverse("import-job", args=[project.pk, job.pk])).content.decode()
    assert "The file has no rows to import. Add some and upload it again." in html


def test_the_command_reads_a_table_and_leaves_wrong_rows_out(project, tmp_path, capsys):
    path = tmp_path / "items.csv"
    path.write_bytes(ENGINE + b"item-1,1,1\nnobody,1,2\nitem-0,,2\n")
    with pytest.raises(CommandError, match="3 of 9 rows have errors"):
        call_command("import_file", "features", str(project.pk), str(path))
    told = capsys.readouterr().out
    assert "row 8: The key “item-1” is already used in row 3" in told
    assert "row 9: There is no item with the key “nobody”" in told
    assert "row 10: The key “item-0” is already used" in told
    assert not ItemFeatures.objects.exists()
    call_command("import_file", "features", str(project.pk), str(path), "--leave-out")
    assert "6 imported, 3 left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"item\nitem-0\n", "has 0 columns of features"),
        (b"item-0,1,2\nitem-1,2,3\n", "The first row has to name the columns"),
        (b"item,x,x\nitem-0,1,2\n", "Two columns are called “x”"),
        (b"item," + b"x" * 61 + b"\nitem-0,1\n", "a name of 61 characters; the limit is 60"),
        (b"item," + b",".join(b"c%d" % n for n in range(1025)) + b"\n", "has 1025 columns of features"),
        (b"", "empty"),
    ],
)
def test_a_table_that_can_hold_no_features_is_refused_at_once(project, alice, content, message):
    page = send(signed_in(alice), project, content).content.decode()
    assert message in page
    assert not ImportJob.objects.exists()
    refused = hand_in(Api(alice, project), "features", "items.csv", content)
    assert message in refused.json()["errors"]["file"][0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"item-0,much", "The feature “words” is “much”, which is not a finite number"),
        (b"item-0,inf", "“inf”, which is not a finite number"),
        (b"item-0,", "The feature “words” is empty"),
        (b"item-0,1,2", "The row has 3 columns, the first row has 2"),
    ],
)
def test_a_wrong_cell_is_told_by_row_and_column(project, alice, row, message):
    send(signed_in(alice), project, b"item,words\nitem-1,3\n" + row + b"\n")
    work()
    job = ImportJob.objects.get()
    assert job.state == "checked"
    [(place, problem)] = job.errors
    assert (place, message in problem) == (3, True), problem
    assert not ItemFeatures.objects.exists()


def test_a_character_that_cannot_be_stored_is_told_by_row_whatever_is_imported(project, alice):
    """Comparisons that make their items, too: the word for a wrong row is one for cells and files."""
    api = Api(alice, project)
    rows = [{"item": "item-0\0", "words": 1}, {"item": "item-1", "words": 2}]
    votes = [{"worker": "w", "left": left, "right": "b", "label": "b"} for left in ("a\0", "a")]
    for kind, sent, more in (("features", rows, {}), ("comparisons", votes, {"create_items": "true"})):
        number = hand_in(api, kind, "sent.json", json.dumps(sent).encode(), **more).json()["id"]
        work()
        told = api("get", "import", args=[number]).json()
        assert (told["state"], told["n_bad"], told["n_lines"] > 0) == ("checked", 1, True), told
        assert "U+0000" in told["problems"][0]["problem"]
        api("post", "import-stop", args=[number])


def test_keys_beside_a_table_and_a_matrix_by_its_name_alone_are_refused(project, alice):
    owner = signed_in(alice)
    page = send(owner, project, ENGINE, keys=SimpleUploadedFile("keys.txt", b"item-0\n")).content.decode()
    assert "A table names its items in its first column" in page
    send(owner, project, b"item,words\n", "matrix.npy")
    work()
    assert "This is not an .npy file" in render_message(ImportJob.objects.get().message)
