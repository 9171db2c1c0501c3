"""Files for and from other tools: what is written is read back as the same answers; the data set with its card."""

import io
import json
import zipfile

import pyarrow.parquet as parquet
import pytest
from django.urls import reverse

from annotate.files.limits import BadFile
from annotate.imports.guessing import guess_votes
from annotate.models import Context, Item, Label, Project
from tests.conftest import make_annotator
from tests.site.factories import make_labels, spread_fit
from tests.site.imports.test_comparison_tables import other_project, said, take
from tests.site.pages import page, signed_in

LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"left_side": "A short text", "right_side": "B" * 300},
        "annotations": [
            {
                "completed_by": {"id": 4, "email": "someone@example.org"},
                "lead_time": 2.5,
                "created_at": "2026-03-09T22:16:08Z",
                "result": [{"type": "pairwise", "to_name": "left_side,right_side", "value": {"selected": "right"}}],
            },
            {"completed_by": 5, "was_cancelled": True, "result": []},
            {
                "completed_by": 5,
                "result": [{"type": "pairwise", "to_name": "left_side,right_side", "value": {"selected": "left"}}],
            },
        ],
    }
]
POTATO = [
    {
        "user_id": "u1",
        "instance_id": "7",
        "responses": ["One", "Two"],
        "label_annotations": {"preference": {"selection": "B"}},
        "behavioral_data": {"time_spent": 12.5, "timestamp": "2026-01-01T12:00:00Z"},
    },
    {
        "user_id": "u2",
        "instance_id": "7",
        "displayed_text": "A. One<br>B. Two",
        "label_annotations": {"preference": {"scale_value": "-2"}},
    },
    {"user_id": "u3", "instance_id": "8", "label_annotations": {"preference": {"selection": "A"}}},
    {
        "user_id": "u4",
        "responses": ["One", "Two"],
        "label_annotations": {"first": {"selection": "A"}, "second": {"selection": "B"}},
    },
]


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def owner(alice):
    return signed_in(alice)


@pytest.fixture
def answered(project) -> Project:
    project.outcomes = ["tie", "both_bad", "skip"]
    project.save()
    crowd = [make_annotator(project, name) for name in ("Otter", "Heron")]
    make_labels(project, crowd, 12)
    make_labels(project, crowd, 2, outcome="tie", seed=1)
    make_labels(project, crowd, 1, outcome="both_bad", seed=2)
    make_labels(project, crowd, 2, outcome="skip", seed=3)
    return project


def content(client, project: Project, table: str, file_format: str) -> bytes:
    response = client.get(reverse("export", args=[project.pk, table, file_format]))
    assert response.status_code == 200
    return b"".join(response.streaming_content)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("table", "file_format", "name"),
    [
        ("battles", "jsonl", "battles.jsonl"),
        ("battles", "csv", "battles.csv"),
        ("crowdkit", "csv", "crowdkit.csv"),
        ("comparisons", "labelstudio", "tasks.json"),
    ],
)
def test_what_is_written_for_another_tool_is_read_back(owner, answered, table, file_format, name):
    copy = other_project(answered)
    job = take(copy, content(owner, answered, table, file_format), name)
    assert (job.state, job.n_bad) == ("done", 0)
    told = [
        one for one in said(answered) if one[2] not in ("skip", *(["tie", "both_bad"] if table == "crowdkit" else []))
    ]
    assert said(copy) == told
    assert len(told) == (12 if table == "crowdkit" else 15)


def test_battles_name_competitors_and_prompts(owner, alice, project):
    prompt = Context.objects.create(project=project, body="Explain tides.", digest="x")
    Item.objects.filter(project=project).update(context=prompt)
    Item.objects.filter(project=project, key="item-0").update(competitor="alpha")
    make_labels(project, [make_annotator(project, "Otter")], 10)
    rows = [json.loads(line) for line in content(owner, project, "battles", "jsonl").splitlines()]
    assert {row["prompt"] for row in rows} == {"Explain tides."}
    for row in rows:
        assert row["model_a"] == ("alpha" if row["item_a"] == "item-0" else row["item_a"])
    label = Label.objects.filter(project=project).order_by("pk").first()
    assert rows[0]["winner"] == ("model_a" if label.chosen.key == rows[0]["item_a"] else "model_b")
    assert rows[0]["tstamp"] == pytest.approx(label.created_at.timestamp())


def test_label_studio_tasks_are_read_with_whom_and_how_long(project):
    job = take(project, json.dumps(LABEL_STUDIO).encode(), "export.json", create=True)
    assert job.state == "done", (job.message, job.errors)
    [first, second] = said(project)
    assert [first[0], second[0]] == ["user 4", "user 5"]
    assert first[1] == second[1]
    assert (first[3], second[3]) == (first[1][1], "A short text")
    assert Item.objects.get(key=first[3]).body == "B" * 300
    assert Label.objects.order_by("pk").first().response_ms == 2500
    assert "example.org" not in "".join(project.annotators.values_list("pseudonym", flat=True))


def test_potato_rows_are_read_and_those_that_tell_no_pair_refused(project):
    lines = "\n".join(json.dumps(row) for row in POTATO)
    job = take(project, lines.encode(), "annotated_instances.jsonl", create=True, leave_out=True)
    assert said(project) == [("u1", ("One", "Two"), "choice", "Two"), ("u2", ("One", "Two"), "choice", "One")]
    assert [(row, problem.split(".")[0]) for row, problem in job.errors] == [
        (3, "The row does not tell which two items were compared"),
        (4, "The row answers 2 questions"),
    ]


def test_label_studios_small_json_says_what_to_export_instead(project):
    small = json.dumps([{"id": 1, "text1": "One", "text2": "Two", "annotations": "left"}])
    job = take(project, small.encode(), "export.json", create=True, leave_out=True)
    assert job.errors[0][1]
    assert not Label.objects.filter(project=project).exists()


def test_rubbish_is_refused_as_a_whole(project):
    with pytest.raises(BadFile):
        guess_votes('[{"annotations": [', "export.json")


def test_larger_sets_have_no_battles(owner, project):
    project.task_type, project.k = "best", 3
    project.save()
    make_labels(project, [make_annotator(project, "Otter")], 3)
    assert content(owner, project, "battles", "jsonl") == b""
    assert json.loads(content(owner, project, "comparisons", "labelstudio")) == []
    assert "labelstudio" not in page(owner, project, "exports")


def test_the_data_set_holds_its_tables_and_a_card_that_names_them(owner, answered):
    answered.name = 'Tides: "which" is <b>better</b>?'
    answered.save()
    spread_fit(answered, list(answered.items.order_by("pk")))
    archive = zipfile.ZipFile(io.BytesIO(content(owner, answered, "dataset", "zip")))
    assert archive.testzip() is None
    card = archive.read("README.md").decode()
    head, _, text = card.removeprefix("---\n").partition("\n---\n")
    assert 'pretty_name: "Tides: \\"which\\" is &lt;b>better&lt;/b>?"' in head.splitlines()
    named = [line.partition("data_files: ")[2] for line in head.splitlines() if "data_files" in line]
    assert sorted(named) == sorted(name for name in archive.namelist() if name.startswith("data/"))
    answers = parquet.read_table(io.BytesIO(archive.read("data/answers.parquet")))
    assert answers.num_rows == 17
    for column in answers.column_names:
        assert f"| `{column}` |" in text
    assert "17 answers by 2 annotators about 6 items" in text
    assert "<b>" not in text
