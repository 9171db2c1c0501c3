"""Plans of sets: balanced, of distinct sets, connected; true while the project changes; all asked, no more."""

import random
from collections import Counter
from math import comb

import pytest
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.core.errors import NothingToCompare
from annotate.items.actions import retire_item
from annotate.labelling.plan.actions import draw_plan
from annotate.labelling.plan.drawing import draw_sets
from annotate.models import Item, Project
from annotate.projects.actions import change_project, set_state
from annotate.quality.gold.actions import add_gold_sets, remove_gold_set
from annotate.quality.gold.table import parse_table
from tests.budget import examples
from tests.conftest import NOW, answer_one, make_annotator, make_items


def exposure(items, sets) -> list[int]:
    counts = Counter(item for one in sets for item in one)
    return [counts[item] for item in items]


def n_parts(items, sets) -> int:
    parts = [{item} for item in items]
    for one in sets:
        touched = [part for part in parts if part & one]
        parts = [part for part in parts if not part & one] + [set().union(*touched)]
    return len(parts)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_plan_has_distinct_sets_and_is_balanced_and_connected(data):
    n_items = data.draw(st.integers(3, 16))
    k = data.draw(st.integers(2, min(n_items, 5)))
    n = data.draw(st.integers(1, min(comb(n_items, k), 120)))
    sets = draw_sets(range(n_items), k, n, random.Random(data.draw(st.integers(0, 9))))
    assert len(set(sets)) == len(sets) == n
    assert {len(one) for one in sets} == {k}
    counts = exposure(range(n_items), sets)
    assert max(counts) - min(counts) <= 1
    if n * (k - 1) > n_items:
        assert n_parts(range(n_items), sets) == 1


def test_every_beginning_of_a_plan_is_balanced():
    sets = draw_sets(range(20), 2, 60, random.Random(3))
    for end in range(1, 61):
        counts = exposure(range(20), sets[:end])
        assert max(counts) - min(counts) <= 1


def test_as_many_pairs_as_items_connect_them_all():
    for seed in range(10):
        assert n_parts(range(30), draw_sets(range(30), 2, 30, random.Random(seed))) == 1


def test_no_more_than_there_are_and_new_items_catch_up():
    assert len(draw_sets(range(4), 2, 100, random.Random(1))) == 6
    old = draw_sets(range(10), 2, 15, random.Random(1))
    new = draw_sets(range(14), 2, 20, random.Random(2), existing=old)
    assert not set(old) & set(new)
    assert exposure(range(14), old + new) == [5] * 14


def planned(project) -> list[frozenset[int]]:
    keys = project.item_sets.filter(place__isnull=False).order_by("place").values_list("key", flat=True)
    return [frozenset(map(int, key.split("-"))) for key in keys]


@pytest.fixture
def planning(project, alice):
    """The project with six sets of two, drawn at its opening."""
    Project.objects.filter(pk=project.pk).update(n_sets=6, state="draft")
    set_state(project=project, actor=alice, state="open", now=NOW)
    project.refresh_from_db()
    return project


def test_opening_draws_the_plan(planning):
    items = list(planning.items.values_list("pk", flat=True))
    assert exposure(items, planned(planning)) == [2] * 6


def test_all_of_the_plan_is_asked_each_set_as_often_as_said_and_nothing_else(planning):
    before = set(planned(planning))
    for name in "abc":
        annotator = make_annotator(planning, name)
        while True:
            try:
                answer_one(annotator)
            except NothingToCompare:
                break
    sets = planning.item_sets.all()
    assert {(frozenset(map(int, one.key.split("-"))), one.n_taken) for one in sets} == {(one, 2) for one in before}
    assert set(planning.items.values_list("n_taken", flat=True)) == {4}
    assert planning.labels.count() == 12


def test_a_retired_item_leaves_the_plan_and_new_items_join_it(planning, alice):
    first = answer_one(make_annotator(planning, "a")).presentation
    shown = frozenset(first.items.values_list("pk", flat=True))
    gone = planning.items.exclude(pk__in=shown).first()
    retire_item(item=gone, actor=alice, now=NOW)
    items = list(planning.items.filter(retired_at=None).values_list("pk", flat=True))
    assert shown in planned(planning)
    assert sorted(exposure(items, planned(planning))) == [2, 2, 2, 3, 3]
    Item.objects.bulk_create(Item(project=planning, key=f"new-{i}", body=str(i)) for i in range(1))
    draw_plan(planning)
    items = list(planning.items.filter(retired_at=None).values_list("pk", flat=True))
    assert exposure(items, planned(planning)) == [2] * 6


def test_the_number_of_sets_can_change_while_open(planning, alice):
    answer_one(make_annotator(planning, "a"))
    change_project(project=planning, actor=alice, values={"n_sets": 9}, now=NOW)
    items = list(planning.items.values_list("pk", flat=True))
    assert exposure(items, planned(planning)) == [3] * 6
    change_project(project=planning, actor=alice, values={"n_sets": None}, now=NOW)
    assert planned(planning) == []
    assert planning.item_sets.count() == 1  # the one that somebody was shown
    answer_one(make_annotator(planning, "b"))


def test_sets_shown_before_there_was_a_plan_are_part_of_it(project, alice):
    label = answer_one(make_annotator(project, "a"))
    change_project(project=project, actor=alice, values={"n_sets": 3}, now=NOW)
    assert frozenset(label.presentation.items.values_list("pk", flat=True)) in planned(project)
    assert len(planned(project)) == 3


def test_the_settings_page_takes_the_number(client, project, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    page = client.get(reverse("settings-amount", args=[project.pk])).content.decode()
    assert "Different sets" in page
    make_items(Project.objects.create(name="Other", question="?"), 2)
    assert planned(project) == []


def test_no_set_of_the_plan_is_a_check(planning, alice):
    gold, tried = planned(planning)[:2]
    by_key = dict(planning.items.values_list("pk", "key"))
    lines = [
        f"{name},{','.join(by_key[item] for item in one)},tie" for name, one in (("gold", gold), ("practice", tried))
    ]
    table = "\n".join(["purpose,item_1,item_2,answer", *lines])
    rows, problems = parse_table(planning, table, {key: pk for pk, key in by_key.items()})
    assert not problems
    add_gold_sets(project=planning, actor=alice, rows=rows, only_for_checks=False, now=NOW)
    assert gold not in planned(planning)
    assert exposure(list(by_key), planned(planning)) == [2] * 6
    annotator = make_annotator(planning, "a")
    for n in range(6):
        assert set(answer_one(annotator, seed=n).presentation.items.values_list("pk", flat=True)) != gold
    with pytest.raises(NothingToCompare):
        answer_one(annotator)
    remove_gold_set(known=planning.known_sets.get(purpose="gold"), actor=alice, now=NOW)
    change_project(project=planning, actor=alice, values={"n_sets": 15}, now=NOW)
    assert gold in planned(planning)


def test_sets_that_nobody_has_any_more_or_only_gold_do_not_unbalance_the_plan(project, alice):
    keys = [one.pk for one in project.items.order_by("pk")]
    for other in keys[1:]:  # as gold questions and sets given back lie there: known, held by nobody
        project.item_sets.create(key=f"{keys[0]}-{other}")
    change_project(project=project, actor=alice, values={"n_sets": 12}, now=NOW)
    assert exposure(keys, planned(project)) == [4] * 6
    change_project(project=project, actor=alice, values={"n_sets": 15}, now=NOW)
    assert exposure(keys, planned(project)) == [5] * 6
