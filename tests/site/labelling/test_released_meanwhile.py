"""Who takes a presentation back while another does, or while its lease is renewed: each set is counted down once."""

import random
from datetime import timedelta

import pytest
from django.db import connection

from annotate.items.actions import delete_item, retire_item
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_and_assign_next, record_label
from annotate.labelling.known_items import declare_known
from annotate.labelling.undo import undo_label
from annotate.locks import in_step
from annotate.models import Item, Presentation, Project
from tests.conftest import NOW, make_annotator
from tests.site.labelling.test_labels import counts_are_true
from tests.site.labelling.test_question_ahead import answer, ask, open_one

LONG_AFTER = NOW + assignment.lease_duration() + timedelta(minutes=1)


class Once:
    """Does something of another request after the first statement that begins so and has these words."""

    def __init__(self, start: str, words: str, do) -> None:
        self.start, self.words, self.do, self.done = start, words, do, False

    def __call__(self, execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if not self.done and sql.startswith(self.start) and self.words in sql:
            self.done = True
            self.do()
        return result


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


def test_a_set_given_back_by_two_is_counted_down_once(project, otter):
    answer(ask(otter))
    shown = open_one(otter)

    def expire() -> None:
        assert assignment.release(project, shown.pk, shown.item_set_id)

    meanwhile = Once("SELECT", '"annotate_presentation"."purpose"', expire)
    with connection.execute_wrapper(meanwhile):
        assignment.release_open_presentation(otter)
    assert meanwhile.done
    shown.refresh_from_db()
    assert shown.state == "expired"
    counts_are_true(project)


@pytest.mark.parametrize("change", ["retired", "deleted"])
def test_an_item_that_goes_after_it_was_chosen_is_not_shown(project, otter, alice, change):
    likely = assignment.choose_ahead(otter, NOW)
    item = Item.objects.get(pk=likely.items[0])
    if change == "retired":
        retire_item(item=item, actor=alice, now=NOW)
    else:
        delete_item(item=item, actor=alice, now=NOW)
    shown = in_step(otter, lambda locked: assignment.open_or_renew(locked, likely, NOW, random.Random(1)))
    assert item.pk not in shown.presented.values_list("item_id", flat=True)
    connection.check_constraints()
    counts_are_true(project)


def test_an_undo_beside_an_expired_lease_counts_once(project, otter):
    answer(ask(otter))
    assignment.release_expired(project, LONG_AFTER)
    undo_label(annotator=otter, now=LONG_AFTER)
    counts_are_true(project)


def test_a_lease_renewed_meanwhile_is_not_taken_away(project, otter):
    shown = ask(otter, ahead=False)

    def renew() -> None:
        Presentation.objects.filter(pk=shown.pk).update(leased_until=LONG_AFTER + assignment.lease_duration())

    meanwhile = Once("SELECT", "leased_until", renew)
    with connection.execute_wrapper(meanwhile):
        assert assignment.release_expired(project, LONG_AFTER) == 0
    assert meanwhile.done
    shown.refresh_from_db()
    assert shown.state == "open"
    assert assignment.release_expired(project, LONG_AFTER + 2 * assignment.lease_duration()) == 1
    counts_are_true(project)


def test_an_answer_whose_lease_runs_out_before_its_step_is_stored_and_counts(project, otter):
    ask(otter, ahead=False)
    shown = Presentation.objects.select_related("annotator__project").get(annotator=otter)
    assert assignment.release(project, shown.pk, shown.item_set_id)
    label, refusal = record_and_assign_next(
        presentation=shown, answer=Answer("choice", 0), now=NOW, rng=random.Random(1), ahead=True
    )
    assert (label.presentation_id, label.voided_at, refusal) == (shown.pk, None, None)
    shown.refresh_from_db()
    assert shown.state == "answered"
    counts_are_true(project)


def test_an_answer_to_what_was_said_to_be_known_meanwhile_does_not_count(project, otter):
    """Its lease had run out when it was read, so its set would be taken again."""
    ask(otter, ahead=False)
    assignment.release_expired(project, LONG_AFTER)
    Project.objects.filter(pk=project.pk).update(known_button=True)
    shown = Presentation.objects.select_related("annotator__project").get(annotator=otter)
    declare_known(presentation=shown, place=0, now=LONG_AFTER)
    label = record_label(presentation=shown, answer=Answer("choice", 0), now=LONG_AFTER)
    assert label.void_reason == "late"
    counts_are_true(project)
