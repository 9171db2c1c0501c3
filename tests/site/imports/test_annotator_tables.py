"""Features of annotators, in the engine's layout: page, API and command; what holds for answers holds for them."""

import csv
import io
import json
import random
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.annotators.cohorts.groupings import groupings
from annotate.criteria import Criterion
from annotate.fitting.features import annotator_features
from annotate.fitting.reading import read_labels
from annotate.imports import job as imports_job
from annotate.labelling.requirements import check_requirements
from annotate.models import Annotator, ImportJob, QuestionAnswer, QuestionField
from annotate.participation.actions import change_rules
from annotate.participation.questionnaire.actions import (
    QuestionValues,
    RequestedQuestion,
    change_questions,
    save_question_answers,
)
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.projects.copies.cloning import clone_project
from models_engine.data import Comparisons
from models_engine.io.label_tables import read_features
from models_engine.io.label_tables import read_labels as engine_labels
from models_engine.io.run_records import write_labels
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.imports.test_api import hand_in
from tests.site.imports.test_jobs import work
from tests.site.pages import signed_in

pytestmark = pytest.mark.embedded
Kind = QuestionField.Kind
LABELS = "annotator,winner,loser\nann,item-0,item-1\nbea,item-1,item-2\ncy,item-3,item-0\n"
TABLE = "annotator,years,z\nbea,12,-0.1\nann,3,1e-3\ncy,7,0.30000000000000004\n"
IMPORT = Annotator.Source.IMPORT


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")


@pytest.fixture
def people(project):
    return {name: make_annotator(project, name, source=IMPORT) for name in ("ann", "bea", "cy")}


def run(project, tmp_path, text: str, *more: str) -> None:
    path = tmp_path / "annotators.csv"
    path.write_text(text)
    call_command("import_file", "annotators", str(project.pk), str(path), *more)


def ask(project, actor, kind=Kind.NUMBER, label="years") -> QuestionField:
    asked = QuestionValues(False, kind, label, ["a", "b"] if kind == Kind.CHOICE else [], None, None)
    wanted = [RequestedQuestion(None, asked, required=False)]
    change_questions(project=project, actor=actor, wanted=wanted, removed=[], now=NOW)
    project.refresh_from_db()
    return project.fields.get(label=label)


def said(annotator) -> dict[str, str]:
    return dict(QuestionAnswer.objects.filter(annotator=annotator).values_list("field__label", "value"))


def test_the_engines_files_give_the_fit_the_features_that_the_command_line_reads(project, tmp_path):
    labels, table = tmp_path / "labels.csv", tmp_path / "annotators.csv"
    labels.write_text(LABELS)
    table.write_text(TABLE)
    features = read_features(table)
    own = engine_labels(labels, annotators=features)
    call_command("import_file", "comparisons", str(project.pk), str(labels))
    call_command("import_file", "annotators", str(project.pk), str(table))
    project.refresh_from_db()
    read = read_labels(Criterion(project))
    names = [Annotator.objects.get(pk=pk).pseudonym for pk in read.annotator_ids.tolist()]
    assert own.data.annotator_features.shape == (3, 2)
    expected = [own.data.annotator_features[own.annotators.index(name)].tolist() for name in names]
    assert read.data.annotator_features.tolist() == expected


def test_a_run_records_file_names_everybody_it_was_written_for(project, tmp_path, capsys):
    """Pseudonyms that a spreadsheet would run or a list would break, and what they look like once they are encoded."""
    names = ["=1+1", "'=1+1", "a;b", "a%3Bb", "a%253Bb", "-5", "50%25", "@me", "Zoë"]
    numbers = [[i / 8] for i in range(len(names))]
    sets = [[0, 1]] * len(names)
    data = Comparisons.from_ranks(sets, sets, annotators=range(len(names)), annotator_features=numbers)
    write_labels(tmp_path, data, ["x", "y"], names)
    for name in names:
        make_annotator(project, name, source=IMPORT)
    text = (tmp_path / "annotators.csv").read_text()
    run(project, tmp_path, text)
    answers = QuestionAnswer.objects.values_list("annotator__pseudonym", "value")
    assert {name: float(value) for name, value in answers} == {
        name: number for name, [number] in zip(names, numbers, strict=True)
    }
    # With a column renamed it may be any table: what could be either of two people is nobody's.
    with pytest.raises(CommandError, match="2 of 9 rows have errors"):
        run(project, tmp_path, text.replace("feature_0", "years"))
    assert "“a%3Bb” may be “a%3Bb” itself or “a;b” as a run record writes it" in capsys.readouterr().out


def test_nobody_is_asked_what_is_imported(project, alice, people, client):
    joined = make_annotator(project, "Otter")
    owner = signed_in(alice)
    url = reverse("annotators-import", args=[project.pk])
    sent = {"file": SimpleUploadedFile("people.csv", TABLE.encode())}
    assert "Waiting to be checked" in owner.post(url, sent, follow=True).content.decode()
    work()
    project.refresh_from_db()
    fields = project.fields.values_list("label", "kind", "number", "position")
    assert set(fields) == {("years", "imported", 1, 0), ("z", "imported", 2, 1)}
    assert (project.fields_before, project.fields_after) == (0, 0)
    check_requirements(project, joined)
    assert "years, z" in owner.get(url).content.decode()
    assert (
        "Numbers about annotators that the project"
        in client.get(reverse("join", args=[project.join_token])).content.decode()
    )


def test_the_api_takes_them_and_a_second_file_replaces_them(project, alice, people):
    api = Api(alice, project)
    rows = [{"annotator": "ann", "years": 4}]
    for name, content in (("a.csv", TABLE.encode()), ("b.json", json.dumps(rows).encode())):
        assert hand_in(api, "annotators", name, content, at_once="true").status_code == 202
        work()
    assert ImportJob.objects.filter(state="done").count() == 2
    assert said(people["ann"]) == {"years": "4", "z": "0.001"}
    assert said(people["bea"]) == {"years": "12", "z": "-0.1"}
    sent = api("get", "questionnaire").json()["questions"]
    assert [one["kind"] for one in sent] == ["imported", "imported"]


def test_an_owner_who_saves_the_questionnaire_keeps_them_and_may_remove_them(project, alice, people, tmp_path):
    run(project, tmp_path, TABLE)
    api = Api(alice, project)
    kept = api("get", "questionnaire").json()["questions"][1:]
    wanted = [{name: value for name, value in one.items() if name != "number"} for one in kept]
    assert api("put", "questionnaire", {"questions": wanted}).status_code == 200
    project.refresh_from_db()
    assert annotator_features(project, [people["bea"].pk, people["cy"].pk]).tolist() == [[-0.1], [0.30000000000000004]]
    assert QuestionAnswer.objects.count() == 6


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nobody,1", "There is no annotator called “nobody” in this project"),
        ("ann,2", "The annotator “ann” is already in row 2. Remove one"),
        ("bea,much", "The feature “years” is “much”, which is not a finite number"),
        ("bea,nan", "The feature “years” is “nan”, which is not a finite number"),
        ("bea,", "The feature “years” is empty"),
        ("bea,1,2", "The row has 3 columns, the first row has 2"),
    ],
)
def test_a_wrong_row_is_told_and_nothing_is_written(project, people, tmp_path, capsys, row, message):
    with pytest.raises(CommandError, match="1 of 2 rows have errors"):
        run(project, tmp_path, f"annotator,years\nann,3\n{row}\n")
    assert f"row 3: {message}" in capsys.readouterr().out
    assert not QuestionField.objects.exists()
    assert not QuestionAnswer.objects.exists()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("", "The table has 0 columns of features. It needs the annotators first, and then 1 to 20"),
        ("," + ",".join(f"c{n}" for n in range(21)), "The table has 21 columns of features"),
        (",x,x", "Two columns are called “x”"),
        (",hand", "“hand” is a question of another kind: “One of a list”"),
        (",field_2,years", "Two columns are the same field"),
        ("," + ",".join(f"c{n}" for n in range(19)), "That would make 21 fields of the questionnaire; the limit is 20"),
    ],
)
def test_columns_that_can_be_no_fields_are_refused_at_once(project, alice, columns, message):
    ask(project, alice, Kind.CHOICE, "hand")
    ask(project, alice)
    refused = hand_in(Api(alice, project), "annotators", "a.csv", f"annotator{columns}\n".encode())
    assert message in refused.json()["errors"]["file"][0]
    url = reverse("annotators-import", args=[project.pk])
    sent = {"file": SimpleUploadedFile("a.csv", f"annotator{columns}\n".encode())}
    assert message in signed_in(alice).post(url, sent).content.decode()
    assert not ImportJob.objects.exists()


def test_what_people_answered_is_never_overwritten(project, alice, people, tmp_path, capsys):
    field = ask(project, alice)
    otter, hare = make_annotator(project, "Otter"), make_annotator(project, "Hare")
    save_question_answers(annotator=otter, at_end=False, values={field.pk: "5"}, now=NOW)
    with pytest.raises(CommandError):
        run(project, tmp_path, "annotator,years\nOtter,6\nHare,2\n")
    assert (
        "row 2: The annotator “Otter” already has 5 for the question “years”; here it is 6" in capsys.readouterr().out
    )
    run(project, tmp_path, "annotator,field_1\nOtter,5\nHare,2\nann,9\n")
    with pytest.raises(CommandError):
        run(project, tmp_path, "annotator,years\nann,2.5\n")
    assert "takes whole numbers from -1000000000 to 1000000000; here it is 2.5" in capsys.readouterr().out
    run(project, tmp_path, "annotator,years\nann,8\n")
    assert [said(one)["years"] for one in (otter, hare, people["ann"])] == ["5", "2", "8"]
    assert project.fields.count() == 1


def test_an_answer_given_between_check_and_writing_stands(project, alice, tmp_path):
    field, otter = ask(project, alice), make_annotator(project, "Otter")
    hand_in(Api(alice, project), "annotators", "a.csv", b"annotator,years\nOtter,6\n")
    work()
    save_question_answers(annotator=otter, at_end=False, values={field.pk: "5"}, now=NOW)
    job = ImportJob.objects.get()
    assert job.state == "checked"
    Api(alice, project)("post", "import-go-on", args=[job.pk])
    work()
    job.refresh_from_db()
    assert job.state == "failed"
    assert "their answers are never overwritten" in job.message
    assert said(otter) == {"years": "5"}


def test_only_who_agreed_to_the_consent_text_is_described(project, alice, people, tmp_path, capsys):
    change_rules(project=project, actor=alice, values={"consent": "May we?"}, now=NOW)
    project.refresh_from_db()
    make_annotator(project, "Otter")
    agreed = make_annotator(project, "Hare", consent_version=project.consent_version)
    run(project, tmp_path, "annotator,years\nOtter,6\nHare,2\nann,1\n", "--leave-out")
    assert (
        "row 2: The annotator “Otter” has not agreed to the project's present consent text" in capsys.readouterr().out
    )
    assert set(QuestionAnswer.objects.values_list("annotator", flat=True)) == {agreed.pk, people["ann"].pk}


def test_erasing_an_annotator_erases_them_even_before_they_are_written(project, alice, people, tmp_path):
    run(project, tmp_path, TABLE)
    erase_annotator(annotator=people["ann"], by=BY_OWNER, actor=alice, now=NOW)
    assert set(QuestionAnswer.objects.values_list("annotator__pseudonym", flat=True)) == {"bea", "cy"}
    hand_in(Api(alice, project), "annotators", "a.csv", b"annotator,years\nbea,6\ncy,1\n")
    work()
    job = ImportJob.objects.get(state="checked")
    ImportJob.objects.filter(pk=job.pk).update(state="running")
    Annotator.objects.get(pseudonym="bea").delete()
    imports_job.import_now(ImportJob.objects.get(pk=job.pk))
    assert ImportJob.objects.get(pk=job.pk).state == "done"
    assert said(people["cy"])["years"] == "1"


def test_a_guest_takes_them_away_and_a_duplicate_has_none(project, alice, people, tmp_path):
    guest = make_annotator(project, "Guest")
    run(project, tmp_path, "annotator,years\nGuest,6\n")
    sent = signed_in(alice).get(reverse("own-export", args=[guest.resume_token]))
    with zipfile.ZipFile(io.BytesIO(b"".join(sent.streaming_content))) as files:
        [row] = csv.DictReader(io.StringIO(files.read("questionnaire.csv").decode("utf-8-sig")))
    assert (row["question"], row["answer"]) == ("years", "6")
    project.refresh_from_db()
    clone = clone_project(source=project, actor=alice, name="Again", with_items=False, now=NOW, rng=random.Random(0))
    assert (clone.fields.count(), clone.fields_imported) == (0, 0)


def test_cohorts_and_the_export_of_annotators_know_them(project, alice, people, tmp_path):
    run(project, tmp_path, TABLE)
    by_label = {one.name: one for one in groupings(Criterion(project))}
    assert {(one.name, one.n) for one in by_label["z"].values} == {("Up to 0.001", 2), ("Above 0.001", 1)}
    sent = signed_in(alice).get(reverse("export", args=[project.pk, "annotators", "csv"]))
    text = b"".join(sent.streaming_content).decode("utf-8-sig")
    rows = {row["annotator"]: row for row in csv.DictReader(text.splitlines())}
    assert (rows["cy"]["field_1"], rows["cy"]["field_2"]) == ("7", "0.30000000000000004")
