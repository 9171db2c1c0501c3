"""Machines that judge: apart from people everywhere, asked and answered by the API, counted only where switched on."""

import random

import pytest
from django.urls import reverse

from annotate.annotators.machines import queue as machines_queue
from annotate.annotators.machines.actions import (
    MachineExcluded,
    MachineNameTaken,
    remove_machine,
    set_counting,
    set_excluded,
)
from annotate.annotators.machines.answers import GivenAnswer
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.items.actions import delete_item
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import (
    Annotator,
    Event,
    FitState,
    Item,
    ItemSet,
    Label,
    MachineAnswer,
    MachineReport,
    MachineSet,
    Project,
)
from annotate.participation.joining.pseudonyms import is_taken
from annotate.projects.actions import delete_project
from annotate.publishing.exports.registry import TABLES
from models_engine.models import AnnotatorEstimate, Estimate
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now
from tests.site.machines import let_judge, let_judge_sets, make_machine
from tests.site.pages import page, signed_in
from tests.site.task_types import set_task


def by_number(a: Item, b: Item) -> Item:
    """Prefer the later item: every people() of below prefers the earlier."""
    return max(a, b, key=lambda item: item.pk)


def people(project: Project, n_labels: int = 90, n: int = 3) -> list[Annotator]:
    """People who prefer the earlier item three times in four."""
    found = [make_annotator(project, f"Otter {i}") for i in range(n)]
    rng = random.Random(4)
    for label in make_labels(project, found, n_labels):
        shown = sorted(label.presentation.presented.values_list("item", flat=True))
        label.chosen_id = shown[rng.random() > 0.75]
        label.save(update_fields=["chosen"])
    return found


def labels(project: Project):
    found = read_labels(Criterion(Project.objects.get(pk=project.pk)))
    assert found is not None
    return found


def test_a_machine_is_nobody_among_people(project, alice):
    people(project)
    machine = make_machine(project)
    assert let_judge(machine, by_number) == 30
    assert not Annotator.objects.filter(source="machine").exists()
    assert project.annotators.count() == 3
    assert Annotator.everyone.filter(project=project).count() == 4
    fit = fit_now(project)
    assert (fit.n_labels, fit.n_annotators) == (90, 3)
    assert "count_machines" not in fit.settings
    assert AnnotatorEstimate.objects.filter(fit=fit).count() == 3
    client = signed_in(alice)
    html = page(client, project, "annotators")
    assert "3 annotators have given answers that count." in html
    assert "1 machine judges here too; it is not in this list." in html
    assert "Judge" in page(client, project, "machines")
    assert Api(alice, project)("get", "annotators").json()["count"] == 3


def test_machines_take_nobodys_place(project):
    let_judge(make_machine(project), by_number)
    assert not ItemSet.objects.filter(project=project).exists()
    assert not project.items.filter(n_taken__gt=0).exists()
    answer_one(make_annotator(project, "Quiet Otter"))
    assert Label.objects.count() == 1


def test_a_name_of_a_machine_is_taken_for_people_too(project):
    make_machine(project, "Judge")
    assert is_taken(project, "judge")
    with pytest.raises(MachineNameTaken):
        make_machine(project, "JUDGE")


def test_the_first_answer_to_an_order_stays(project):
    machine = make_machine(project)
    a, b = project.items.order_by("pk")[:2]
    assert let_judge(machine, lambda one, other: one, [(a, b)]) == 2
    assert let_judge(machine, lambda one, other: other, [(a, b)]) == 0
    assert list(MachineAnswer.objects.order_by("pk").values_list("chosen", flat=True)) == [a.pk, b.pk]


def test_an_owner_switches_machines_on_and_the_fit_and_the_log_say_so(project, alice, manuel):
    people(project)
    let_judge(make_machine(project), by_number)
    assert labels(project).data.n_labels == 90
    url = reverse("machines-count", args=[project.pk])
    assert signed_in(manuel).post(url, {"count": "yes"}).status_code == 403
    before = FitState.objects.get(project=project).wanted if FitState.objects.filter(project=project) else 0
    signed_in(alice).post(url, {"count": "yes"})
    assert FitState.objects.get(project=project).wanted > before
    [event] = Event.objects.filter(verb="settings changed")
    assert event.details == {"count_machines": [False, True]}
    found = labels(project)
    assert (found.data.n_labels, found.n_people, found.n_machine_labels) == (120, 3, 30)
    fit = fit_now(project)
    assert fit.settings["count_machines"] is True
    assert (fit.n_labels, fit.n_annotators) == (90, 3)
    [learned] = fit.diagnostics["machines"]
    assert learned["n_labels"] == 30
    assert learned["share"] < 0.2
    assert "counts, share" in page(signed_in(alice), project, "machines")
    assert AnnotatorEstimate.objects.filter(fit=fit).count() == 3
    set_counting(project=project, actor=alice, on=False, now=NOW)
    assert labels(project).data.n_labels == 90


@pytest.mark.embedded
@pytest.mark.slow
def test_a_machine_that_reverses_everything_leaves_the_places_within_peoples_intervals(project, alice):
    people(project, 120)
    fit = fit_now(project)
    before = {one.item_id: (one.low, one.high) for one in Estimate.objects.filter(fit=fit)}
    let_judge(make_machine(project), by_number)
    set_counting(project=project, actor=alice, on=True, now=NOW)
    fit = fit_now(project)
    after = {one.item_id: one.utility for one in Estimate.objects.filter(fit=fit)}
    assert all(before[pk][0] < utility < before[pk][1] for pk, utility in after.items())


def test_excluded_machines_count_nowhere_and_answer_no_more(project, alice):
    people(project)
    machine = make_machine(project)
    let_judge(machine, by_number)
    set_counting(project=project, actor=alice, on=True, now=NOW)
    assert set_excluded(machine=machine, actor=alice, on=True, now=NOW)
    assert labels(project).data.n_labels == 90
    with pytest.raises(MachineExcluded):
        let_judge(machine, by_number)
    assert set_excluded(machine=machine, actor=alice, on=False, now=NOW)
    assert not set_excluded(machine=machine, actor=alice, on=False, now=NOW)
    assert labels(project).data.n_labels == 120


def test_a_machine_goes_with_its_answers_and_with_the_project(project, alice):
    machine = make_machine(project)
    let_judge(machine, by_number)
    assert remove_machine(machine=machine, actor=alice, now=NOW) == 30
    assert not MachineAnswer.objects.exists()
    assert not MachineSet.objects.exists()
    assert "removed the machine “Judge” with 30 answers" in page(signed_in(alice), project, "log")
    let_judge(make_machine(project), by_number)
    delete_project(project=project)
    assert not MachineAnswer.objects.exists()
    assert not Annotator.everyone.exists()


def test_programs_add_a_machine_ask_for_pairs_and_answer_them(project, alice):
    api = Api(alice, project)
    sent = {"name": "Judge", "program": "gpt", "version": "4", "prompt": "Which?", "price": "0.002", "currency": "EUR"}
    made = api("post", "machines", sent)
    assert made.status_code == 201
    key = made.json()["key"]
    assert len(made.json()["prompt_hash"]) == 64
    assert api("get", "machine-sets", args=[key]).json()["results"] == []
    answer_one(make_annotator(project, "Quiet Otter"))
    [asked] = api("get", "machine-sets", args=[key]).json()["results"]
    assert asked["orders"] == [[0, 1], [1, 0]]
    keys = [one["key"] for one in asked["items"]]
    row = {"items": keys, "chosen": 0, "tokens_in": 12, "tokens_out": 1}
    assert api("post", "machine-answers", {"rows": [row]}, args=[key]).json() == {"n_stored": 1, "n_known": 0}
    assert api("post", "machine-answers", {"rows": [row]}, args=[key]).json() == {"n_stored": 0, "n_known": 1}
    [asked] = api("get", "machine-sets", args=[key]).json()["results"]
    assert asked["orders"] == [[1, 0]]
    seen, after = [], ""
    while after is not None:
        told = api("get", "machine-sets", args=[key], sets="all", after=after, limit=4).json()
        seen += [tuple(one["key"] for one in pair["items"]) for pair in told["results"]]
        after = told["next"]
    assert len(seen) == len(set(seen)) == 15
    [row] = api("get", "machines").json()["results"]
    assert (row["n_answers"], row["n_tokens"], float(row["cost"])) == (1, 13, 0.002)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"items": ["item-0", "nothing"], "chosen": 0}, "No item has the key “nothing”."),
        ({"items": ["item-0", "item-0"], "chosen": 0}, "The item “item-0” is named twice."),
        ({"items": ["item-0", "item-1"], "chosen": None}, "A tie is no answer in this project."),
        ({"items": ["item-0", "item-1"], "chosen": 2}, "Place 2 was not shown; places go from 0 to 1."),
        ({"items": ["item-0", "item-1", "item-4"], "chosen": 0}, "A set of 3 items is no task of this project"),
        ({"items": ["item-0", "item-1"], "order": [1, 0]}, "answered by one place, in “chosen”"),
        ({"items": ["item-0"], "chosen": 0}, "2"),
    ],
)
def test_a_wrong_answer_is_refused_with_all_that_came_with_it(project, alice, row, told):
    Project.objects.filter(pk=project.pk).update(outcomes=["skip"])
    machine = make_machine(project)
    rows = [{"items": ["item-2", "item-3"], "chosen": 1}, row]
    refused = Api(alice, project)("post", "machine-answers", {"rows": rows}, args=[machine.annotator.key])
    assert refused.status_code in (400, 422)
    assert told in refused.json()["detail"]
    assert not MachineAnswer.objects.exists()


def go_on(*_progress) -> bool:
    return True


@pytest.mark.embedded
@pytest.mark.slow
def test_the_report_holds_machines_against_people(project, alice):
    people(project, 120)
    fit_now(project)
    let_judge(make_machine(project, "Contrary"), by_number)
    let_judge(make_machine(project, "Like people"), lambda a, b: min(a, b, key=lambda item: item.pk))
    let_judge(make_machine(project, "First"), lambda a, b: a)
    api = Api(alice, project)
    assert api("post", "machines-report", {}).json()["status"] == "asked"
    assert Event.objects.filter(verb="machines reported").count() == 1
    machines_queue.QUEUE.work(machines_queue.QUEUE.claim_next(owner="test", now=NOW), progress=go_on)
    told = api("get", "machines-report").json()
    assert told["status"] == "ready"
    contrary, like, first = told["report"]["machines"]
    assert contrary["figures"]["agreement"]["high"] < 0 < like["figures"]["agreement"]["low"]
    assert (contrary["figures"]["worth"]["value"], contrary["figures"]["order"]["value"]) == (0, 1)
    assert (first["figures"]["position"]["value"], first["figures"]["order"]["value"]) == (1, 0)
    assert len(told["report"]["rows"]) == 6
    html = page(signed_in(alice), project, "machines")
    assert "100 answers of this machine are worth about 0 human answers here (0 to 0)." in html
    tables = {name: list(TABLES[name].rows(Criterion(project))) for name in ("machines", "machine_answers")}
    assert [row[0] for row in tables["machines"]] == ["Contrary", "Like people", "First"]
    assert len(tables["machine_answers"]) == 90
    assert all(len(row) == len(TABLES[name].names(project)) for name, rows in tables.items() for row in rows)


def test_without_machines_there_is_no_report(project, alice):
    people(project)
    assert Api(alice, project)("post", "machines-report", {}).status_code == 409
    assert not MachineReport.objects.exists()


def people_of_sets(project: Project, n_labels: int = 60, n: int = 3, seed: int = 4) -> list[Annotator]:
    """People who mostly find the earlier of the items better, and say so as the project's task asks."""
    found = [make_annotator(project, f"Otter {i}") for i in range(n)]
    rng = random.Random(seed)
    for label in make_labels(project, found, n_labels, size=project.k):
        shown = list(label.presentation.presented.order_by("position").values_list("item", flat=True))
        felt = sorted(range(len(shown)), key=lambda place: shown[place] + rng.gauss(0, 2))
        answer = stored(project, felt, shown)
        label.outcome, label.chosen_id, label.ranks = answer
        label.save(update_fields=["outcome", "chosen", "ranks"])
    return found


def stored(project: Project, best_first: list[int], shown: list[int]):
    type_ = task_type_of(project)
    if not type_.is_ordered:
        return "choice", shown[best_first[0]], ""
    named = type_.simulate(best_first, project)
    return type_.outcome, None, type_.encode_ranks(named, project.k)


def by_key(project: Project, *, backwards: bool):
    """Answers as the project's task asks, by the items' order or against it."""

    def answer(*shown: Item) -> GivenAnswer:
        best_first = sorted(range(len(shown)), key=lambda place: shown[place].pk, reverse=backwards)
        type_ = task_type_of(project)
        if not type_.is_ordered:
            return GivenAnswer(best_first[0])
        return GivenAnswer(order=type_.simulate(best_first, project))

    return answer


def answered_sets(project: Project) -> list[list[Item]]:
    items = Item.objects.in_bulk(project.items.values_list("pk", flat=True))
    keys = project.item_sets.order_by("pk").values_list("key", flat=True)
    return [[items[int(pk)] for pk in key.split("-")] for key in keys]


TASKS = [("best", 4, None), ("best_worst", 4, None), ("ranking", 3, None), ("top", 4, 2), ("ranking", 2, None)]


@pytest.mark.slow
@pytest.mark.parametrize(("task_type", "k", "m"), TASKS)
def test_machines_answer_sets_of_every_task_and_the_report_holds_them_against_people(project, alice, task_type, k, m):
    set_task(project, task_type, k, m)
    people_of_sets(project)
    fit = fit_now(project)
    before = {one.item_id: (one.low, one.high) for one in Estimate.objects.filter(fit=fit)}
    sets = answered_sets(project)
    contrary, like = make_machine(project, "Contrary"), make_machine(project, "Like people")
    assert let_judge_sets(contrary, by_key(project, backwards=True), sets) == 2 * len(sets)
    assert let_judge_sets(like, by_key(project, backwards=False), sets) == 2 * len(sets)
    assert let_judge_sets(like, by_key(project, backwards=True), sets) == 0, "the first answer stays"
    api = Api(alice, project)
    api("post", "machines-report", {})
    machines_queue.QUEUE.work(machines_queue.QUEUE.claim_next(owner="test", now=NOW), progress=go_on)
    told = api("get", "machines-report").json()
    assert told["status"] == "ready", told
    against, alike = told["report"]["machines"]
    assert against["figures"]["agreement"]["high"] < 0 < alike["figures"]["agreement"]["low"]
    assert (against["n_sets"], against["n_answers"]) == (len(sets), 2 * len(sets))
    assert (alike["figures"]["order"]["value"], alike["figures"]["position"]["value"]) == (1, 0.5)
    assert len(alike["places"]) == (0 if k == 2 else k)
    assert len(told["report"]["rows"]) == 6
    html = page(signed_in(alice), project, "machines")
    assert ("Names best what stands at place 1" in html) == (k > 2)
    set_excluded(machine=like, actor=alice, on=True, now=NOW)
    set_counting(project=project, actor=alice, on=True, now=NOW)
    fit = fit_now(project)
    after = {one.item_id: one.utility for one in Estimate.objects.filter(fit=fit)}
    assert all(before[pk][0] < utility < before[pk][1] for pk, utility in after.items())
    [learned] = fit.diagnostics["machines"]
    assert (learned["n_labels"], learned["share"] < 0.3) == (2 * len(sets), True)
    exported = list(TABLES["machine_answers"].rows(Criterion(project)))
    assert len(exported) == 4 * len(sets)
    named = dict(zip(TABLES["machine_answers"].names(project), exported[0], strict=True))
    shown = [project.items.get(key=key) for key in named["shown_order"]]
    expected = by_key(project, backwards=True)(*shown)
    best = expected.order[0] if expected.order else expected.chosen
    assert named["task_type"] == task_type
    assert named["chosen"] == shown[best].key if not expected.order else named["ranks"].split(";")[best] == "0"


@pytest.mark.parametrize("n_people", [0, 1, 2])
@pytest.mark.parametrize("tied", [False, True])
def test_a_report_on_one_set_says_what_is_not_known(project, alice, n_people, tied):
    set_task(project, "ranking", 3, shared_places=True)
    items = list(project.items.order_by("pk")[:3])
    for number in range(n_people):
        label = answer_one(make_annotator(project, f"Otter {number}"), outcome="cant_judge", chosen=None)
        shown = list(label.presentation.presented.order_by("position").values_list("item", flat=True))
        items = list(Item.objects.filter(pk__in=shown).order_by("pk"))
        ranks = "000" if tied else "".join(str(sorted(shown).index(pk)) for pk in shown)
        Label.objects.filter(pk=label.pk).update(outcome="ranking", ranks=ranks)
    machine = make_machine(project)
    answer = GivenAnswer(order=[0, 1, 2], shared=[1, 2] if tied else [])
    assert let_judge_sets(machine, lambda *_shown: answer, [items]) == 2
    Api(alice, project)("post", "machines-report", {})
    machines_queue.QUEUE.work(machines_queue.QUEUE.claim_next(owner="test", now=NOW), progress=go_on)
    [told] = Api(alice, project)("get", "machines-report").json()["report"]["machines"]
    assert told["figures"]["agreement"] is None
    assert told["places"] == []
    assert "not known" in page(signed_in(alice), project, "machines")


def test_programs_are_told_how_to_ask_about_a_set_and_in_which_orders(project, alice):
    set_task(project, "top", 4, 2)
    Project.objects.filter(pk=project.pk).update(best_words="clearest", worst_words="vaguest")
    api = Api(alice, project)
    key = api("post", "machines", {"name": "Judge", "program": "gpt"}).json()["key"]
    answer_one(make_annotator(project, "Quiet Otter"), outcome="top", chosen=None, order=(1, 0))
    told = api("get", "machine-sets", args=[key], orders=3).json()
    assert (told["best_words"], told["next"]) == ("clearest", None)
    [asked] = told["results"]
    names = ("task_type", "is_ordered", "n_named", "shares_places", "ties")
    assert [asked[name] for name in names] == ["top", True, 2, False, False]
    first, second, third = asked["orders"]
    assert first == second[::-1]
    assert sorted(first) == sorted(third) == [0, 1, 2, 3]
    keys = [asked["items"][place]["key"] for place in first]
    sent = {"rows": [{"items": keys, "order": [2, 0]}]}
    assert api("post", "machine-answers", sent, args=[key]).json() == {"n_stored": 1, "n_known": 0}
    [asked] = api("get", "machine-sets", args=[key], orders=3).json()["results"]
    assert asked["orders"] == [second, third]
    answer = MachineAnswer.objects.get()
    assert (answer.outcome, answer.task, answer.ranks) == ("top", "top:4:2", "1202")
    assert api("get", "machine-sets", args=[key], orders=21).status_code == 400


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("task", "row", "told"),
    [
        (("ranking", 3), {"chosen": 1}, "answered by “order”: 3 places, best first"),
        (("ranking", 3), {"order": [0, 1]}, "“order” names 2 places but needs 3"),
        (("ranking", 3), {"order": [0, 1, 1]}, "names place 1 twice"),
        (("ranking", 3), {"order": [0, 1, 5]}, "Place 5 was not shown; places go from 0 to 2."),
        (("ranking", 3), {"order": [0, 1, 2], "shared": [1]}, "No two items share a place in this project."),
        (("best", 3), {"chosen": None}, "A tie is no answer in this project."),
        (("best_worst", 3), {}, "answered by “order”: 2 places"),
    ],
)
def test_a_wrong_answer_about_a_set_is_refused(project, alice, task, row, told):
    set_task(project, *task)
    machine = make_machine(project)
    good = {"items": ["item-0", "item-1", "item-2"], **({"chosen": 0} if task[0] == "best" else {})}
    if task[0] != "best":
        good["order"] = [2, 1, 0][: 2 if task[0] == "best_worst" else 3]
    rows = [good, {"items": ["item-3", "item-1", "item-2"], **row}]
    refused = Api(alice, project)("post", "machine-answers", {"rows": rows}, args=[machine.annotator.key])
    assert refused.status_code in (400, 422)
    assert told in refused.json()["detail"]
    assert not MachineAnswer.objects.exists()


def test_an_item_deleted_takes_what_machines_said_of_its_sets_with_it(project, alice):
    set_task(project, "best", 3)
    items = list(project.items.order_by("pk"))
    let_judge_sets(make_machine(project), by_key(project, backwards=False), [items[:3], items[3:]])
    delete_item(item=items[0], actor=alice, now=NOW)
    assert MachineAnswer.objects.count() == 2
    assert MachineSet.objects.count() == 1


def test_answers_to_a_task_that_the_project_asks_no_more_do_not_count(project, alice):
    let_judge(make_machine(project), by_number)
    set_task(project, "best", 4, count_machines=True)
    people_of_sets(project, 20)
    found = labels(project)
    assert (found.data.n_labels, found.n_machine_labels) == (20, 0)


def test_in_a_project_of_several_kinds_each_set_is_asked_by_the_kind_of_its_size(project, alice):
    ranking = {"task_type": "ranking", "k": 3, "m": None, "shared_places": False, "percent": 30}
    Project.objects.filter(pk=project.pk).update(further_tasks=[ranking], count_machines=True)
    project.refresh_from_db()
    people(project, 60)
    machine = make_machine(project)
    items = list(project.items.order_by("pk"))
    assert let_judge(machine, by_number) == 30
    assert let_judge_sets(machine, lambda *shown: GivenAnswer(order=[2, 1, 0]), [items[:3]]) == 2
    assert set(MachineAnswer.objects.values_list("task", flat=True)) == {"pair:2", "ranking:3"}
    assert labels(project).n_machine_labels == 32
