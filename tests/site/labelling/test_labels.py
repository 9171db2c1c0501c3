"""What may never happen to a label: lost, doubled, changed, or given beyond overlap and cap."""

import random
from collections import Counter
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotate.core import errors
from annotate.labelling import assignment, item_sets
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import FitState, Item, ItemSet, Label, Presentation, PresentedItem, Project
from tests.conftest import NOW, answer_one, make_annotator

RNG = random.Random(3)


def next_for(annotator, now=NOW):
    return assignment.next_presentation(annotator=annotator, now=now, rng=RNG)


def counts_are_true(project):
    """The counters that assigning goes by equal what the rows say."""
    taken = Presentation.objects.filter(project=project, state__in=item_sets.TAKEN_STATES)
    by_set = Counter(taken.values_list("item_set_id", flat=True))
    by_item = Counter(PresentedItem.objects.filter(presentation__in=taken).values_list("item_id", flat=True))
    assert {s.pk: s.n_taken for s in ItemSet.objects.filter(project=project)} == {
        pk: by_set[pk] for pk in ItemSet.objects.filter(project=project).values_list("pk", flat=True)
    }
    assert {i.pk: i.n_taken for i in project.items.all()} == {i.pk: by_item[i.pk] for i in project.items.all()}


def test_a_choice_is_stored_with_the_item_at_its_place(project, presentation):
    label = record_label(presentation=presentation, answer=Answer("choice", 1, response_ms=900), now=NOW)
    shown = list(presentation.presented.values_list("item_id", flat=True))
    assert label.chosen_id == shown[1]
    assert label.response_ms == 900
    assert FitState.objects.get(project=project).wanted == 1


def test_sent_twice_it_is_stored_once_and_the_first_stands(project, presentation):
    first = record_label(presentation=presentation, answer=Answer("choice", 0), now=NOW)
    again = record_label(presentation=presentation, answer=Answer("tie"), now=NOW)
    assert again == first
    assert again.outcome == "choice"
    assert Label.objects.count() == 1
    assert FitState.objects.get(project=project).wanted == 1


def test_the_database_refuses_a_second_label(project, presentation):
    label = record_label(presentation=presentation, answer=Answer("tie"), now=NOW)
    label.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        label.save(force_insert=True)


def test_the_database_refuses_a_choice_without_item(project, presentation):
    label = record_label(presentation=presentation, answer=Answer("choice", 0), now=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Label.objects.filter(pk=label.pk).update(chosen=None)


@pytest.mark.parametrize(
    "answer", [Answer("choice"), Answer("choice", 2), Answer("choice", -1), Answer("tie", 0), Answer("maybe")]
)
def test_an_answer_that_was_not_offered_is_refused_and_nothing_written(presentation, answer):
    with pytest.raises(errors.InvalidAnswer):
        record_label(presentation=presentation, answer=answer, now=NOW)
    assert not Label.objects.exists()
    assert Presentation.objects.get(pk=presentation.pk).state == "open"


def test_an_outcome_the_project_does_not_allow_is_refused(project, presentation):
    project.outcomes = ["tie"]
    project.save()
    with pytest.raises(errors.InvalidAnswer, match="skip"):
        record_label(presentation=presentation, answer=Answer("skip"), now=NOW)


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_no_label_is_written_unless_open(project, presentation, state):
    project.state = state
    project.save()
    with pytest.raises(errors.ProjectNotOpen):
        record_label(presentation=presentation, answer=Answer("tie"), now=NOW)
    assert not Label.objects.exists()


def test_undo_voids_and_asks_the_same_items_in_the_same_order(project, presentation):
    label = record_label(presentation=presentation, answer=Answer("choice", 0), now=NOW)
    again = undo_label(annotator=presentation.annotator, now=NOW)
    label.refresh_from_db()
    assert (label.voided_at, label.void_reason) == (NOW, "undone")
    assert list(again.presented.values_list("item_id")) == list(presentation.presented.values_list("item_id"))
    assert again.token != presentation.token
    counts_are_true(project)
    record_label(presentation=again, answer=Answer("choice", 1), now=NOW)
    assert Label.objects.filter(voided_at=None).count() == 1
    assert FitState.objects.get(project=project).wanted == 3


def test_undo_gives_the_open_presentation_back(project, presentation):
    record_label(presentation=presentation, answer=Answer("choice", 0), now=NOW)
    following = next_for(presentation.annotator)
    undo_label(annotator=presentation.annotator, now=NOW)
    following.refresh_from_db()
    assert following.state == "expired"
    counts_are_true(project)


def test_nothing_to_undo_is_said(project):
    with pytest.raises(errors.NothingToUndo):
        undo_label(annotator=make_annotator(project, "Newcomer"), now=NOW)


def test_asked_again_the_same_presentation_is_open(presentation):
    assert next_for(presentation.annotator) == presentation


def test_never_the_same_pair_to_the_same_annotator_and_all_pairs_in_the_end(project):
    annotator = make_annotator(project, "Thorough")
    for _ in range(15):
        answer_one(annotator)
    assert ItemSet.objects.count() == 15
    with pytest.raises(errors.NothingToCompare):
        next_for(annotator)


@pytest.mark.slow
def test_overlap_is_met_exactly_on_every_set(project):
    crowd = [make_annotator(project, f"A{i}") for i in range(5)]
    done = 0
    while True:
        before = done
        for annotator in crowd:
            try:
                answer_one(annotator)
                done += 1
            except errors.NothingToCompare:
                pass
        if done == before:
            break
    assert done == 15 * project.overlap
    assert set(ItemSet.objects.values_list("n_taken", flat=True)) == {project.overlap}
    counts_are_true(project)


@pytest.mark.slow
def test_exposure_is_even_while_labels_come_in(project):
    """A round in which every item is seen once more is over before the next begins, but for pairs already used."""
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=str(i)) for i in range(14))
    project.overlap = 1
    project.save()
    for i in range(40):
        answer_one(make_annotator(project, f"A{i}"))
        counts = list(project.items.values_list("n_taken", flat=True))
        assert max(counts) - min(counts) <= 2
    assert ItemSet.objects.count() == 40


def test_cap_is_enforced_and_undo_makes_room(project):
    project.cap = 2
    project.save()
    annotator = make_annotator(project, "Capped")
    answer_one(annotator)
    answer_one(annotator)
    with pytest.raises(errors.CapReached):
        next_for(annotator)
    undo_label(annotator=annotator, now=NOW)
    answer_one(annotator)
    assert Label.objects.filter(annotator=annotator, voided_at=None).count() == 2


def test_an_abandoned_set_returns_to_the_pool_and_a_late_answer_still_counts_if_there_is_room(project):
    project.overlap = 1
    project.save()
    project.items.filter(pk__in=list(project.items.values_list("pk", flat=True)[2:])).delete()
    slow, quick = make_annotator(project, "Slow"), make_annotator(project, "Quick")
    abandoned = next_for(slow)
    with pytest.raises(errors.NothingToCompare):
        next_for(quick)
    later = NOW + timedelta(hours=1)
    taken_over = next_for(quick, later)
    assert taken_over.item_set == abandoned.item_set
    late = record_label(presentation=abandoned, answer=Answer("tie"), now=later)
    assert late.void_reason == "late"  # stored, not counted: the set is taken
    kept = record_label(presentation=taken_over, answer=Answer("choice", 0), now=later)
    assert kept.voided_at is None
    counts_are_true(project)


def test_a_late_answer_does_not_count_beyond_the_cap(project):
    project.cap = 1
    project.save()
    ada = make_annotator(project, "Ada")
    abandoned, later = next_for(ada), NOW + timedelta(hours=1)
    assignment.release_expired(project, later)
    kept = record_label(presentation=next_for(ada, later), answer=Answer("tie"), now=later)
    late = record_label(presentation=abandoned, answer=Answer("tie"), now=later)
    assert (kept.void_reason, late.void_reason) == ("", "late")
    counts_are_true(project)
    undo_label(annotator=ada, now=later)
    assert record_label(presentation=next_for(ada, later), answer=Answer("choice", 0), now=later).voided_at is None


def test_a_late_answer_with_room_counts(project, presentation):
    assignment.release_expired(project, NOW + timedelta(hours=1))
    label = record_label(presentation=presentation, answer=Answer("tie"), now=NOW + timedelta(hours=1))
    assert label.voided_at is None
    counts_are_true(project)


def test_retired_items_are_not_shown(project):
    keep = list(project.items.values_list("pk", flat=True)[:2])
    project.items.exclude(pk__in=keep).update(retired_at=timezone.now())
    assert set(next_for(make_annotator(project, "A")).items.values_list("pk", flat=True)) == set(keep)


@pytest.mark.parametrize(("n", "said"), [(0, "0 items,"), (1, "1 item,")])
def test_fewer_than_two_items_say_so(project, n, said):
    project.items.filter(pk__in=list(project.items.values_list("pk", flat=True)[n:])).delete()
    with pytest.raises(errors.NothingToCompare, match=said):
        next_for(make_annotator(project, "A"))


@pytest.mark.slow
def test_sides_are_random(project):
    make_items_in_order = list(project.items.order_by("pk").values_list("pk", flat=True))
    project.overlap = 200
    project.save()
    project.items.filter(pk__in=make_items_in_order[2:]).delete()
    first = [next_for(make_annotator(project, f"A{i}")).presented.get(position=0).item_id for i in range(60)]
    left = first.count(make_items_in_order[0])
    assert 12 <= left <= 48  # twenty to eighty percent: a fair coin leaves this range once in a million


def test_many_items_need_few_queries(project, django_assert_max_num_queries):
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=str(i)) for i in range(2000))
    annotator = make_annotator(project, "A")
    with django_assert_max_num_queries(20):
        next_for(annotator)


@pytest.mark.slow
def test_items_added_while_collecting_catch_up_and_then_share(project):
    """The newcomers come first until they have been compared as often as the others; from then on all are even."""
    Project.objects.filter(pk=project.pk).update(overlap=1)
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(6))
    crowd = [make_annotator(project, f"A{i}") for i in range(6)]
    for i in range(36):  # 36 pairs of 12 items: each is shown 6 times, give or take one
        answer_one(crowd[i % 6], seed=i)
    new = Item.objects.bulk_create(Item(project=project, key=f"new-{i}", body=f"New {i}") for i in range(4))
    shown = [set(answer_one(crowd[i % 6], seed=i).presentation.items.values_list("pk", flat=True)) for i in range(30)]
    assert all(pair & {item.pk for item in new} for pair in shown[:10]), "each of the first tasks has a newcomer"
    counts = dict(project.items.values_list("pk", "n_taken"))  # 66 pairs of 16 items: 8.25 is even
    assert all(abs(n - 8.25) < 2.5 for n in counts.values()), counts
