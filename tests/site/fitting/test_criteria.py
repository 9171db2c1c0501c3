"""Several criteria per comparison: one label each, answered by every criterion, with a fit for each."""

import csv
import io
import random
import re
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.core.errors import InvalidAnswer
from annotate.criteria import Criterion, list_criteria
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import Annotator, CriterionAnswer, FitState, Item, Label, Presentation, Project
from annotate.privacy.erasure.actions import erase_annotator
from annotate.privacy.own_data import export as own_data_export
from annotate.projects.actions import CriteriaFixed, change_project, delete_project
from annotate.projects.forms import ProjectForm
from annotate.publishing.run_records import job as run_records_job
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.labelling.test_labelling import HTMX, as_annotator
from tests.site.projects.test_projects import VALID
from tests.site.replay import replay
from tests.site.task_types import expected_ranks, form_of, set_task

LATER = NOW + timedelta(hours=1)
CRITERIA = [
    {"name": "Clarity", "question": "Which is clearer?"},
    {"name": "Correctness", "question": "Which is more correct?"},
]


@pytest.fixture
def project(project) -> Project:
    project.criteria, project.estimator, project.overlap = CRITERIA, "BradleyTerry", 30
    project.save()
    return project


@pytest.fixture
def otter(project):
    return make_annotator(project, "Otter")


def next_for(annotator, seed: int = 0) -> Presentation:
    return assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(seed))


def items_of(presentation: Presentation) -> list[Item]:
    return [shown.item for shown in presentation.presented.select_related("item")]


def by_key(presentation: Presentation, best: str) -> int:
    """The place of the item with the first key, of those shown, or with the last."""
    places = sorted((item.key, place) for place, item in enumerate(items_of(presentation)))
    return places[0 if best == "first" else -1][1]


def answer_all(project: Project, annotator, n: int) -> None:
    """Clarity follows the keys upwards, correctness downwards."""
    for seed in range(n):
        presentation = next_for(annotator, seed)
        first, last = (by_key(presentation, best) for best in ("first", "last"))
        record_label(
            presentation=presentation,
            answer=Answer("choice", first, further=(Answer("choice", last),)),
            now=NOW + timedelta(seconds=seed),
        )


def form_by_each(project: Project, orders: list[list[int]]) -> dict[str, str]:
    """What the page sends when each criterion's answer names these places, best first."""
    found = {"answer": "each"}
    for n, order in enumerate(orders, start=1):
        fields = form_of(project, order)
        if project.task_type not in ("pair", "graded", "best"):
            fields.pop("answer")
        found |= {f"{name}_{n}": value for name, value in fields.items()}
    return found


def order_of_labels(criterion: Criterion) -> list[str]:
    estimates = Estimate.objects.filter(fit=published_fit(criterion)).order_by("rank")
    keys = dict(criterion.project.items.values_list("pk", "key"))
    return [keys[row.item_id] for row in estimates]


def fit_now(project: Project) -> Fit:
    claim = scheduling.claim_next(owner="test", now=LATER, pause=timedelta(0))
    assert claim is not None
    assert claim.project_id == project.pk
    return fitting_run.run(claim, progress=lambda *_: True, clock=lambda: LATER)


# --- Answering --------------------------------------------------------------------------------------------------------


def test_one_label_holds_what_is_said_by_every_criterion(project, otter):
    client = as_annotator(otter)
    client.post(reverse("label", args=[project.pk]))
    presentation = otter.presentations.get()
    shown = items_of(presentation)
    page = client.get(reverse("label", args=[project.pk])).content.decode()
    assert page.index("Which is clearer?") < page.index("Which is more correct?")
    address = reverse("submit", args=[presentation.token])
    sent = client.post(address, {"answer": "each", "answer_1": "a", "answer_2": "tie"}, headers=HTMX)
    assert "Clarity: you chose A; Correctness: you said “Tie”" in sent.content.decode()
    label = Label.objects.get()
    assert (label.outcome, label.chosen_id) == ("choice", shown[0].pk)
    further = label.further.get()
    assert (further.criterion, further.outcome, further.chosen_id) == (2, "tie", None)
    # Sent again, nothing more is stored; sent with something else, the first answer stands and is told.
    again = client.post(address, {"answer": "each", "answer_1": "a", "answer_2": "tie"}, headers=HTMX)
    assert "had already answered that task" not in again.content.decode()
    other = client.post(address, {"answer": "each", "answer_1": "a", "answer_2": "b"}, headers=HTMX)
    assert "answered that task (Clarity: you chose A; Correctness: you said “Tie”)" in other.content.decode()
    assert (Label.objects.count(), CriterionAnswer.objects.count()) == (1, 1)


@pytest.mark.parametrize("task", [("graded", 2, None), ("best", 4, None), ("best_worst", 4, None), ("top", 4, 2)])
def test_every_task_type_is_answered_by_each_criterion(project, otter, task):
    set_task(project, *task)
    otter.refresh_from_db()
    client = as_annotator(otter)
    client.post(reverse("label", args=[project.pk]))
    presentation = otter.presentations.get()
    n = 1 if task[0] in ("graded", "best") else 2
    orders = [[1, 0, 2, 3][:n], [0, 1, 3, 2][:n]]
    client.post(reverse("submit", args=[presentation.token]), form_by_each(project, orders))
    label = Label.objects.get()
    shown = items_of(presentation)
    for one, order in zip((label, label.further.get()), orders, strict=True):
        if n == 1:
            assert one.chosen_id == shown[order[0]].pk
            assert one.grade == ("slightly" if task[0] == "graded" else "")
        else:
            assert [int(rank) for rank in one.ranks] == expected_ranks(project, order)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"answer": "each", "answer_1": "a"}, "“Correctness” has no answer"),
        ({"answer": "each", "answer_1": "a", "answer_2": "skip"}, "“Correctness” has no answer"),
        ({"answer": "each", "answer_1": "a", "answer_2": "z"}, "Item number 26 was not shown"),
        ({"answer": "a"}, "The answer covers 1 criteria; the project has 2"),
    ],
)
def test_an_answer_that_leaves_a_criterion_out_is_refused_and_the_rest_is_kept(project, otter, sent, told):
    client = as_annotator(otter)
    client.post(reverse("label", args=[project.pk]))
    address = reverse("submit", args=[otter.presentations.get().token])
    response = client.post(address, sent, headers=HTMX)
    page = response.content.decode()
    assert response.status_code == 400
    assert told in page
    assert not Label.objects.exists()
    if sent["answer"] == "each":
        assert 'name="answer_1" value="a" required checked' in page


def test_criteria_are_asked_of_projects_that_have_them_only(project, otter):
    Project.objects.filter(pk=project.pk).update(criteria=[])
    answer = Answer("choice", 0, further=(Answer("choice", 1),))
    presentation = next_for(otter)
    with pytest.raises(InvalidAnswer, match="has no criteria"):
        record_label(presentation=presentation, answer=answer, now=NOW)


def test_a_task_is_skipped_as_a_whole_and_undone_as_a_whole(project, otter):
    presentation = next_for(otter)
    record_label(presentation=presentation, answer=Answer("skip"), now=NOW)
    assert [one.outcome for one in CriterionAnswer.objects.all()] == ["skip"]
    again = undo_label(annotator=otter, now=NOW)
    assert items_of(again) == items_of(presentation)
    record_label(presentation=again, answer=Answer("choice", 0, further=(Answer("choice", 1),)), now=NOW)
    counted = [read_labels(one).data for one in list_criteria(project)]
    assert [data.n_labels for data in counted] == [1, 1]
    assert not (counted[0].data_hash() == counted[1].data_hash())
    exclude_annotator(annotator=otter, actor=project.members.get(), reason="", now=NOW)
    assert [read_labels(one).data.n_labels for one in list_criteria(project)] == [0, 0]
    readmit_annotator(annotator=otter, actor=project.members.get(), now=NOW)
    assert [read_labels(one).data.n_labels for one in list_criteria(project)] == [1, 1]


def test_the_database_holds_one_answer_per_criterion(project, otter):
    answer_all(project, otter, 1)
    label = Label.objects.get()
    for values in ({"criterion": 2, "outcome": "tie"}, {"criterion": 1, "outcome": "tie"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            CriterionAnswer.objects.create(label=label, **values)


def test_an_owner_sees_the_criteria_in_the_preview(project, alice, client):
    client.force_login(alice)
    address = reverse("preview", args=[project.pk])
    assert "Which is more correct?" in client.get(address).content.decode()
    sent = client.post(address, {"answer": "each", "answer_1": "b", "answer_2": "a"}, headers=HTMX).content.decode()
    assert "Clarity: you chose B; Correctness: you chose A" in sent
    assert not Label.objects.exists()


def test_own_answers_tell_every_criterion(project, otter):
    answer_all(project, otter, 2)
    client = as_annotator(otter)
    page = client.get(reverse("own-answers", args=[project.pk])).content.decode()
    assert page.count("Correctness: you chose") == 2


# --- Fits -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_criterion_has_a_fit_of_its_own(project, otter):
    answer_all(project, otter, 15)
    fit_now(project)
    keys = sorted(project.items.values_list("key", flat=True))
    assert [order_of_labels(one) for one in list_criteria(project)] == [keys, keys[::-1]]
    assert [published_fit(one).number for one in list_criteria(project)] == [1, 2]
    state = FitState.objects.get()
    assert (state.fitted, state.published_fit, state.owner) == (state.wanted, 2, "")
    # The next fits start each from its own.
    FitState.objects.update(wanted=state.wanted + 1, not_before=None)
    fit_now(project)
    assert [order_of_labels(one) for one in list_criteria(project)] == [keys, keys[::-1]]
    fits = [published_fit(one) for one in list_criteria(project)]
    assert [(fit.number, fit.warm, fit.n_labels) for fit in fits] == [(3, True, 15), (4, True, 15)]
    assert set(Estimate.objects.values_list("fit__number", flat=True)) == {1, 2, 3, 4}


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("name", ["ranking", "trust", "annotators", "progress", "engine"])
def test_a_page_by_the_first_criterion_is_not_taken_for_stale(project, otter, alice, client, name):
    """Watchers are told of the latest fit, the last criterion's: pages by another are drawn at that one too."""
    answer_all(project, otter, 15)
    fit_now(project)
    client.force_login(alice)
    html = [client.get(reverse(name, args=[project.pk]), {"criterion": n}).content.decode() for n in (1, 2)]
    assert [re.findall(r'data-fit="(\d*)"', one) for one in html] == [["2", "2"]] * 2


def test_the_labels_are_read_as_the_obvious_way_reads_them(project, otter):
    answer_all(project, otter, 9)
    items = sorted(item.pk for item in project.items.all())
    rows = []
    for answer in CriterionAnswer.objects.order_by("label"):
        left, right = items_of(answer.label.presentation)
        rows.append((items.index(left.pk), items.index(right.pk), float(answer.chosen_id == left.pk)))
    data = read_labels(Criterion(project, 2)).data
    assert list(zip(*(column.tolist() for column in (data.pairs().left, data.pairs().right)), strict=True)) == [
        row[:2] for row in rows
    ]
    assert data.pairs().outcome.tolist() == [row[2] for row in rows]


# --- Looking at them ------------------------------------------------------------------------------------------------


@pytest.fixture
def fitted(project, otter, alice, client):
    """Two fits, and a browser of the owner."""
    replay("fitted", lambda: (answer_all(project, otter, 15), fit_now(project)))
    client.force_login(alice)
    return project


@pytest.mark.parametrize(
    "page", ["ranking", "trust", "annotators", "engine", "progress", "exports", "compare", "report"]
)
def test_every_page_tells_of_the_criterion_in_its_address(fitted, client, page):
    address = reverse(page, args=[fitted.pk])
    first, second = (client.get(address + query).content.decode() for query in ("", "?criterion=2"))
    assert 'href="?criterion=1" aria-current' not in second
    assert f'{reverse("trust", args=[fitted.pk])}?criterion=2"' in second
    assert f'{reverse("trust", args=[fitted.pk])}"' in first
    assert client.get(address + "?criterion=3").status_code == 404
    if page == "ranking":
        assert first.index("Text number 0") < first.index("Text number 5")
        assert second.index("Text number 5") < second.index("Text number 0")
        assert "Which is more correct?" in second


def test_an_items_page_tells_what_was_said_of_it_by_the_criterion(fitted, client):
    item = fitted.items.get(key="item-0")
    address = reverse("item", args=[fitted.pk, item.pk])
    first, second = (client.get(address + query).context["page"] for query in ("", "?criterion=2"))
    assert (first.estimate.rank, first.outcomes) == (1, {"first": 5})
    assert (second.estimate.rank, second.outcomes) == (6, {"last": 5})
    assert [moment.number for moment in second.history] == [2]


def lines_of(client, project, table: str, query: str = "", file_format: str = "csv") -> list[dict[str, str]]:
    response = client.get(reverse("export", args=[project.pk, table, file_format]) + query)
    return list(csv.DictReader(io.StringIO(response.getvalue().decode("utf-8-sig"))))


def test_exports_carry_the_criterion(fitted, client):
    labels = lines_of(client, fitted, "labels")
    assert [line["criterion"] for line in labels] == ["Clarity"] * 15 + ["Correctness"] * 15
    assert all(one["winner"] == other["loser"] for one, other in zip(labels[:15], labels[15:], strict=True))
    assert next(line["item"] for line in lines_of(client, fitted, "ranking", "?criterion=2")) == "item-5"
    assert [line["criterion"] for line in lines_of(client, fitted, "fits")] == ["1", "2"]
    first, second = (lines_of(client, fitted, "comparisons", query) for query in ("", "?criterion=2"))
    assert [line["outcome"] for line in first] == [str(1 - int(line["outcome"])) for line in second]
    won = {query: lines_of(client, fitted, "matrix", query)[0] for query in ("", "?criterion=2")}
    assert (won[""]["item-5"], won["?criterion=2"]["item-5"]) == ("1", "0")
    votes = client.get(reverse("export", args=[fitted.pk, "comparisons", "preflib"]) + "?criterion=2")
    assert "# NUMBER VOTERS: 15" in votes.getvalue().decode()


def test_the_api_tells_of_the_criterion_asked_about(fitted, alice):
    ask = Api(alice, fitted)
    ranking = ask("get", "ranking", criterion=2).json()
    assert (ranking["results"][0]["item"], ranking["fit"]["criterion"]) == ("item-5", 2)
    labels = ask("get", "labels", criterion=2, outcome="choice").json()["results"]
    assert [row["criterion"] for row in labels] == ["Correctness"] * 15
    assert [row["number"] for row in ask("get", "fits", criterion=1).json()["results"]] == [1]
    assert len(ask("get", "fits").json()["results"]) == 2
    refused = ask("get", "ranking", criterion=3)
    assert refused.status_code == 422
    assert "There is no criterion 3; the project has 2." in refused.content.decode()


def test_a_front_end_answers_by_every_criterion(project, alice):
    ask = Api(alice, project)
    ask("post", "oneself")
    task = ask("post", "next").json()["task"]
    assert [one["name"] for one in task["criteria"]] == ["Clarity", "Correctness"]
    refused = ask("post", "answer", {"outcome": "choice", "chosen": 0}, args=[task["token"]])
    assert "The answer covers 1 criteria; the project has 2" in refused.content.decode()
    answer = {"outcome": "choice", "chosen": 0, "further": [{"outcome": "choice", "chosen": 1}]}
    assert ask("post", "answer", answer, args=[task["token"]]).status_code == 200
    label = Label.objects.get()
    assert label.chosen_id != label.further.get().chosen_id


def test_a_program_names_criteria(alice, project):
    body = {"name": "New", "question": "Which?", "more_means": "better", "criteria": CRITERIA}
    made = Api(alice, project)("post", "projects", body)
    assert (made.status_code, made.json()["criteria"]) == (201, CRITERIA)


@pytest.mark.process
def test_a_run_record_is_of_one_criterion(fitted, tmp_path):
    made = run_records_job.write_run_record(
        Criterion(fitted, 2), tmp_path / "record", progress=lambda *_: True, now=NOW
    )
    assert (made["about"]["criterion"], made["about"]["published_fit"]) == ("Correctness", 2)
    with (tmp_path / "record" / "ranking.csv").open(encoding="utf-8-sig") as file:
        assert next(csv.DictReader(file))["item"] == "item-5"
    same = subprocess.run(
        [sys.executable, "-m", "models_engine", "reproduce", str(tmp_path / "record")], capture_output=True, check=False
    )
    assert same.returncode == 0


# --- Setting them -----------------------------------------------------------------------------------------------------


def rows_sent(*rows: tuple[str, str]) -> dict[str, str]:
    return {
        f"criteria-{n}-{part}": value
        for n, row in enumerate(rows, start=1)
        for part, value in zip(("name", "question"), row, strict=True)
    }


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("Clarity", "Which?")], "You named 1 criteria. Name 2 to 5"),
        ([("Clarity", "Which?"), ("Style", "")], "Criterion 2 needs both a name and a question"),
        ([("Clarity", "Which?"), ("clarity", "What?")], "Two criteria are called “clarity”"),
        ([("Clarity", "Which?"), ("x" * 61, "What?")], "has 61 characters; the limit is 60"),
    ],
)
def test_criteria_that_make_no_sense_are_told(db, rows, told):
    form = ProjectForm({**VALID, **rows_sent(*rows)})
    assert told in str(form.errors["criteria"])


def test_an_owner_names_criteria_in_a_draft_and_renames_them_later(alice, client):
    client.force_login(alice)
    client.post(reverse("project-create"), {**VALID, **rows_sent(("Clarity", "Which?"), ("Style", "What?"))})
    project = Project.objects.get()
    assert project.criteria == [{"name": "Clarity", "question": "Which?"}, {"name": "Style", "question": "What?"}]
    Project.objects.update(state="open")
    project.refresh_from_db()
    three = [*project.criteria, {"name": "Third", "question": "Third?"}]
    with pytest.raises(CriteriaFixed):
        change_project(project=project, actor=alice, values={"criteria": three}, now=NOW)
    address = reverse("project-settings", args=[project.pk])
    refused = client.post(address, {**VALID, **rows_sent(*((row["name"], row["question"]) for row in three))})
    assert "only the names of its criteria can change" in refused.content.decode()
    client.post(address, {**VALID, **rows_sent(("Plainness", "Which?"), ("Style", "What?"))})
    project.refresh_from_db()
    assert [row["name"] for row in project.criteria] == ["Plainness", "Style"]
    activity = client.get(reverse("project-manage", args=[project.pk])).content.decode()
    assert "criteria (Clarity, Style → Plainness, Style)" in activity


def test_a_person_takes_away_and_erases_what_was_said_by_every_criterion(project, otter, alice):
    answer_all(project, otter, 2)
    said = [row[4] for row in own_data_export.answer_rows(Annotator.objects.filter(pk=otter.pk))]
    assert all("Clarity: you chose" in words and "; Correctness: you chose" in words for words in said)
    erase_annotator(annotator=otter, by="owner", actor=alice, now=LATER)
    assert not CriterionAnswer.objects.exists()


def test_a_project_is_deleted_with_what_was_said(project, otter):
    answer_all(project, otter, 2)
    delete_project(project=project)
    assert not CriterionAnswer.objects.exists()
