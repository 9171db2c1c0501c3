"""The question held ready: who holds which set, and for how long; overlap and limits stay exact."""

import random
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.core.errors import UserError
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_and_assign_next
from annotate.labelling.undo import undo_label
from annotate.models import Item, Label, Presentation, Project
from tests.budget import examples
from tests.conftest import NOW, make_annotator
from tests.site.labelling.test_labels import counts_are_true
from tests.site.labelling.test_special_tasks import make_known

SECOND = timedelta(seconds=1)


def set_up(project, **values):
    Project.objects.filter(pk=project.pk).update(**values)
    project.refresh_from_db()
    return project


def ask(annotator, now=NOW, *, ahead=True):
    return assignment.next_presentation(annotator=annotator, now=now, rng=random.Random(1), ahead=ahead)


def answer(presentation, now=NOW, *, ahead=True, outcome="choice"):
    presentation = Presentation.objects.select_related("annotator__project").get(pk=presentation.pk)
    said = Answer(outcome, 0 if outcome == "choice" else None)
    return record_and_assign_next(presentation=presentation, answer=said, now=now, rng=random.Random(1), ahead=ahead)


def held(annotator):
    return assignment.leased_ahead(annotator).first()


def open_one(annotator):
    return annotator.presentations.filter(state="open", ahead=False).first()


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


def test_the_question_held_is_the_next_one_and_its_time_counts_from_then(project, otter):
    first, then = ask(otter), NOW + 20 * SECOND
    following = held(otter)
    assert following.leased_until == NOW + timedelta(minutes=1)
    answer(first, then)
    now_open = open_one(otter)
    assert now_open == following
    assert (now_open.created_at, now_open.leased_until) == (then, then + assignment.lease_duration())
    assert held(otter) not in (None, following)
    counts_are_true(project)


@pytest.mark.parametrize(
    "values", [{"cap": 1}, {"sitting_cap": 1}, {"break_every": 2}, {"question_ahead": False}, {"practice_pass": 1}]
)
def test_nothing_is_held_where_something_else_comes_next(project, otter, values):
    set_up(project, **values)
    if "practice_pass" in values:
        make_known(project, "practice", 2)
    first = ask(otter)
    if "break_every" in values:
        answer(first)
        assert open_one(otter)
    assert held(otter) is None


def test_a_set_held_is_free_for_others_after_a_minute(project, otter):
    set_up(project, overlap=1)
    Item.objects.filter(pk__in=project.items.values_list("pk", flat=True)[3:]).update(retired_at=NOW)
    ask(otter)  # of three pairs one is asked and one is held
    eagle = make_annotator(project, "Calm Eagle")
    answer(ask(eagle))
    assert open_one(eagle) is None
    following = held(otter)
    assert ask(eagle, NOW + 61 * SECOND).item_set == following.item_set
    following.refresh_from_db()
    assert following.state == "expired"
    label, _refusal = answer(following, NOW + 70 * SECOND)
    assert label.void_reason == "late"
    counts_are_true(project)


def test_undo_and_a_conflict_take_back_what_is_held(project, otter):
    first = ask(otter)
    answer(first)
    assert undo_label(annotator=otter, now=NOW + SECOND).reopens == first
    assert held(otter) is None
    again = ask(otter, NOW + SECOND)
    hidden = held(otter).items.first()
    otter.never_shown.create(item=hidden)
    otter.has_never_shown = True
    otter.save()
    answer(again, NOW + 2 * SECOND)
    assert not open_one(otter).items.contains(hidden)
    counts_are_true(project)


def test_checks_are_held_as_others_are_and_stay_at_their_pace(project, otter):
    set_up(project, gold_every=2, overlap=5)
    make_known(project, "gold", 4)
    ask(otter)
    purposes = []
    for n in range(8):
        shown = open_one(otter)
        purposes.append(shown.purpose)
        assert held(otter)
        answer(shown, NOW + n * SECOND)
    assert [purposes[n : n + 2].count("gold") for n in range(0, 8, 2)] == [1] * 4


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "answer", "answer ahead", "answer old", "undo", "wait", "wait long", "pause", "open"]),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=25,
)


class Undone(Exception):
    """Takes an example's rows away."""


def step(project, people, what, who, ahead, now):
    annotator = people[who]
    mine = annotator.presentations.order_by("pk")
    if what == "ask":
        ask(annotator, now, ahead=ahead)
    elif what == "undo":
        undo_label(annotator=annotator, now=now)
    elif what in ("pause", "open"):
        Project.objects.filter(pk=project.pk).update(state="paused" if what == "pause" else "open")
    elif what.startswith("answer"):
        found = {"answer": open_one(annotator), "answer ahead": held(annotator), "answer old": mine.first()}[what]
        if found:
            answer(found, now, ahead=ahead, outcome="choice" if ahead else "tie")


def holds(project, people, now):
    counts_are_true(project)
    assert not project.item_sets.filter(n_taken__gt=project.overlap).exists()
    for annotator in people:
        open_now = annotator.presentations.filter(state="open")
        assert open_now.filter(ahead=True).count() <= 1
        assert open_now.filter(ahead=False).count() <= 1
        assert not open_now.filter(ahead=True, leased_until__gt=now + timedelta(minutes=1)).exists()
        assert annotator.labels.filter(voided_at=None).count() <= project.cap
    counting = Label.objects.filter(project=project, voided_at=None)
    sets = list(counting.values_list("presentation__item_set", flat=True))
    assert all(sets.count(one) <= project.overlap for one in sets)
    assert counting.values("presentation__item_set", "annotator").distinct().count() == len(sets)


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=STEPS, overlap=st.integers(1, 2))
@pytest.mark.slow
def test_whatever_comes_between_no_set_has_too_many(project, steps, overlap):
    try:
        with transaction.atomic():
            own = set_up(project, overlap=overlap, cap=6, break_every=4, outcomes=["tie"])
            people = [make_annotator(own, name) for name in ("Quiet Otter", "Calm Eagle")]
            now = NOW
            for what, who, ahead in steps:
                now += {"wait": 50 * SECOND, "wait long": 1200 * SECOND}.get(what, SECOND)
                try:
                    step(own, people, what, who, ahead, now)
                except UserError:
                    pass
                holds(own, people, now)
            raise Undone
    except Undone:
        project.refresh_from_db()
