"""Choosing happens before the lock: whatever changes in between, overlap, repeats, caps and balance hold."""

import random
from itertools import combinations

import pytest

from annotate.core import errors
from annotate.labelling import assignment, choosing, item_sets
from annotate.labelling.item_sets import ChosenSet
from annotate.models import Item, ItemSet, Presentation
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.gold_sets import make_known
from tests.site.labelling.test_labels import counts_are_true, next_for
from tests.site.labelling.test_task_types import make_items_more


@pytest.fixture
def stale(monkeypatch):
    """`stale(choice)`: what was chosen before the lock, as if it had been a moment ago."""
    return lambda choice: monkeypatch.setattr(assignment, "choose_ahead", lambda annotator, now: choice)


def test_a_set_that_filled_up_meanwhile_is_not_taken(project, stale):
    full = next_for(make_annotator(project, "First"))
    ItemSet.objects.filter(pk=full.item_set_id).update(n_taken=project.overlap)
    items = list(full.presented.values_list("item_id", flat=True))
    for number, choice in enumerate([ChosenSet(items, full.item_set_id), ChosenSet(items)]):
        stale(choice)
        other = next_for(make_annotator(project, f"Late {number}"))
        assert other.item_set_id != full.item_set_id
    assert ItemSet.objects.get(pk=full.item_set_id).n_taken == project.overlap


def test_a_set_seen_meanwhile_is_not_shown_again(project, stale):
    annotator = make_annotator(project, "Twice")
    seen = answer_one(annotator).presentation
    stale(ChosenSet(list(seen.presented.values_list("item_id", flat=True)), seen.item_set_id))
    assert next_for(annotator).item_set_id != seen.item_set_id
    counts_are_true(project)


def test_a_new_pair_that_somebody_opened_meanwhile_is_shared_with_them(project, stale):
    first = next_for(make_annotator(project, "First"))
    stale(ChosenSet(list(first.presented.values_list("item_id", flat=True))))
    assert next_for(make_annotator(project, "Second")).item_set_id == first.item_set_id
    counts_are_true(project)


def test_items_that_came_meanwhile_are_found_under_the_lock(project, stale):
    stale(None)
    assert next_for(make_annotator(project, "A")).items.count() == 2
    project.items.all().update(retired_at=NOW)
    with pytest.raises(errors.NothingToCompare):
        next_for(make_annotator(project, "B"))


def test_one_chosen_for_nothing_is_not_counted(project, stale):
    annotator = make_annotator(project, "A")
    open_one = next_for(annotator)
    stale(ChosenSet(list(project.items.values_list("pk", flat=True)[4:6])))
    assert next_for(annotator) == open_one
    counts_are_true(project)


def test_the_first_item_with_its_least_compared_partner(project):
    """By hand: the least compared item is the third; of its partners the fifth is the least compared that is free."""
    items = list(project.items.order_by("pk"))
    for item, n in zip(items, [3, 4, 0, 5, 2, 1], strict=True):
        Item.objects.filter(pk=item.pk).update(n_taken=n)
    full = item_sets.set_key([items[2].pk, items[5].pk])
    ItemSet.objects.create(project=project, key=full, n_taken=project.overlap)
    choice = choosing.least_compared_set(project, make_annotator(project, "A"))
    assert set(choice.items) == {items[2].pk, items[4].pk}


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [1, 2])
def test_one_annotator_meets_every_pair_of_a_project_larger_than_the_first_look(project, overlap, monkeypatch):
    monkeypatch.setattr(choosing, "MAX_ITEMS_TRIED_FIRST", 4)
    project.overlap = overlap
    project.save()
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=str(i)) for i in range(3))
    annotator = make_annotator(project, "Thorough")
    for _ in range(36):
        answer_one(annotator)
    assert ItemSet.objects.filter(n_taken=1).count() == 36
    with pytest.raises(errors.NothingToCompare):
        next_for(annotator)


def test_queries_are_few_however_dense_the_project(project, django_assert_max_num_queries):
    """Two pairs of 50 items are left, and none of them among the least compared."""
    project.overlap = 1
    project.save()
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=str(i)) for i in range(44))
    pks = list(project.items.order_by("pk").values_list("pk", flat=True))
    left = {item_sets.set_key(pks[:2]), item_sets.set_key(pks[2:4])}
    keys = {item_sets.set_key([a, b]) for a in pks for b in pks if a < b} - left
    ItemSet.objects.bulk_create(ItemSet(project=project, key=key, n_taken=1) for key in keys)
    Item.objects.filter(pk__in=pks[:4]).update(n_taken=9)
    annotator = make_annotator(project, "A")
    with django_assert_max_num_queries(25):
        found = next_for(annotator)
    assert found.item_set.key in left
    with django_assert_max_num_queries(25):
        answer_one(annotator)
    assert {ItemSet.objects.get(pk=pk).key for pk in Presentation.objects.values_list("item_set", flat=True)} <= left


def test_choosing_never_writes(project):
    before = (ItemSet.objects.count(), Presentation.objects.count())
    for seed in range(5):
        choosing.choose_items(project, make_annotator(project, f"A{random.Random(seed).random()}"))
    assert (ItemSet.objects.count(), Presentation.objects.count()) == before


def test_those_who_ask_at_once_want_different_sets(project):
    ItemSet.objects.bulk_create(
        ItemSet(project=project, key=item_sets.set_key(pair), n_taken=1, shuffle=place / 10)
        for place, pair in enumerate(combinations(project.items.values_list("pk", flat=True)[:4], 2))
    )
    ItemSet.objects.filter(shuffle=0.5).update(n_taken=2)
    crowd = [make_annotator(project, f"At once {n}") for n in range(5)]
    wanted = [choosing.choose_items(project, annotator) for annotator in crowd]
    assert len({choice.item_set_id for choice in wanted}) == 5  # as many as are waiting for one more annotator first
    assert set(ItemSet.objects.filter(pk__in=[w.item_set_id for w in wanted]).values_list("n_taken", flat=True)) == {1}


@pytest.mark.parametrize("n", [0, 1, 2, 15, 39])
def test_sets_among_the_first_are_blocked_as_those_among_all(project, n):
    """Seen, full and asked as gold questions; by a statement of a fixed shape, whatever their number."""
    [known] = make_known(project, "gold", 1)
    make_items_more(project, 10)
    annotator = make_annotator(project, "Otter")
    seen = answer_one(annotator).presentation.item_set
    full = next_for(make_annotator(project, "Other")).item_set
    ItemSet.objects.filter(pk=full.pk).update(n_taken=project.overlap)
    blocked = [tuple(item_sets.items_of_key(one.key)) for one in (seen, full, known.item_set)]
    others = [pair for pair in combinations(project.items.values_list("pk", flat=True), 2) if pair not in blocked]
    sets = [*blocked, *others][:n]
    found = choosing.blocked_first(project, annotator, sets)
    assert found == choosing.blocked_keys(project, annotator, sets) == {item_sets.set_key(one) for one in blocked[:n]}
