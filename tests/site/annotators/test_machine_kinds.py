"""Machines in projects with grades, and with several kinds of task of one size: asked, answered, exported, fitted."""

import pytest
from django.db import IntegrityError, transaction

from annotate.annotators.machines.actions import set_counting
from annotate.annotators.machines.answers import GivenAnswer
from annotate.annotators.machines.sets import asked_kinds
from annotate.criteria import Criterion
from annotate.models import Item, MachineAnswer, Project
from annotate.publishing.exports.registry import TABLES
from models_engine.models import Estimate
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.annotators.test_machines import labels, people
from tests.site.api_client import Api
from tests.site.fitting.test_run import fit_now
from tests.site.machines import let_judge_sets, make_machine
from tests.site.task_types import set_task


def with_kinds(project: Project, *kinds: tuple, **values) -> Project:
    """The project, which also asks these kinds of task: (task type, k, m)."""
    names = ("task_type", "k", "m")
    tasks = [{**dict(zip(names, one, strict=True)), "shared_places": False, "percent": 20} for one in kinds]
    Project.objects.filter(pk=project.pk).update(further_tasks=tasks, **values)
    project.refresh_from_db()
    return project


def graded_by(*shown: Item) -> GivenAnswer:
    """The later item, clearly if it is further on by three or more."""
    first, second = (item.pk for item in shown)
    return GivenAnswer(int(second > first), grade="clearly" if abs(first - second) > 2 else "slightly")


def pairs_of(project: Project) -> list[list[Item]]:
    items = list(project.items.order_by("pk"))
    return [[a, b] for i, a in enumerate(items) for b in items[i + 1 :]]


@pytest.mark.slow
def test_a_grade_goes_from_the_question_to_the_fit_and_the_export(project, alice):
    set_task(project, "graded", 2, count_machines=True)
    answer_one(make_annotator(project, "Quiet Otter"), grade="slightly")
    api = Api(alice, project)
    key = api("post", "machines", {"name": "Judge", "program": "gpt"}).json()["key"]
    [asked] = api("get", "machine-sets", args=[key]).json()["results"]
    assert (asked["task"], asked["task_type"], asked["grades"]) == ("graded:2", "graded", ["slightly", "clearly"])
    keys = [one["key"] for one in asked["items"]]
    rows = [{"items": keys, "chosen": 1, "grade": "clearly"}, {"items": keys[::-1], "chosen": 0}]
    assert api("post", "machine-answers", {"rows": rows}, args=[key]).json()["n_stored"] == 2
    assert list(MachineAnswer.objects.order_by("pk").values_list("grade", flat=True)) == ["clearly", ""]
    data = labels(project).data
    assert data.grades.tolist()[-2:] == [2, 0]
    table = TABLES["machine_answers"]
    exported = [dict(zip(table.names(project), row, strict=True)) for row in table.rows(Criterion(project))]
    assert [(row["task_type"], row["grade"]) for row in exported] == [("graded", "clearly"), ("graded", "")]


@pytest.mark.parametrize(
    ("task", "row", "told"),
    [
        (("graded", 2), {"chosen": None, "grade": "clearly"}, "“grade” says how much better"),
        (("pair", 2), {"chosen": 0, "grade": "clearly"}, "“grade” says how much better"),
        (("graded", 2), {"chosen": 0, "grade": "hugely"}, "hugely"),
        (("pair", 2), {"chosen": 0, "task": "graded:2"}, "“graded:2” is no task of this project for a set of 2 items."),
        (("pair", 2), {"chosen": 0, "task": "x" * 25}, "24"),
    ],
)
def test_a_grade_or_a_task_that_is_not_asked_is_refused(project, alice, task, row, told):
    set_task(project, *task, outcomes=["tie"])
    machine = make_machine(project)
    rows = [{"items": ["item-2", "item-3"], "chosen": 1}, {"items": ["item-0", "item-1"], **row}]
    refused = Api(alice, project)("post", "machine-answers", {"rows": rows}, args=[machine.annotator.key])
    assert refused.status_code in (400, 422)
    assert told in str(refused.json())
    assert not MachineAnswer.objects.exists()


def test_the_database_keeps_a_grade_with_a_choice_alone(project):
    set_task(project, "graded", 2, outcomes=["tie"])
    pair = pairs_of(project)[0]
    let_judge_sets(make_machine(project), lambda *_shown: GivenAnswer(), [pair])
    with pytest.raises(IntegrityError), transaction.atomic():
        MachineAnswer.objects.update(grade="clearly")


@pytest.mark.embedded
@pytest.mark.slow
def test_a_graded_machine_that_reverses_everything_leaves_places_within_peoples_intervals(project, alice):
    set_task(project, "graded", 2)
    people(project, 120)
    project.labels.update(grade="slightly")
    fit = fit_now(project)
    before = {one.item_id: (one.low, one.high) for one in Estimate.objects.filter(fit=fit)}
    let_judge_sets(make_machine(project), graded_by, pairs_of(project))
    set_counting(project=project, actor=alice, on=True, now=NOW)
    assert sorted(set(labels(project).data.grades.tolist())) == [1, 2]
    fit = fit_now(project)
    after = {one.item_id: one.utility for one in Estimate.objects.filter(fit=fit)}
    assert all(before[pk][0] < utility < before[pk][1] for pk, utility in after.items())


@pytest.mark.slow
def test_each_kind_of_one_size_is_asked_and_answered_by_itself(project, alice):
    set_task(project, "ranking", 3)
    with_kinds(project, ("best", 3, None), ("top", 3, 2), ("pair", 2, None), count_machines=True)
    assert {k: [task.code for task in tasks] for k, tasks in asked_kinds(project).items()} == {
        3: ["ranking:3", "best:3", "top:3:2"],
        2: ["pair:2"],
    }
    api = Api(alice, project)
    key = api("post", "machines", {"name": "Judge", "program": "gpt"}).json()["key"]
    seen, after = [], ""
    while after is not None:
        told = api("get", "machine-sets", args=[key], sets="all", after=after, limit=4).json()
        assert len(told["results"]) <= 4
        seen += [(one["task"], *(item["key"] for item in one["items"])) for one in told["results"]]
        after = told["next"]
    assert len(seen) == len(set(seen)) == 15 + 3 * 20
    every = api("get", "machine-sets", args=[key], sets="all", limit=200).json()["results"]
    first = next(one for one in every if len(one["items"]) == 3)
    orders = first["orders"]
    shown = [first["items"][place]["key"] for place in orders[0]]
    answers = {"ranking:3": {"order": [2, 0, 1]}, "best:3": {"chosen": 2}, "top:3:2": {"order": [2, 0]}}
    rows = [{"items": shown, "task": task, **said} for task, said in answers.items()]
    assert api("post", "machine-answers", {"rows": rows}, args=[key]).json()["n_stored"] == 3
    found = set(MachineAnswer.objects.values_list("task", "outcome", "ranks"))
    assert found == {("ranking:3", "ranking", "120"), ("best:3", "choice", ""), ("top:3:2", "top", "120")}
    left = api("get", "machine-sets", args=[key], sets="all", limit=200).json()["results"]
    of_set = {one["task"]: one["orders"] for one in left if {item["key"] for item in one["items"]} == set(shown)}
    assert of_set == dict.fromkeys(answers, orders[1:])
    assert labels(project).n_machine_labels == 3


def test_without_a_task_the_first_of_the_size_is_answered(project, alice):
    with_kinds(set_task(project, "graded", 2), ("pair", 2, None))
    machine = make_machine(project)
    rows = [{"items": ["item-0", "item-1"], "chosen": 0, "grade": "slightly"}]
    rows.append({"items": ["item-0", "item-1"], "chosen": 0, "task": "pair:2"})
    sent = Api(alice, project)("post", "machine-answers", {"rows": rows}, args=[machine.annotator.key])
    assert sent.json()["n_stored"] == 2
    assert set(MachineAnswer.objects.values_list("task", "grade")) == {("graded:2", "slightly"), ("pair:2", "")}


def test_a_set_with_more_kinds_than_a_page_holds_comes_whole(project, alice):
    with_kinds(set_task(project, "graded", 2), ("pair", 2, None))
    machine = make_machine(project)
    told = Api(alice, project)("get", "machine-sets", args=[machine.annotator.key], sets="all", limit=1).json()
    assert [one["task"] for one in told["results"]] == ["graded:2", "pair:2"]
    again = Api(alice, project)(
        "get", "machine-sets", args=[machine.annotator.key], sets="all", limit=1, after=told["next"]
    )
    assert again.json()["results"][0]["items"] != told["results"][0]["items"]


def test_of_a_size_that_is_asked_no_more_the_earlier_kinds_are_asked(project):
    Project.objects.filter(pk=project.pk).update(earlier_tasks=["best:4", "top:4:2", "graded:2"])
    project.refresh_from_db()
    assert {k: [task.code for task in tasks] for k, tasks in asked_kinds(project).items()} == {
        2: ["pair:2"],
        4: ["best:4", "top:4:2"],
    }
