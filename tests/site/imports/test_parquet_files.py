"""Parquet in place of CSV and JSON: items, comparisons and questions, our own data set back, and limits that help."""

import io
import json
import subprocess
import sys
import zipfile

import pyarrow
import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from pyarrow import parquet

from annotate.files import parquet_child, parquet_reader
from annotate.files.json_reader import read_lines
from annotate.files.limits import MAX_COMPARISONS, BadFile
from annotate.files.parquet_child import Refused, plain
from annotate.files.parquet_reader import read_parquet
from annotate.models import Item, Label, Project
from tests.paths import ROOT
from tests.site.api_client import Api
from tests.site.imports.test_api import hand_in
from tests.site.imports.test_comparison_tables import other_project
from tests.site.imports.test_engine_sets import answered
from tests.site.imports.test_jobs import work
from tests.site.labelling.test_task_types import make_items_more
from tests.site.pages import signed_in
from tests.site.task_types import TASKS, set_task, shown_keys

pytestmark = pytest.mark.process

PROMPTS = [
    {"prompt": "Name a bird.", "completions": ["A tern.", "A stone."], "models": ["Tern", "Gull"], "scores": [8.5, 2]},
    {"prompt": "Name a fish.", "completions": ["A cod.", "A ray."], "models": ["Tern", "Gull"], "scores": [1, 1]},
]


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def packed(table: pyarrow.Table | list, **options) -> bytes:
    out = io.BytesIO()
    rows = pyarrow.Table.from_pylist(table) if isinstance(table, list) else table
    parquet.write_table(rows, out, **options)
    return out.getvalue()


def rows_of(content: bytes) -> list[dict]:
    return [json.loads(line) for line in read_parquet(io.BytesIO(content), "a.parquet").rstrip("\n").split("\n")]


@pytest.mark.embedded
def test_values_come_as_json_has_them():
    columns = {
        "text": ["ü\n\u2028", None],
        "key": [7.0, None],
        "score": [0.25, float("nan")],
        "turns": [[{"role": "user", "content": "Hi"}], []],
        "more": pyarrow.array([[("a", 1)], None], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        "at": pyarrow.array([1_500_000_001, 0], pyarrow.timestamp("ns", tz="UTC")),
        "raw": [b"plain", b"text"],
    }
    assert rows_of(packed(pyarrow.table(columns))) == [
        {
            "text": "ü\n\u2028",
            "key": 7,
            "score": 0.25,
            "turns": [{"role": "user", "content": "Hi"}],
            "more": {"a": 1},
            "at": "1970-01-01T00:00:01.500000+00:00",
            "raw": "plain",
        },
        {"turns": [], "at": "1970-01-01T00:00:00+00:00", "raw": "text"},
    ]


@pytest.mark.embedded
def test_row_groups_follow_each_other():
    content = packed([{"n": n} for n in range(1_000)], row_group_size=300)
    assert [row["n"] for row in rows_of(content)] == list(range(1_000))


def test_items_are_previewed_and_imported_on_the_page(project, alice):
    owner, url = signed_in(alice), reverse("items-import", args=[project.pk])
    content = packed(
        [{"essay": "Cats sleep", "id": "p1", "tags": ["calm", "pets"]}, {"essay": "Dogs bark", "id": "p2"}]
    )
    page = owner.post(url, {"way": "file", "file": ContentFile(content, "essays.parquet")}, follow=True)
    assert "Cats sleep" in page.content.decode()
    sent = {**dict(page.context["parsed"].reading.fields()), "upload": page.context["upload"].id, "n": "2"}
    owner.post(url, {**sent, "action": "all"})
    found = project.items.get(key="p1")
    assert (found.body, {tag.name for tag in found.tags.all()}) == ("Cats sleep", {"calm", "pets"})


def test_one_row_with_one_list_is_a_row(alice, project):
    project.items.all().delete()
    hand_in(
        Api(alice, project), "items", "one.parquet", packed([{"text": "Alone", "tags": ["a", "b"]}]), at_once="true"
    )
    work()
    assert list(project.items.values_list("body", flat=True)) == ["Alone"]


def test_lists_within_rows_are_completions_with_models_and_votes(alice, project):
    project.outcomes = ["tie"]
    project.save()
    project.items.all().delete()
    asked = hand_in(Api(alice, project), "questions", "prompts.parquet", packed(PROMPTS), at_once="true")
    assert asked.status_code == 202, asked.content
    work()
    assert set(project.items.values_list("context__body", "competitor", "body")) == {
        ("Name a bird.", "Tern", "A tern."),
        ("Name a bird.", "Gull", "A stone."),
        ("Name a fish.", "Tern", "A cod."),
        ("Name a fish.", "Gull", "A ray."),
    }
    votes = Label.objects.filter(project=project).values_list("outcome", "chosen__body")
    assert set(votes) == {("choice", "A tern."), ("tie", None)}


def test_questions_of_a_file_are_previewed_on_the_page(alice, project):
    url = reverse("questions-import", args=[project.pk])
    page = signed_in(alice).post(url, {"file": SimpleUploadedFile("p.parquet", packed(PROMPTS))}, follow=True)
    assert "parsed" in page.context, page.context["form"].errors
    assert page.context["parsed"].n_questions == 2


def unpacked(alice, project) -> dict[str, bytes]:
    """The Parquet files of the project's data set."""
    data = signed_in(alice).get(reverse("export", args=[project.pk, "dataset", "zip"]))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(data.streaming_content)))
    return {name: archive.read(f"data/{name}.parquet") for name in ("items", "answers")}


def facts(project) -> list[tuple]:
    labels = Label.objects.filter(project=project).order_by("pk").select_related("annotator", "chosen")
    return [
        (one.annotator.pseudonym, shown_keys(one), one.outcome, one.chosen and one.chosen.key, one.ranks, one.grade)
        for one in labels
    ]


@pytest.fixture
def copied(alice, project):
    """Its data set's Parquet files and another project without items, both of the task asked for."""

    def copy_of(task: tuple) -> tuple[dict[str, bytes], Project]:
        shared = len(task) == 4
        make_items_more(project, 6)
        Item.objects.filter(key="item-0").update(competitor="alpha", metadata={"year": "1999"}, name="First")
        set_task(project, *task[:3], overlap=9, shared_places=shared)
        answered(project, shared=shared)
        copy = other_project(project)
        set_task(copy, *task[:3], overlap=9, shared_places=shared)
        copy.items.all().delete()
        return unpacked(alice, project), copy

    return copy_of


def take_in(alice, project: Project, kind: str, content: bytes) -> None:
    asked = hand_in(Api(alice, project), kind, "data.parquet", content, at_once="true")
    assert asked.status_code == 202, asked.content
    work()
    last = project.imports.order_by("pk").last()
    assert (last.state, last.message, last.errors) == ("done", "", [])


@pytest.mark.embedded
@pytest.mark.slow
def test_items_of_our_own_data_set_come_back(alice, project, copied):
    files, copy = copied(TASKS[0])
    take_in(alice, copy, "items", files["items"])
    told = ("key", "name", "kind", "body", "competitor", "metadata")
    assert list(copy.items.order_by("key").values(*told)) == list(project.items.order_by("key").values(*told))


# The largest set of each type; every size, in CSV: test_engine_sets.py.
LARGEST = {task[0]: task for task in TASKS}.values()


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("task", [*LARGEST, ("ranking", 4, None, True)], ids=str)
def test_answers_of_our_own_data_set_come_back(alice, project, copied, task):
    files, copy = copied(task)
    for item in project.items.order_by("pk"):
        copy.items.create(key=item.key, body=item.body)
    take_in(alice, copy, "comparisons", files["answers"])
    assert facts(copy) == facts(project)
    assert len(facts(copy)) == 6


def test_the_command_line_reads_it(project, tmp_path, capsys):
    file = tmp_path / "items.parquet"
    file.write_bytes(packed([{"text": "One more"}, {"text": "And another"}]))
    call_command("import_file", "items", str(project.pk), str(file))
    assert project.items.filter(body__in=["One more", "And another"]).count() == 2
    assert "2 imported" in capsys.readouterr().out


def test_the_api_names_the_file_and_what_helps(alice, project):
    asked = hand_in(Api(alice, project), "comparisons", "votes.parquet", b"PAR1" + b"no" * 50)
    [problem] = asked.json()["errors"]["file"]
    assert asked.status_code == 422
    assert "“votes.parquet” can't be read as Parquet" in problem
    assert "JSON lines" in problem
    assert not project.imports.exists()


def wide() -> pyarrow.Table:
    return pyarrow.table({f"c{n}": [1] for n in range(301)})


BOMBS = {
    "columns": (wide, "has 301 columns, those within others counted; the limit is 300. Keep those that you need."),
    "rows": (
        lambda: pyarrow.table({"t": pyarrow.array([None] * (MAX_COMPARISONS + 1), pyarrow.string())}),
        "has 250001 rows; the limit is 250000. Split it",
    ),
    # One text of a megabyte, named in each of a thousand rows: 1 GB in 50 KB.
    "shared text": (
        lambda: pyarrow.table({"t": pyarrow.DictionaryArray.from_arrays([0] * 1_000, ["x" * 1_000_000])}),
        "Up to row 53 “a.parquet” holds more than 50 MB of text, which is the limit. Keep the columns",
    ),
    "one text": (
        lambda: pyarrow.table({"t": ["x" * 190_000_000]}),
        "“a.parquet” needs more than 256 MB of memory to be read, which is the limit. Keep the columns",
    ),
    "one list": (
        lambda: pyarrow.table({"t": pyarrow.array([[None] * 30_000_000], pyarrow.list_(pyarrow.int8()))}),
        "needs more than 256 MB of memory",
    ),
    "names": (
        lambda: pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["a", "a"]),
        "has two columns “a”. Rename one of them.",
    ),
    "bytes": (
        lambda: pyarrow.table({"image": [b"\x89PNG\xff"]}),
        "The column “image” of “a.parquet” holds bytes in row 1 that are no text.",
    ),
    "nothing": (lambda: pyarrow.table({"t": pyarrow.array([], pyarrow.string())}), "is empty"),
}


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_what_unfolds_too_far_is_refused_with_value_limit_and_next_step(bomb, monkeypatch):
    monkeypatch.setattr(parquet_reader, "MAX_PARQUET_MEMORY", 256 * 2**20)
    table, message = BOMBS[bomb]
    content = packed(table(), compression="zstd")
    assert len(content) < 700_000
    with pytest.raises(BadFile) as refusal:
        read_parquet(io.BytesIO(content), "a.parquet")
    assert message in str(refusal.value)


@pytest.mark.embedded
def test_what_the_file_says_of_its_size_is_checked_first(monkeypatch):
    monkeypatch.setattr(parquet_reader, "MAX_PARQUET_UNFOLDED", 2**20)
    with pytest.raises(BadFile, match=r"unpacks to 3 MB; the limit is 1 MB\. Keep the columns"):
        read_parquet(io.BytesIO(packed(pyarrow.table({"t": [str(n) * 100 for n in range(10_000)]}))), "a.parquet")


@pytest.mark.embedded
def test_a_file_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(parquet_reader, "MAX_FILE_BYTES", 100)
    with pytest.raises(BadFile, match="the limit is"):
        read_parquet(io.BytesIO(packed([{"t": "x"}])), "a.parquet")


@pytest.mark.embedded
@pytest.mark.parametrize("cut", [5, 60, -3])
def test_a_file_that_breaks_off_is_damaged(cut):
    content = packed([{"text": "a" * 50}])[:cut]
    with pytest.raises(BadFile, match="can't be read as Parquet"):
        read_parquet(io.BytesIO(content), "a.parquet")


@pytest.mark.embedded
@pytest.mark.parametrize("code", [-9, -6])
def test_a_killed_reader_is_said_to_have_needed_too_much(code):
    done = parquet_reader.subprocess.CompletedProcess([], code, b"", b"terminate called")
    limits = {"memory": 2**20, "bytes": 2**20, "unfolded": 2**20, "columns": 1, "rows": 1, "seconds": 1}
    assert "needs more than 1 MB" in str(parquet_reader.refusal_of(done, "a.parquet", limits))
    gone = parquet_reader.subprocess.CompletedProcess([], 9, b"", b"no module")
    assert "exit code 9" in str(parquet_reader.refusal_of(gone, "a.parquet", limits))
    assert "takes longer than 1 seconds" in str(parquet_reader.refusal_of(None, "a.parquet", limits))


@pytest.mark.embedded
def test_the_reader_sees_none_of_our_secrets(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "never told")
    seen = {}

    def noted(command, **options):
        seen.update(options["env"])
        return parquet_reader.subprocess.CompletedProcess(command, 0, b'{"a": 1}\n', b"")

    monkeypatch.setattr(parquet_reader.subprocess, "run", noted)
    read_parquet(io.BytesIO(packed([{"a": 1}])), "a.parquet")
    assert "SECRET_KEY" not in seen


WITH_A_THREAD_THAT_NEVER_ENDS = """
import runpy, threading
threading.Thread(target=threading.Event().wait).start()
runpy.run_module("annotate.files.parquet_child", run_name="__main__")
"""


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("columns", "told"),
    [(2, (0, b'{"a": 1}\n{"a": 2}\n', b"")), (0, (parquet_child.REFUSED, b"", b'{"why": "columns", "n": 1}'))],
    ids=["read", "refused"],
)
def test_the_reader_ends_whatever_the_threads_of_the_library_wait_for(columns, told, tmp_path):
    """Some of pyarrow's may hold the file and wait for Python's lock, while Python waits for them."""
    limits = {"memory": 2**28, "bytes": 2**20, "unfolded": 2**20, "columns": columns, "rows": 9, "seconds": 30}
    file = tmp_path / "a.parquet"
    file.write_bytes(packed([{"a": 1}, {"a": 2}]))
    with file.open("rb") as content:
        command = [sys.executable, "-c", WITH_A_THREAD_THAT_NEVER_ENDS, json.dumps(limits)]
        done = subprocess.run(command, stdin=content, capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == told


@pytest.mark.embedded
def test_other_values_are_named():
    with pytest.raises(Refused) as refusal:
        plain(object(), 3, "odd")
    assert refusal.value.details == {"why": "type", "column": "odd", "kind": "object"}


@pytest.mark.embedded
def test_comparisons_in_json_lines_are_read_beyond_the_limit_of_items():
    text = '{"a": 1}\n' * 100_002
    assert sum(1 for _ in read_lines(text).rows) == 100_002
