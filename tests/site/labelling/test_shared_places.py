"""Rankings whose items may share a place: from the form to the engine, in every statistic, out and in again."""

import json
import random
from itertools import combinations

import numpy as np
import pytest
from django.db import transaction
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.core.errors import InvalidAnswer
from annotate.criteria import Criterion
from annotate.dashboard.item import answers_on, count_records
from annotate.demo.crowd import Crowd
from annotate.demo.manifest import open_folder
from annotate.files.writers import csv_chunks
from annotate.fitting.reading import read_labels
from annotate.imports.comparisons.actions import import_comparisons
from annotate.labelling import assignment, special_tasks
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.own_answers.queries import own_answers
from annotate.labelling.queries import current_task
from annotate.labelling.undo import undo_label
from annotate.models import Annotator, Label, Project
from annotate.plan_values import plan_values
from annotate.privacy.own_data.export import answer_row
from annotate.projects.actions import change_project
from annotate.projects.forms import ProjectForm
from annotate.publishing.exports.pairs import count_wins, keys_of
from annotate.publishing.exports.preflib import kind, preflib_chunks
from annotate.publishing.exports.registry import TABLES
from annotate.quality.flags.queries import agreement, ranks_by_item
from annotate.quality.gold.actions import add_gold_sets
from annotate.quality.gold.queries import describe_right_answer
from annotate.quality.gold.table import parse_table
from models_engine.io.label_tables import read_labels as read_file
from tests.budget import examples
from tests.conftest import NOW, make_annotator, make_items
from tests.site.labelling.test_api import post
from tests.site.labelling.test_task_types import next_for, rows_of, send
from tests.site.projects.test_projects import VALID
from tests.site.task_types import LETTERS, set_task, shown_keys


@pytest.fixture
def project(project):
    return set_task(project, "ranking", 4, overlap=9, shared_places=True)


def form(ranks: list[int]) -> dict[str, str]:
    """What the page sends when the items shown are given these places."""
    return {"answer": "ranking", **{f"rank_{letter}": str(n) for letter, n in zip(LETTERS, ranks, strict=False)}}


def dense(ranks: list[int]) -> list[int]:
    """The same places from 0 and without gaps, by hand."""
    return [sorted(set(ranks)).index(rank) for rank in ranks]


# --- There and back ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=examples(3), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(2, 10), st.data())
def test_every_answer_goes_from_the_form_to_the_engine_and_out_and_in_again(project, alice, tmp_path, k, data):
    with transaction.atomic():
        there_and_back(project, alice, tmp_path, k, data)
        transaction.set_rollback(True)


def there_and_back(project, alice, folder, k, data) -> None:
    set_task(project, "ranking", k)
    for i in range(6):
        project.items.create(key=f"more {i}; [a], =", body=str(i))
    people = [make_annotator(project, name) for name in ("Otter", "Heron")]
    expected = []
    for i in range(6):
        ranks = data.draw(st.lists(st.integers(1, k), min_size=k, max_size=k))
        label = send(next_for(people[i % 2], seed=i), form(ranks))
        assert [int(digit) for digit in label.ranks] == dense(ranks)
        expected.append(dense(ranks))
    labels = read_labels(Criterion(project))
    assert labels.data.ranks.reshape(-1, k).tolist() == expected
    assert (labels.data.tied is not None and labels.data.tied.all()) if k > 2 else labels.data.tied is None
    pairs = labels.data.pairs()
    assert (pairs.outcome == 0.5).sum() == sum(a == b for row in expected for a, b in combinations(row, 2))

    columns = TABLES["labels"].names(project)
    (folder / "labels.csv").write_bytes(b"".join(csv_chunks(columns, rows_of(project))))
    copy = imported(project, alice, folder)
    ranks = list(copy.labels.order_by("pk").values_list("ranks", flat=True))
    assert ranks == ["".join(map(str, row)) for row in expected]
    assert read_labels(Criterion(copy)).data.data_hash() == labels.data.data_hash()

    rows = TABLES["comparisons"].rows(Criterion(project))
    (folder / "comparisons.csv").write_bytes(b"".join(csv_chunks(TABLES["comparisons"].names(project), rows)))
    by_engine = read_file(folder / "comparisons.csv").data
    assert by_engine.ranks.tolist() == labels.data.ranks.tolist()
    assert (by_engine.pairs().outcome == 0.5).sum() == (pairs.outcome == 0.5).sum()


def imported(project: Project, alice, folder, **rules) -> Project:
    rules = {"task_type": "ranking", "k": project.k, "shared_places": True} | rules
    labels = {"file": "labels.csv", "annotator": "annotator", "shown": "shown_order", "outcome": "outcome"}
    manifest = {"name": "Copy", "question": "Which?", **rules, "labels": labels | {"ranking": "ranking"}}
    (folder / "crowdrank.json").write_text(json.dumps(manifest))
    copy = Project.objects.create(**open_folder(folder, {}).project)
    for item in project.items.order_by("pk"):
        copy.items.create(key=item.key, body=item.body)
    comparisons = list(open_folder(folder, {}).comparisons())
    report = import_comparisons(
        project=copy, actor=alice, comparisons=comparisons, source="x", now=NOW, rng=random.Random(0)
    )
    assert bool(report.refused) is not rules["shared_places"]
    if report.refused:
        assert "Places may be shared" in report.refused[0].reason
    return copy


def test_shared_places_are_not_imported_where_the_project_has_none(project, alice, tmp_path):
    send(next_for(make_annotator(project, "Otter")), form([1, 1, 2, 3]))
    (tmp_path / "labels.csv").write_bytes(b"".join(csv_chunks(TABLES["labels"].names(project), rows_of(project))))
    assert not imported(project, alice, tmp_path, shared_places=False).labels.exists()


def test_preflib_tells_ties_and_takes_them_back(project, alice):
    set_task(project, "ranking", 6)
    send(next_for(make_annotator(project, "Otter")), form([2, 1, 1, 3, 3, 3]))
    criterion = Criterion(project)
    assert kind(criterion) == "toc"
    text = b"".join(preflib_chunks(criterion, "toc", NOW)).decode()
    assert text.splitlines()[-1].count("{") == 2
    table = next(row for row in TABLES["labels"].rows(criterion))
    values = dict(zip(TABLES["labels"].names(project), table, strict=True))
    assert (values["winner"], [len(group) for group in values["ranking"]]) == (None, [2, 1, 3])


# --- What is taken and told -------------------------------------------------------------------------------------------


def test_without_the_option_each_place_is_for_one_item(project):
    set_task(project, "ranking", 3, shared_places=False)
    presentation = next_for(make_annotator(project, "Otter"))
    with pytest.raises(InvalidAnswer, match="Two items have place 1"):
        send(presentation, form([1, 1, 2]))
    with pytest.raises(InvalidAnswer, match="place of its own"):
        record_label(presentation=presentation, answer=Answer("ranking", order=(0, 1, 2), shared=(1,)), now=NOW)
    assert not Label.objects.exists()


@pytest.mark.parametrize("shared", [(0,), (4,)])
def test_what_shares_a_place_stands_behind_another(project, shared):
    presentation = next_for(make_annotator(project, "Otter"))
    with pytest.raises(InvalidAnswer, match=f"names {shared[0]}; it takes 1 to 3"):
        record_label(presentation=presentation, answer=Answer("ranking", order=(0, 1, 2, 3), shared=shared), now=NOW)


def test_every_item_still_needs_a_place(project):
    presentation = next_for(make_annotator(project, "Otter"))
    with pytest.raises(InvalidAnswer, match="Places given: 3; needed: 4"):
        send(presentation, form([1, 1, 2]))


def test_the_answer_is_told_undone_and_in_ones_own_data(project):
    otter = make_annotator(project, "Otter")
    presentation = next_for(otter)
    label = send(presentation, form([2, 1, 2, 4]))
    assert label.ranks == "1012", "gaps say nothing"
    assert current_task(annotator=otter, now=NOW).last.words == "you ranked B, A = C, D"
    assert own_answers(otter, number=None).answers[0].words == "You ranked B, A = C, D"
    told = answer_row(label.presentation, [one.item for one in presentation.presented.select_related("item")])
    assert ["B", "A = C", "D"] in told
    again = undo_label(annotator=otter, now=NOW)
    assert shown_keys(label) == list(again.presented.values_list("item__key", flat=True))


def test_all_items_in_one_place_count_as_an_answer_that_ties_them(project):
    otter = make_annotator(project, "Otter")
    label = send(next_for(otter), form([3, 3, 3, 3]))
    assert (label.ranks, label.voided_at) == ("0000", None)
    pairs = read_labels(Criterion(project)).data.pairs()
    assert set(pairs.outcome) == {0.5}
    assert len(pairs) == 6


def test_a_form_that_is_shown_again_keeps_the_places(project, client):
    annotator = make_annotator(project, "Otter")
    next_for(annotator)
    task = current_task(annotator=annotator, now=NOW, given=form([1, 1, 2, 2]))
    assert [option.rank for option in task.options] == ["1", "1", "2", "2"]
    assert task.hint == "Put all 4 in order, best first. Items that are equal may share a place."


def test_the_option_is_of_full_rankings_and_answers_keep_it(project, alice):
    for task_type, kept in (("ranking", True), ("top", False), ("pair", False)):
        filled = ProjectForm({**VALID, "task_type": task_type, "k": "4", "m": "2", "shared_places": "on"})
        assert filled.is_valid(), filled.errors
        assert filled.values()["shared_places"] is kept
    send(next_for(make_annotator(project, "Otter")), form([1, 2, 2, 3]))
    assert plan_values(project)["shared_places"] is True
    before = read_labels(Criterion(project)).data
    change_project(project=project, actor=alice, values={"shared_places": False}, now=NOW)
    project.refresh_from_db()
    assert plan_values(project)["shared_places"] is False
    after = read_labels(Criterion(project)).data
    assert (after.ranks.tolist(), after.tied.tolist()) == (before.ranks.tolist(), [True])


# --- Statistics that read rankings ------------------------------------------------------------------------------------


def test_pairs_and_an_items_record_count_shared_places_as_ties(project):
    label = send(next_for(make_annotator(project, "Otter")), form([1, 1, 2, 2]))
    criterion, keys = Criterion(project), shown_keys(label)
    said, n = count_wins(criterion, keys_of(project))
    assert n.sum() == 6
    assert (said[:, 2] == 2).sum() == 2
    item = project.items.get(key=keys[0])
    records, outcomes = count_records(answers_on(criterion, item), item)
    by_key = {project.items.get(pk=pk).key: record for pk, record in records.items()}
    assert by_key == {keys[1]: (0, 0, 1), keys[2]: (1, 0, 0), keys[3]: (1, 0, 0)}
    assert dict(outcomes) == {"first": 1}


def test_repeats_agree_where_pairs_are_told_apart_alike(project):
    labels = [send(next_for(make_annotator(project, name)), form(ranks)) for name, ranks in
              (("Otter", [1, 1, 2, 3]), ("Heron", [1, 2, 3, 4]))]  # fmt: skip
    first, second = (dict(zip(range(4), map(int, label.ranks), strict=True)) for label in labels)
    assert agreement(first, second) == 5 / 6, "one of six pairs is tied once and told apart once"
    assert set(ranks_by_item(labels)[labels[0].pk].values()) == {0, 1, 2}


@pytest.mark.parametrize(
    ("ranks", "right"), [([1, 2, 2, 3], True), ([1, 3, 3, 4], True), ([1, 2, 3, 4], False), ([1, 1, 2, 3], False)]
)
def test_a_right_answer_may_share_places(project, alice, ranks, right):
    keys = dict(project.items.values_list("key", "pk"))
    head = "purpose,item_1,item_2,item_3,item_4,answer"
    line = "gold,item-0,item-1,item-2,item-3,item-0 > item-2 = item-1 > item-3"
    rows, problems = parse_table(project, f"{head}\n{line}", keys)
    assert not problems
    add_gold_sets(project=project, actor=alice, rows=rows, only_for_checks=False, now=NOW)
    assert describe_right_answer(project.known_sets.get()) == "item-0 > item-2 = item-1 > item-3"
    annotator = make_annotator(project, "Otter")
    special = special_tasks.next_gold(annotator, "gold")
    shown = assignment.create_presentation(
        annotator, special.item_set_id, [keys[f"item-{n}"] for n in range(4)], NOW, special=special
    )
    label = send(shown, form(ranks))
    assert special_tasks.correctness(Label.objects.filter(pk=label.pk)) == {label.pk: right}


def test_a_right_answer_keeps_an_equals_sign_in_a_key_where_places_are_not_shared(project):
    set_task(project, "ranking", 2, shared_places=False)
    keys = {name: project.items.create(key=name, body=name).pk for name in ("a = b", "c")}
    rows, problems = parse_table(project, "purpose,item_1,item_2,answer\ngold,a = b,c,a = b > c", keys)
    assert (rows[0].named, rows[0].shared, problems) == ((keys["a = b"], keys["c"]), (), [])


# --- API, client, crowd -----------------------------------------------------------------------------------------------


def test_the_api_takes_shared_places_and_says_whether_it_does(project):
    secret = post(reverse("api-join", args=[project.join_token])).json()["secret"]
    task = post(reverse("api-next", args=[project.pk]), secret=secret).json()["task"]
    assert (task["n_named"], task["shares_places"]) == (4, True)
    url = reverse("api-answer", args=[task["token"]])
    assert post(url, {"outcome": "ranking", "order": [2, 0, 1, 3], "shared": [0]}, secret).status_code == 400
    assert post(url, {"outcome": "ranking", "order": [2, 0, 1, 3], "shared": [1, 3]}, secret).status_code == 200
    assert Label.objects.get().ranks == "0101"


def test_the_simulated_crowd_shares_places(project):
    make_items(set_task(project, "ranking", 5), 0)
    crowd = Crowd(project, random.Random(1))
    ranks = [crowd.answer(NOW).ranks for _ in range(12)]
    assert any(len(set(one)) < 5 for one in ranks)
    assert any(len(set(one)) > 1 for one in ranks)
    assert Annotator.objects.filter(labels__isnull=False).exists()
    earlier = list(crowd.earlier(8, NOW, NOW))
    assert any(one.shared for one in earlier)


def test_ties_pull_items_together(project):
    """Everybody ties the first two keys and puts them above the others, in either order shown."""
    for number in range(8):
        presentation = next_for(make_annotator(project, f"P{number}"), number)
        keys = list(presentation.presented.values_list("item__key", flat=True))
        send(presentation, form([1 if key in ("item-0", "item-1") else 2 + int(key[-1]) for key in keys]))
    data = read_labels(Criterion(project)).data
    first = data.items == 0
    assert np.all(data.ranks[first] == 0)
