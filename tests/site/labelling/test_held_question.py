"""What becomes of a question held when project, items or annotator change, or an answer comes late."""

import random

import pytest

from annotate.annotators.exclusion import exclude_annotator
from annotate.core.errors import CapReached, ProjectNotOpen, ScreenedOut, TaskChanged
from annotate.items.actions import retire_item
from annotate.items.bulk_actions import retire_items
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_and_assign_next
from annotate.models import Presentation, Project
from annotate.projects.actions import change_project, set_state
from tests.conftest import NOW, make_annotator
from tests.site.gold_sets import make_known, true_counts
from tests.site.labelling.test_labels import counts_are_true
from tests.site.labelling.test_question_ahead import SECOND, answer, ask, held, open_one, set_up

LATER = NOW + SECOND


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


def own(presentation):
    return Presentation.objects.select_related("annotator__project").get(pk=presentation.pk)


def record(presentation, said):
    return record_and_assign_next(presentation=presentation, answer=said, now=LATER, rng=random.Random(1), ahead=True)


def change(project, **values):
    change_project(project=project, actor=None, values=values, now=LATER)


def put_off(otter):
    """The first question as it was read when open, given back since; the second one is open, and none is held."""
    first, second = own(ask(otter)), held(otter)
    assignment.release(otter.project, first.pk, first.item_set_id)
    assert ask(otter, ahead=False) == second
    return first, second


@pytest.mark.parametrize("read_before", [True, False])
def test_a_late_answer_opens_no_second_question(project, otter, read_before):
    first, second = put_off(otter)
    label, refusal = record(first if read_before else own(first), Answer("choice", 0))
    assert (label.voided_at, refusal) == (None, None)
    assert open_one(otter) == second
    assert held(otter) not in (None, first, second)
    answer(second, LATER + SECOND)
    assert open_one(otter)
    assert held(otter)
    counts_are_true(project)


def test_a_late_answer_that_reaches_the_limit_takes_the_open_question_back(project, otter):
    first, second = put_off(otter)
    set_up(project, cap=1)
    label, refusal = record(own(first), Answer("choice", 0))
    assert label.voided_at is None
    assert isinstance(refusal, CapReached)
    assert (open_one(otter), held(otter)) == (None, None)
    assert answer(second, LATER + SECOND)[0].void_reason == "late"
    counts_are_true(project)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_retired_item_is_not_shown_by_a_question_held(project, otter, alice, at_once):
    first, following = ask(otter), held(otter)
    item = following.items.exclude(pk__in=first.items.all()).first()
    if at_once:
        retire_items(project=project, actor=alice, items=[item.pk], retire=True, now=LATER)
    else:
        retire_item(item=item, actor=alice, now=LATER)
    assert held(otter) is None
    answer(first, LATER)
    assert not open_one(otter).items.contains(item)
    counts_are_true(project)


def test_a_check_held_stays_when_its_items_are_retired(project, otter, alice):
    set_up(project, gold_every=2)
    make_known(project, "gold", 4)
    ask(otter)
    while held(otter).purpose != "gold":
        answer(open_one(otter), LATER)
    items = list(held(otter).items.values_list("pk", flat=True))
    retire_items(project=project, actor=alice, items=items, retire=True, now=LATER)
    assert held(otter).purpose == "gold"


def test_a_question_held_is_answered_as_the_kind_that_it_is(project, otter):
    first = ask(otter)
    answer(first)
    shown, following = open_one(otter), held(otter)
    change(project, task_type="best_worst", k=4)
    assert (open_one(otter), held(otter)) == (None, None)
    for one in (shown, following):
        label, refusal = record(own(one), Answer("choice", 1))
        assert (label.presentation.task, label.voided_at, refusal) == ("pair:2", None, None)
    assert open_one(otter).items.count() == held(otter).items.count() == 4
    counts_are_true(project)


FURTHER = {"task_type": "best_worst", "k": 4, "m": None, "shared_places": False, "percent": 100}
KINDS = [  # what the project asks first, then, and an answer of the first kind that the second would take, too
    ({"task_type": "graded"}, {"task_type": "pair"}, Answer("tie")),
    ({"further_tasks": [FURTHER]}, {"further_tasks": []}, Answer("best_worst", order=(0, 3))),
]


@pytest.mark.parametrize(("before", "after", "said"), KINDS)
def test_a_kind_that_nobody_has_answered_is_not_answered_after_the_change(project, otter, before, after, said):
    set_up(project, **before)
    ask(otter)
    following = held(otter)
    change(project, **after)
    for one in otter.presentations.all():
        with pytest.raises(TaskChanged):
            record(own(one), said)
    assert (otter.labels.count(), held(otter), following.items.count()) == (0, None, following.items.count())
    assert Project.objects.get(pk=project.pk).earlier_tasks == []


def test_other_words_leave_the_question_held(project, otter):
    first, following = ask(otter), held(otter)
    change(project, question="Which is clearer?", tie_words="The same")
    answer(first, LATER)
    assert open_one(otter) == following


def test_switched_off_what_is_held_is_given_back(project, otter):
    first, following = ask(otter), held(otter)
    change(project, question_ahead=False)
    assert own(following).state == "expired"
    answer(first, LATER)
    assert held(otter) is None
    counts_are_true(project)


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_project_that_opens_again_within_the_minute_asks_what_was_held(project, otter, alice, state):
    first, following = ask(otter), held(otter)
    set_state(project=project, actor=alice, state=state, now=LATER)
    with pytest.raises(ProjectNotOpen):
        answer(first, LATER)
    assert otter.labels.count() == 0
    set_state(project=project, actor=alice, state="open", now=LATER)
    answer(first, LATER)
    assert open_one(otter) == following


def test_exclusion_gives_back_what_is_held(project, otter, alice):
    ask(otter)
    following = held(otter)
    exclude_annotator(annotator=otter, actor=alice, reason="", now=LATER)
    assert own(following).state == "expired"
    counts_are_true(project)


@pytest.mark.parametrize("counts", [True, False])
def test_who_is_screened_out_holds_nothing(project, otter, counts):
    set_up(project, attention_every=2, attention_fails=1, count_screened_out=counts, overlap=9)
    make_known(project, "attention", 1)
    ask(otter)
    while open_one(otter).purpose != "attention":
        answer(open_one(otter), NOW)
    shown = list(open_one(otter).presented.values_list("item", flat=True))
    right = open_one(otter).known.named[0]
    _label, refusal = record(own(open_one(otter)), Answer("choice", 1 - shown.index(right)))
    assert isinstance(refusal, ScreenedOut)
    assert (open_one(otter), held(otter)) == (None, None)
    true_counts(project)
