"""Webhooks are told of answers in batches, and answering costs one statement more only where one wants to know."""

import json
import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import AnswerNotice, Project, Webhook, WebhookDelivery
from annotate.participation.completion.actions import finish
from annotate.privacy.erasure.redaction import delete_webhook_messages
from annotate.projects.actions import delete_project
from annotate.webhooks import actions
from annotate.webhooks.answers import BATCH_DELAY, enqueue_answer_events
from tests.conftest import NOW, answer_one, make_annotator

LATER = NOW + BATCH_DELAY
Event = Webhook.Event


def add_hook(project, alice, *events: str) -> Webhook:
    return actions.add_webhook(
        project=project, actor=alice, url="https://example.org/", events=[str(event) for event in events], now=NOW
    )


def told(event: str) -> list[dict]:
    bodies = WebhookDelivery.objects.filter(event=event).order_by("pk").values_list("body", flat=True)
    return [json.loads(body)["data"] for body in bodies]


def n_statements(annotator) -> int:
    presentation = assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(0))
    with CaptureQueriesContext(connection) as queries:
        record_label(presentation=presentation, answer=Answer(outcome="choice", chosen=0), now=NOW)
    return len(queries)


def test_an_answer_costs_one_statement_more_where_a_webhook_wants_it_and_none_elsewhere(project, alice):
    answer_one(make_annotator(project, "First"))
    usual = n_statements(make_annotator(project, "Otter"))
    webhook = add_hook(project, alice, Event.FIT_PUBLISHED, Event.FINISHED)
    assert n_statements(make_annotator(project, "Vole")) == usual
    actions.remove_webhook(webhook=webhook, actor=alice, now=NOW)
    webhook = add_hook(project, alice, Event.ANSWER_GIVEN)
    assert n_statements(make_annotator(project, "Stoat")) == usual + 1
    actions.switch_webhook(webhook=webhook, actor=alice, on=False, now=NOW)
    assert n_statements(make_annotator(project, "Hare")) == usual


def test_answers_and_undos_come_in_one_message_each_five_seconds_after_the_first(project, alice):
    add_hook(project, alice, Event.ANSWER_GIVEN, Event.ANSWER_UNDONE)
    otter = make_annotator(project, "Otter")
    first, second = answer_one(otter), answer_one(otter, outcome="tie", chosen=None)
    undo_label(annotator=otter, now=NOW)
    assert not enqueue_answer_events(LATER - timedelta(seconds=1))
    assert enqueue_answer_events(LATER)
    assert not enqueue_answer_events(LATER)
    [given], [undone] = told(Event.ANSWER_GIVEN), told(Event.ANSWER_UNDONE)
    shown = [item.key for item in first.presentation.items.order_by("presented__position")]
    assert given["answers"][0] == {
        "label": first.pk,
        "annotator": str(otter.key),
        "purpose": "ordinary",
        "items": shown,
        "outcome": "choice",
        "chosen": shown[0],
        "ranks": "",
        "at": NOW.isoformat(),
        "counts": True,
    }
    assert [(row["label"], row["counts"]) for row in given["answers"][1:]] == [(second.pk, False)]
    assert [row["label"] for row in undone["answers"]] == [second.pk]


def test_a_set_is_told_complete_once_even_where_its_last_answer_comes_between(project, alice):
    """Two annotators for each of three items' sets: nothing after the first, the set after the second."""
    project.items.filter(key__in=["item-2", "item-3", "item-4", "item-5"]).delete()
    add_hook(project, alice, Event.SET_COMPLETE)
    answer_one(make_annotator(project, "Otter"))
    assert enqueue_answer_events(LATER)
    assert told(Event.SET_COMPLETE) == []
    answer_one(make_annotator(project, "Vole"))
    assert enqueue_answer_events(LATER)
    assert told(Event.SET_COMPLETE) == [{"project": str(project.pk), "overlap": 2, "sets": [["item-0", "item-1"]]}]
    assert told(Event.ANSWER_GIVEN) == []
    assert not AnswerNotice.objects.exists()


def test_both_answers_in_one_batch_complete_a_set_too_and_a_larger_overlap_does_not(project, alice):
    project.items.filter(key__in=["item-2", "item-3", "item-4", "item-5"]).delete()
    Project.objects.filter(pk=project.pk).update(overlap=3)
    project.refresh_from_db()
    add_hook(project, alice, Event.SET_COMPLETE)
    answer_one(make_annotator(project, "Otter"))
    answer_one(make_annotator(project, "Vole"))
    enqueue_answer_events(LATER)
    assert told(Event.SET_COMPLETE) == []
    Project.objects.filter(pk=project.pk).update(overlap=4)
    project.refresh_from_db()
    for name in ("Stoat", "Hare"):
        answer_one(make_annotator(project, name))
    enqueue_answer_events(LATER)
    assert len(told(Event.SET_COMPLETE)) == 1


def test_the_end_of_a_part_is_told_at_once(project, alice):
    add_hook(project, alice, Event.FINISHED)
    project.cap = 1
    project.save()
    otter = make_annotator(project, "Otter")
    answer_one(otter)
    finish(annotator=otter, now=NOW)
    finish(annotator=otter, now=NOW)
    assert told(Event.FINISHED) == [
        {"project": str(project.pk), "annotator": str(otter.key), "pseudonym": "Otter", "end": "complete"}
    ]


def test_a_project_is_deleted_with_what_is_still_to_be_told(project, alice):
    add_hook(project, alice, Event.ANSWER_GIVEN)
    answer_one(make_annotator(project, "Otter"))
    delete_project(project=project)
    assert not AnswerNotice.objects.exists()


@pytest.mark.parametrize("alone", [True, False])
def test_erasing_takes_only_the_persons_own_answers_out_of_a_message(project, alice, alone):
    add_hook(project, alice, Event.ANSWER_GIVEN)
    otter, vole = make_annotator(project, "Otter"), make_annotator(project, "Vole")
    answer_one(otter)
    if not alone:
        answer_one(vole)
    enqueue_answer_events(LATER)
    delete_webhook_messages([otter])
    assert [[row["annotator"] for row in data["answers"]] for data in told(Event.ANSWER_GIVEN)] == (
        [] if alone else [[str(vole.key)]]
    )
