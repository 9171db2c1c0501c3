"""Several kinds of task in one project: side by side in shares, or one after the other; all of them in one ranking."""

import random
import re

import pytest
from django.urls import reverse

from annotate.core.errors import InvalidAnswer
from annotate.criteria import Criterion
from annotate.files.writers import csv_chunks
from annotate.fitting.reading import read_labels
from annotate.imports.comparisons.actions import Comparison, import_comparisons
from annotate.labelling.actions import record_label
from annotate.labelling.asked_tasks import AskedTask, draw_task, is_mixed, read_task, report_text, tasks_of, with_task
from annotate.labelling.forms import parse_answer
from annotate.labelling.plan.capacity import n_possible_sets
from annotate.labelling.undo import undo_label
from annotate.models import Annotator, GoldSet, ItemSet, Label, Presentation, Project
from annotate.projects.actions import FixedByLabels, SizesDiffer, change_project
from annotate.publishing.exports.registry import TABLES
from models_engine.io.label_tables import read_labels as read_file
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.fitting.test_run import fit_now
from tests.site.labelling.test_labelling import as_annotator
from tests.site.labelling.test_task_types import make_items_more, next_for, order_said, rows_of, send
from tests.site.machines import let_judge, make_machine
from tests.site.projects.test_projects import settings_of
from tests.site.task_types import form_of, set_task

BEST_WORST = {"task_type": "best_worst", "k": 4, "m": None, "shared_places": False, "percent": 40}
TOP = {"task_type": "top", "k": 5, "m": 2, "shared_places": False, "percent": 20}
WEAK = {"task_type": "ranking", "k": 3, "m": None, "shared_places": True, "percent": 20}
SHARES = {"": 0.2, "best_worst:4": 0.4, "top:5:2": 0.2, "ranking:3:shared": 0.2}


def change(project: Project, **values) -> Project:
    change_project(project=project, actor=None, values=values, now=NOW)
    return Project.objects.get(pk=project.pk)


def kind_of(presentation: Presentation) -> AskedTask:
    own = presentation.project
    return read_task(presentation.task) if presentation.task else AskedTask(own.task_type, own.k, own.m)


def best_of(presentation: Presentation) -> dict[str, str]:
    """What the page sends of somebody who likes what is shown later the more."""
    task = kind_of(presentation)
    project = with_task(presentation.project, task)
    order = list(range(task.k))[::-1]
    named = [order[0], order[-1]] if task.task_type == "best_worst" else order[: task.type.n_ranked(project)]
    return form_of(project, named)


def answer(annotator: Annotator, seed: int = 0):
    presentation = next_for(Annotator.objects.get(pk=annotator.pk), seed)
    form = best_of(presentation)
    project = with_task(presentation.project, kind_of(presentation))
    return record_label(presentation=presentation, answer=parse_answer(form["answer"], form, project), now=NOW)


def answer_every_kind(annotator: Annotator) -> list[Label]:
    """Answer until each kind has come: of 150 tasks one of the kinds is missing once in 10 to the 14th times."""
    labels: list[Label] = []
    while {label.presentation.task for label in labels} != set(SHARES) and len(labels) < 150:
        labels.append(answer(annotator, len(labels)))
    assert {label.presentation.task for label in labels} == set(SHARES)
    return labels


def ranks_read(project: Project) -> list[list[int]]:
    data = read_labels(Criterion(project)).data
    return [data.ranks[a:b].tolist() for a, b in zip(data.starts[:-1], data.starts[1:], strict=True)]


RANKS = {"": [1, 0], "best_worst:4": [2, 1, 1, 0], "top:5:2": [2, 2, 2, 1, 0], "ranking:3:shared": [2, 1, 0]}


@pytest.fixture
def mixed(project) -> Project:
    make_items_more(project, 8)
    set_task(project, "pair", 2, overlap=9)
    return change(project, further_tasks=[BEST_WORST, TOP, WEAK])


@pytest.mark.parametrize("task", [AskedTask("pair", 2), AskedTask("top", 5, 2), AskedTask("ranking", 10, None, True)])
def test_a_code_says_what_was_asked(task):
    assert read_task(task.code) == task
    assert len(task.code) <= Presentation._meta.get_field("task").max_length


def test_shares_are_drawn_by_token(mixed):
    drawn = [draw_task(mixed, f"token {n}") for n in range(4000)]
    assert set(drawn) == set(SHARES)
    for code, share in SHARES.items():  # four standard errors; the tokens are always the same
        assert drawn.count(code) / 4000 == pytest.approx(share, abs=0.031)
    assert draw_task(mixed, "") == ""


@pytest.mark.slow
def test_every_kind_is_asked_and_counted_in_one_fit_and_exported_with_its_own_kind(mixed, alice, tmp_path):
    otter = make_annotator(mixed, "Otter")
    labels = answer_every_kind(otter)
    asked = [label.presentation.task for label in labels]
    assert all(label.presentation.presented.count() == kind_of(label.presentation).k for label in labels)
    assert ranks_read(mixed) == [RANKS[code] for code in asked]
    could_share = read_labels(Criterion(mixed)).data.tied
    assert could_share.tolist() == [code == "ranking:3:shared" for code in asked], "even if nothing shares a place"

    names = TABLES["labels"].names(mixed)
    rows = [dict(zip(names, row, strict=True)) for row in rows_of(mixed)]
    kinds = [(row["task_type"], row["k"]) for row in rows]
    assert kinds == [(kind_of(label.presentation).task_type, len(RANKS[label.presentation.task])) for label in labels]
    assert all((row["loser"] is not None) == (row["task_type"] in ("pair", "best_worst")) for row in rows)

    columns, rows = TABLES["comparisons"].names(mixed), TABLES["comparisons"].rows(Criterion(mixed))
    (tmp_path / "comparisons.csv").write_bytes(b"".join(csv_chunks(columns, rows)))
    by_engine, data = read_file(tmp_path / "comparisons.csv").data, read_labels(Criterion(mixed)).data
    assert by_engine.starts.tolist() == data.starts.tolist()
    assert by_engine.ranks.tolist() == data.ranks.tolist()

    copy = Project.objects.create(name="Copy", question="Which?", further_tasks=[BEST_WORST, TOP, WEAK])
    for item in mixed.items.order_by("pk"):
        copy.items.create(key=item.key, body=item.body)
    said = [order_said(label) for label in labels]
    found = [as_comparison(n, label) for n, label in enumerate(labels, 1)]
    report = import_comparisons(project=copy, actor=alice, comparisons=found, source="x", now=NOW, rng=random.Random(0))
    assert report.refused == []
    again = list(copy.labels.order_by("pk"))
    assert [order_said(label)[1:] for label in again] == [one[1:] for one in said]
    assert [label.presentation.task for label in again] == asked
    assert read_labels(Criterion(copy)).data.data_hash() == data.data_hash()


def as_comparison(n: int, label) -> Comparison:
    _who, keys, order, _grade, _comment = order_said(label)
    outcome = ("left", "right")[order[0]] if label.outcome == "choice" else label.outcome
    named = () if label.outcome == "choice" else tuple(keys[place] for place in order)
    return Comparison(n, "Heron", tuple(keys), outcome, order=named)


def test_an_answer_of_a_kind_that_is_not_asked_is_not_imported(mixed, alice):
    keys = list(mixed.items.values_list("key", flat=True))[:6]
    row = Comparison(1, "Heron", tuple(keys), "best_worst", order=(keys[0], keys[5]))
    rng = random.Random(0)
    report = import_comparisons(project=mixed, actor=alice, comparisons=[row], source="x", now=NOW, rng=rng)
    assert "shows 6 items" in report.refused[0].reason


@pytest.mark.embedded
@pytest.mark.slow
def test_the_task_page_asks_each_kind_in_its_own_way(mixed):
    otter, seen, url = make_annotator(mixed, "Otter"), {}, reverse("label", args=[mixed.pk])
    client = as_annotator(otter)
    client.post(url)
    while set(seen) != set(SHARES) and otter.labels.count() < 150:
        presentation = otter.presentations.get(state="open")
        seen[presentation.task] = client.get(url).content.decode()
        client.post(reverse("submit", args=[presentation.token]), best_of(presentation))
    assert "Mark the best and the worst." in seen["best_worst:4"]
    assert "Rank the best 2" in seen["top:5:2"]
    assert "may share a place" in seen["ranking:3:shared"]
    assert {code: len(re.findall('id="option-[a-j]"', page)) for code, page in seen.items()} == {
        code: len(ranks) for code, ranks in RANKS.items()
    }


def test_a_kind_without_sets_left_gives_way_to_another(project):
    set_task(project, "best", 6, overlap=1)  # six items: one set
    project = change(project, further_tasks=[{**BEST_WORST, "percent": 5}])
    otter = make_annotator(project, "Otter")
    asked = [answer(otter, seed).presentation.task for seed in range(4)]
    assert sorted(asked) == ["", *["best_worst:4"] * 3]
    assert n_possible_sets(project) == 1 + 15


def test_the_task_changes_while_people_answer_and_their_answers_stay(project, alice):
    make_items_more(project, 4)
    otter, heron = make_annotator(project, "Otter"), make_annotator(project, "Heron")
    before = [answer(otter, seed) for seed in range(3)]
    left_open = next_for(Annotator.objects.get(pk=heron.pk))
    project = change(project, task_type="best_worst", k=4)
    left_open.refresh_from_db()
    assert (left_open.state, left_open.task) == ("expired", "pair:2")
    assert is_mixed(project)
    assert tasks_of(project) == [AskedTask("best_worst", 4), AskedTask("pair", 2)]

    after = [answer(heron, seed) for seed in range(3)]  # no pair waits for a second annotator any more
    assert [label.presentation.presented.count() for label in after] == [4, 4, 4]
    assert ranks_read(project) == [RANKS[""]] * 3 + [RANKS["best_worst:4"]] * 3
    kinds = [row[TABLES["labels"].names(project).index("task_type")] for row in rows_of(project)]
    assert kinds == ["pair"] * 3 + ["best_worst"] * 3

    reopened = undo_label(annotator=otter, now=NOW)  # asks again what was asked
    assert (reopened.task, reopened.presented.count()) == ("pair:2", 2)
    send_as_asked(reopened)
    project = change(project, task_type="pair", k=2)
    assert tasks_of(project) == [AskedTask("pair", 2), AskedTask("best_worst", 4)]
    assert sorted(map(len, ranks_read(project))) == [2, 2, 2, 4, 4, 4]
    assert before[0].presentation.item_set.n_taken == ItemSet.objects.get(pk=before[0].presentation.item_set_id).n_taken


def send_as_asked(presentation: Presentation) -> None:
    form, project = best_of(presentation), with_task(presentation.project, kind_of(presentation))
    record_label(presentation=presentation, answer=parse_answer(form["answer"], form, project), now=NOW)


@pytest.mark.slow
def test_an_answer_is_held_to_the_kind_that_was_asked(mixed):
    otter = make_annotator(mixed, "Otter")
    while (presentation := next_for(Annotator.objects.get(pk=otter.pk))).task != "top:5:2":
        assert otter.labels.count() < 150
        send_as_asked(presentation)
    with pytest.raises(InvalidAnswer, match="not one of this project's: top"):
        send(presentation, {"answer": "a"})


def test_a_right_answer_is_asked_by_the_kind_it_was_made_for(project):
    first, second = project.items.order_by("pk")[:2]
    item_set = project.item_sets.create(key=f"{first.pk}-{second.pk}")
    known = GoldSet.objects.create(
        project=project, item_set=item_set, purpose="gold", outcome="choice", named=[first.pk]
    )
    known.items.add(first, second)
    project.gold_every = 1
    project.save()
    otter = make_annotator(project, "Otter")
    send_as_asked(next_for(otter))
    project = change(project, task_type="best_worst", k=4)
    presentation = next_for(make_annotator(project, "Heron"))
    assert (presentation.purpose, presentation.task) == ("gold", "pair:2")


def test_the_question_stays_fixed(project):
    answer(make_annotator(project, "Otter"))
    with pytest.raises(FixedByLabels):
        change(project, question="Which is longer?")


def test_drawn_sets_are_of_one_size(project):
    project = change(project, n_sets=5)
    with pytest.raises(SizesDiffer, match="with 2 items each"):
        change(project, further_tasks=[BEST_WORST])
    graded = {"task_type": "graded", "k": 2, "m": None, "shared_places": False, "percent": 50}
    assert change(project, further_tasks=[graded]).further_tasks == [graded]


def rows(*given: dict) -> dict[str, str]:
    return {
        f"further_tasks-{n}-{part}": str(value)
        for n, row in enumerate(given, 1)
        for part, value in row.items()
        if value not in (None, False)
    }


@pytest.mark.slow
def test_the_settings_page_takes_further_kinds(client, alice, project):
    client.force_login(alice)
    url = reverse("settings-answers", args=[project.pk])
    client.post(url, settings_of(project, **rows(BEST_WORST, TOP)))
    project.refresh_from_db()
    assert project.further_tasks == [BEST_WORST, TOP]
    page = client.get(url).content.decode()
    assert '<option value="best_worst" selected>' in page


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{**BEST_WORST, "k": 2}], "Further kind 1, Items shown: “2” does not do. Write a number from 3 to 10."),
        ([{**TOP, "m": 5}], "Further kind 1, Ranked: “5” does not do. Write a number from 2 to 4."),
        ([BEST_WORST, {**TOP, "percent": 60}], "add up to 100%; the limit is 95%"),
        ([{**TOP, "task_type": "vote"}], "“vote” is no kind of task"),
        ([{**TOP, "percent": "½"}], "Share in percent: “½” does not do"),
    ],
)
def test_a_kind_that_can_not_be_asked_is_told(client, alice, project, given, words):
    client.force_login(alice)
    response = client.post(reverse("settings-answers", args=[project.pk]), settings_of(project, **rows(*given)))
    assert words in response.content.decode()
    project.refresh_from_db()
    assert project.further_tasks == []


def test_the_api_sets_and_tells_further_kinds(project, alice):
    api = Api(alice, project)
    body = {"further_tasks": [{"task_type": "best_worst", "k": 4, "percent": 40}]}
    assert api("patch", "project", body).json()["further_tasks"] == [BEST_WORST]
    refused = api("patch", "project", {"further_tasks": [{"task_type": "pair", "k": 2, "percent": 99}]})
    assert refused.status_code in (400, 422)
    assert api("get", "project").json()["further_tasks"] == [BEST_WORST]


def test_the_methods_and_the_report_say_every_kind_that_was_answered(project):
    assert report_text(project) == "saw two items at a time and chose one"
    project = change(project, further_tasks=[BEST_WORST])
    answer(make_annotator(project, "Otter"))
    project = change(project, task_type="graded", further_tasks=[])
    said = report_text(project)
    asked = project.labels.get().presentation.task
    words = {"pair:2": "chose one", "best_worst:4": "chose the best and the worst"}
    assert "said how much better it is" in said
    assert (words["best_worst:4"] in said) == (asked == "best_worst:4")
    copy = Project.objects.create(name="Copy", question="Which?", earlier_tasks=["best_worst:4"])
    assert report_text(copy) == "saw two items at a time and chose one"


PAGES = ("ranking", "trust", "progress", "annotators", "exports", "methods", "report", "share", "machines")


@pytest.mark.slow
def test_one_fit_of_all_kinds_and_machines_is_shown_and_exported_everywhere(mixed, client, alice):
    """Everything that reads labels copes: the fit with its checks, each page, each table."""
    for name in ("Otter", "Heron", "Crane"):
        answer_every_kind(make_annotator(mixed, name))
    let_judge(make_machine(mixed), lambda a, b: max(a, b, key=lambda item: item.pk))
    mixed = change(mixed, count_machines=True)
    change(mixed, task_type="best_worst", k=4, further_tasks=[])
    project = Project.objects.get(pk=mixed.pk)
    fit = fit_now(project)
    labels = read_labels(Criterion(project))
    assert fit.n_labels == labels.of_people.n_labels == project.labels.count()
    assert set(labels.data.sizes.tolist()) == {2, 3, 4, 5}
    assert labels.n_machine_labels == 14 * 13
    client.force_login(alice)
    for name in PAGES:
        assert client.get(reverse(name, args=[project.pk]), follow=True).status_code == 200, name
    item = client.get(reverse("item", args=[project.pk, project.items.first().pk])).content.decode()
    assert "Put between" in item
    for table in TABLES.values():
        assert len(list(table.rows(Criterion(project)))) >= 0
    battles = list(TABLES["battles"].rows(Criterion(project)))
    assert len(battles) == project.labels.filter(presentation__task="pair:2").count()
