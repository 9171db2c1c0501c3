"""Given questions: asked in their order and no others, by as many as the overlap says; changed while collecting."""

import random
from collections import Counter

import pytest

from annotate.core.errors import NothingToCompare
from annotate.items.actions import InQuestions, bring_back_item, delete_item, retire_item
from annotate.labelling import assignment, choosing
from annotate.labelling.item_sets import ChosenSet, items_of_key, set_key
from annotate.labelling.plan import given
from annotate.labelling.plan.capacity import capacity
from annotate.labelling.plan.queries import plan_progress
from annotate.models import Item, ItemSet, Project
from annotate.projects.actions import QuestionsAreGiven, change_project
from annotate.projects.copies.cloning import clone_project
from annotate.quality.gold.actions import add_gold_sets
from annotate.quality.gold.table import NewGoldSet
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.labelling.test_labels import counts_are_true

CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.fixture
def items(project) -> list[Item]:
    return list(project.items.order_by("pk"))


@pytest.fixture
def give(project, alice, items):
    """`give(pairs, priorities)`: questions about these items, by place."""

    def add(pairs=CHAIN, priorities=(), order=""):
        padded = [*priorities, *[0] * (len(pairs) - len(priorities))]
        questions = [
            given.NewQuestion(tuple(items[i].pk for i in one), priority)
            for one, priority in zip(pairs, padded, strict=True)
        ]
        added = given.add_questions(project=project, actor=alice, questions=questions, order=order, now=NOW)
        project.refresh_from_db()
        return added

    return add


def asked(annotator, items) -> tuple[int, ...]:
    """What the next task shows, by place; answered."""
    shown = answer_one(annotator).presentation.items.values_list("pk", flat=True)
    places = {item.pk: place for place, item in enumerate(items)}
    return tuple(sorted(places[pk] for pk in shown))


def all_asked(annotator, items) -> list[tuple[int, ...]]:
    found = []
    while True:
        try:
            found.append(asked(annotator, items))
        except NothingToCompare:
            return found


def test_each_question_gets_its_overlap_and_nothing_else_is_asked(project, items, give):
    give()
    seen = Counter(one for name in "abcd" for one in all_asked(make_annotator(project, name), items))
    assert seen == dict.fromkeys(CHAIN, project.overlap)
    counts_are_true(project)
    progress = plan_progress(project)
    assert (progress.n_planned, progress.n_left, progress.is_done) == (4, 0, True)


def test_least_answered_come_first_unless_said_otherwise(project, items, give):
    give()
    first, second = make_annotator(project, "a"), make_annotator(project, "b")
    had = {asked(first, items), asked(first, items)}
    assert {asked(second, items), asked(second, items)} == set(CHAIN) - had


def test_in_order_the_first_is_filled_before_the_next(project, items, give):
    give(order="in_order")
    assert [asked(make_annotator(project, name), items) for name in "abcd"] == [(0, 1), (0, 1), (1, 2), (1, 2)]
    assert all_asked(make_annotator(project, "e"), items) == [(2, 3), (3, 4)]


def test_the_highest_priority_comes_first_and_can_be_changed(project, alice, items, give):
    give(priorities=[1, 5, 3], order="priority")
    annotator = make_annotator(project, "a")
    assert asked(annotator, items) == (1, 2)
    given.change_priority(project=project, actor=alice, numbers=[4], priority=9, now=NOW)
    assert [asked(annotator, items) for _ in range(3)] == [(3, 4), (2, 3), (0, 1)]


def test_without_a_limit_of_overlap_they_are_asked_evenly(project, items, give):
    Project.objects.update(overlap=1000)
    give()
    project.refresh_from_db()
    for name in "abc":
        all_asked(make_annotator(project, name), items)
    assert set(project.item_sets.values_list("n_taken", flat=True)) == {3}


def test_doubled_questions_are_merged_and_counted(project, give):
    assert give([(0, 1), (1, 0), (1, 2)]) == given.Added(2, 1)
    assert give([(1, 2), (2, 3)]) == given.Added(1, 1)
    assert list(given.questions_of(project).values_list("number", flat=True)) == [1, 2, 3]


def test_withdrawn_ones_are_deleted_unless_somebody_saw_them(project, alice, items, give):
    give(order="in_order")
    assert asked(make_annotator(project, "a"), items) == (0, 1)
    assert given.withdraw_questions(project=project, actor=alice, numbers=[1, 2], now=NOW) == 2
    assert list(given.questions_of(project).values_list("number", "place")) == [(1, None), (3, 3), (4, 4)]
    assert all_asked(make_annotator(project, "b"), items) == [(2, 3), (3, 4)]
    assert plan_progress(project).n_planned == 2
    assert given.ask_again(project=project, actor=alice, numbers=[1], now=NOW) == 1
    assert asked(make_annotator(project, "c"), items) == (0, 1)


def test_one_withdrawn_between_choosing_and_taking_is_not_asked(project, alice, items, give, monkeypatch):
    give(order="in_order")
    asked(make_annotator(project, "a"), items)
    late = given.questions_of(project).get(number=1)
    given.withdraw_questions(project=project, actor=alice, numbers=[1], now=NOW)
    stale = ChosenSet(items_of_key(late.key), late.pk)
    monkeypatch.setattr(assignment, "choose_ahead", lambda annotator, now: stale)
    assert asked(make_annotator(project, "b"), items) == (1, 2)


def test_a_drawn_set_chosen_just_before_is_not_asked(project, items, give, monkeypatch):
    give()
    stale = ChosenSet([items[0].pk, items[5].pk])
    monkeypatch.setattr(assignment, "choose_ahead", lambda annotator, now: stale)
    assert asked(make_annotator(project, "a"), items) in CHAIN


def test_a_retired_item_takes_its_questions_along_and_brings_them_back(project, alice, items, give):
    give()
    retire_item(item=items[1], actor=alice, now=NOW)
    assert set(all_asked(make_annotator(project, "a"), items)) == {(2, 3), (3, 4)}
    assert capacity(project).n_most == 2 * project.overlap
    items[1].refresh_from_db()
    bring_back_item(item=items[1], actor=alice, now=NOW)
    assert set(all_asked(make_annotator(project, "b"), items)) == set(CHAIN)


def test_an_item_of_a_question_is_not_deleted(alice, items, give):
    give()
    with pytest.raises(InQuestions, match="1 given question"):
        delete_item(item=items[0], actor=alice, now=NOW)


def test_a_gold_question_is_not_asked_as_an_ordinary_one(project, alice, items, give):
    give()
    row = NewGoldSet(1, "gold", (items[0].pk, items[1].pk), "choice", (items[0].pk,), "")
    add_gold_sets(project=project, actor=alice, rows=[row], only_for_checks=False, now=NOW)
    assert set(all_asked(make_annotator(project, "a"), items)) == set(CHAIN[1:])


def test_given_questions_replace_a_drawn_plan_and_keep_its_answers(project, alice, items, give):
    change_project(project=project, actor=alice, values={"n_sets": 6}, now=NOW)
    answered = asked(make_annotator(project, "a"), items)
    give([(0, 5)])
    assert project.n_sets is None
    assert set(all_asked(make_annotator(project, "b"), items)) == {(0, 5)}
    assert project.labels.count() == 2
    kept = {set_key([items[i].pk for i in one]) for one in (answered, (0, 5))}
    assert set(project.item_sets.values_list("key", flat=True)) == kept


def test_drawing_again_forgets_the_questions_and_keeps_their_answers(project, alice, items, give):
    give(order="in_order")
    asked(make_annotator(project, "a"), items)
    assert given.draw_again(project=project, actor=alice, now=NOW) == 4
    project.refresh_from_db()
    assert (project.given_order, given.questions_of(project).count(), project.labels.count()) == ("", 0, 1)
    assert len(all_asked(make_annotator(project, "b"), items)) > len(CHAIN)


def test_the_number_of_sets_is_fixed_while_questions_are_given(project, alice, give):
    give()
    with pytest.raises(QuestionsAreGiven):
        change_project(project=project, actor=alice, values={"n_sets": 5}, now=NOW)


def test_choosing_takes_no_more_statements_than_a_drawn_plan(
    project, alice, items, give, django_assert_max_num_queries
):
    annotator = make_annotator(project, "a")
    give()
    with django_assert_max_num_queries(2):
        choosing.choose_items(project, annotator)


def test_a_duplicate_asks_the_same_questions_in_the_same_order(project, alice, items, give):
    give([(4, 5), (0, 1), (2, 3)], priorities=[7], order="priority")
    given.withdraw_questions(project=project, actor=alice, numbers=[3], now=NOW)
    clone = clone_project(source=project, actor=alice, name="Twin", with_items=True, now=NOW, rng=random.Random(1))
    keys = dict(clone.items.values_list("pk", "key"))
    rows = given.questions_of(clone).values_list("number", "place", "key", "priority")
    found = [(n, place, {keys[pk] for pk in items_of_key(key)}, priority) for n, place, key, priority in rows]
    assert found == [(1, 1, {"item-4", "item-5"}, 7), (2, 2, {"item-0", "item-1"}, 0)]
    assert clone.given_order == "priority"
    empty = clone_project(source=project, actor=alice, name="No items", with_items=False, now=NOW, rng=random.Random(1))
    assert empty.given_order == ""


def test_too_many_are_refused_whole(project, give, monkeypatch):
    monkeypatch.setattr(given, "MAX_QUESTIONS", 3)
    with pytest.raises(given.TooManyQuestions, match="4 questions; the limit is 3"):
        give()
    project.refresh_from_db()
    assert (project.given_order, ItemSet.objects.count()) == ("", 0)
