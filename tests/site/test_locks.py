"""Who waits for whom on PostgreSQL: annotators not for each other, the owner for them, they for the owner."""

import random
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from annotate.core.errors import AnnotatorErased
from annotate.jobs.fit_requests import request_fit
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_and_assign_next, record_label
from annotate.labelling.known_items import declare_known, undo_last
from annotate.labelling.undo import undo_label
from annotate.locks import lock_annotator, lock_project
from annotate.management.commands.worker import create_worker
from annotate.models import (
    Annotator,
    AnswerNotice,
    ConflictOfInterest,
    FitState,
    Label,
    Presentation,
    Project,
    Webhook,
    WebhookDelivery,
)
from annotate.participation.completion.actions import finish
from annotate.privacy.erasure.actions import erase_annotator
from annotate.quality.flags.notices import notify_new_flags
from annotate.webhooks.actions import add_webhook, remove_webhook
from annotate.webhooks.answers import BATCH_DELAY, enqueue_answer_events
from models_engine.models import Fit
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.factories import make_labels
from tests.site.labelling.test_labels import counts_are_true
from tests.site.labelling.test_question_ahead import answer, ask, held

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 20


@pytest.fixture
def several(db):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite lets one write at a time")


class Held(threading.Thread):
    """Takes a lock in a transaction of its own and keeps it until told to let go."""

    def __init__(self, take, *args) -> None:
        super().__init__(daemon=True)
        self.take, self.args = take, args
        self.has, self.let_go = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        try:
            with transaction.atomic():
                self.take(*self.args)
                self.has.set()
                self.let_go.wait(PATIENCE)
        finally:
            connections.close_all()

    def end(self) -> None:
        self.let_go.set()
        self.join(PATIENCE)


def waits(one: Held, n: int = 1) -> bool:
    """Whether it has come to the lock, where `n` wait now, and does not get it."""
    return comes_to_wait(lambda: one.has.wait(0.05), n)


def comes_to_wait(is_over: Callable[[], bool], n: int = 1) -> bool:
    """Whether `n` come to wait for a lock before it is over; is_over: takes a moment to say so."""
    for _look in range(PATIENCE * 20):
        if is_over():
            return False
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            if cursor.fetchone()[0] == n:
                return True
    raise AssertionError("it neither holds the lock nor waits for it")


def test_annotators_go_on_side_by_side_and_each_one_step_at_a_time(several, project):
    one, two = make_annotator(project, "One"), make_annotator(project, "Two")
    first, second = Held(lock_annotator, one), Held(lock_annotator, two)
    assert first.has.wait(PATIENCE)
    assert second.has.wait(PATIENCE)
    again = Held(lock_annotator, one)
    assert waits(again)
    first.end()
    assert again.has.wait(PATIENCE)
    again.end()
    second.end()


def test_the_owner_waits_for_steps_and_new_steps_for_the_owner(several, project):
    one, two = make_annotator(project, "One"), make_annotator(project, "Two")
    step = Held(lock_annotator, one)
    assert step.has.wait(PATIENCE)
    owner = Held(lock_project, project.pk)
    assert waits(owner)
    later = Held(lock_annotator, two)
    assert waits(later, 2)  # else an owner could wait for as long as answers come
    step.end()
    assert owner.has.wait(PATIENCE)
    assert not later.has.is_set()
    owner.end()
    assert later.has.wait(PATIENCE)
    later.end()


def test_who_answers_by_itself_waits_for_all(several, project):
    one, two = make_annotator(project, "One"), make_annotator(project, "Two")
    step = Held(lock_annotator, one)
    assert step.has.wait(PATIENCE)
    late = Held(lambda: lock_annotator(two, exclusive=True))
    assert waits(late)
    step.end()
    assert late.has.wait(PATIENCE)
    late.end()


def expired_after_it_was_read(project, annotator) -> Presentation:
    ask(annotator, ahead=False)
    shown = Presentation.objects.select_related("annotator__project").get(annotator=annotator)
    assert assignment.release(project, shown.pk, shown.item_set_id)
    return shown


def answers_while_its_lease_runs_out(project, annotator):
    shown = expired_after_it_was_read(project, annotator)
    rng = random.Random(1)
    return lambda: record_and_assign_next(presentation=shown, answer=Answer("choice", 0), now=NOW, rng=rng)


def sends_an_answer_alone_while_its_lease_runs_out(project, annotator):
    shown = expired_after_it_was_read(project, annotator)
    return lambda: record_label(presentation=shown, answer=Answer("choice", 0), now=NOW)


def undoes_an_answer(project, annotator):
    answer(ask(annotator))
    return lambda: undo_label(annotator=annotator, now=NOW)


def undoes_that_an_item_is_known(project, annotator):
    shown = ask(annotator)
    declare_known(presentation=shown, place=0, now=NOW)
    ask(annotator)
    return lambda: undo_last(annotator=annotator, now=NOW, token=shown.token)


def answers_where_what_is_held_ahead_may_not_be_shown_any_more(project, annotator):
    shown = ask(annotator)
    ConflictOfInterest.objects.create(annotator=annotator, item=held(annotator).items.first())
    Annotator.objects.filter(pk=annotator.pk).update(has_never_shown=True)
    return lambda: answer(shown)


def ends_their_part(project, annotator):
    answer(ask(annotator))
    Project.objects.filter(pk=project.pk).update(closes_at=NOW)
    return lambda: finish(annotator=annotator, now=NOW)


ANSWERING = [
    answers_while_its_lease_runs_out,
    sends_an_answer_alone_while_its_lease_runs_out,
    answers_where_what_is_held_ahead_may_not_be_shown_any_more,
]


@pytest.mark.parametrize("act", [*ANSWERING, undoes_an_answer, undoes_that_an_item_is_known, ends_their_part])
def test_who_counts_more_sets_than_one_waits_for_all(several, project, act):
    """Two who counted two sets each would wait for each other's items, and PostgreSQL would refuse one of them."""
    Project.objects.filter(pk=project.pk).update(known_button=True)
    one, two = make_annotator(project, "One"), make_annotator(project, "Two")
    do = act(project, one)
    n_labels = Label.objects.count()
    step = Held(lock_annotator, two)
    assert step.has.wait(PATIENCE)
    counting = Held(do)
    assert waits(counting)
    step.end()
    assert counting.has.wait(PATIENCE)
    counting.end()
    assert Label.objects.count() == n_labels + (act in ANSWERING)
    assert Label.objects.exclude(voided_at=None).count() == (act is undoes_an_answer)
    counts_are_true(project)


def test_a_step_of_somebody_erased_is_refused(project):
    gone = make_annotator(project, "Gone")
    type(gone).objects.filter(pk=gone.pk).delete()
    with pytest.raises(AnnotatorErased), transaction.atomic():
        lock_annotator(gone)


def test_the_first_labels_of_many_annotators_raise_one_number(several, project):
    """The row that tells the engine does not exist yet: each of them would make it."""
    together = threading.Barrier(6)

    def one(_number: int) -> None:
        try:
            with transaction.atomic():
                together.wait(PATIENCE)
                request_fit(project)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(6)))
    assert FitState.objects.get(project=project).wanted == 6


def test_nobody_is_told_of_while_being_erased(project, alice, several):
    """What was told before is deleted with the person, and what comes after has nothing of them to tell."""
    annotator = make_annotator(project, "Quiet Otter")
    add_webhook(
        project=project, actor=alice, url="https://example.org/", events=[Webhook.Event.ANSWER_GIVEN.value], now=NOW
    )
    project.refresh_from_db()
    answer_one(annotator)
    assert AnswerNotice.objects.exists()
    erasing = Held(lambda: erase_annotator(annotator=annotator, by="owner", now=timezone.now()))
    assert erasing.has.wait(PATIENCE)
    telling = Held(enqueue_answer_events, timezone.now() + BATCH_DELAY)
    assert waits(telling)
    erasing.end()
    telling.end()
    assert not WebhookDelivery.objects.exists()


def test_nobody_is_told_of_as_flagged_who_is_erased_meanwhile(project, alice, several):
    """Who is flagged takes seconds to find, at whose end the person may be gone."""
    hasty = make_annotator(project, "Hasty Otter")
    make_labels(project, [hasty], 20, response_ms=300)
    add_webhook(
        project=project, actor=alice, url="https://example.org/", events=[Webhook.Event.FLAG_RAISED.value], now=NOW
    )
    erasing = Held(lambda: erase_annotator(annotator=hasty, by="owner", now=timezone.now()))
    assert erasing.has.wait(PATIENCE)
    telling = Held(lambda: notify_new_flags(project=project, since=None, now=NOW))
    assert waits(telling)
    erasing.end()
    assert telling.has.wait(PATIENCE)
    telling.end()
    assert not WebhookDelivery.objects.exists()


@pytest.mark.slow
def test_a_fit_is_published_while_its_webhook_is_removed(project, alice, several):
    """A message to a webhook that is gone by then would take the fit along."""
    answer_one(make_annotator(project, "Quiet Otter"))
    webhook = add_webhook(
        project=project, actor=alice, url="https://example.org/", events=[Webhook.Event.FIT_PUBLISHED.value], now=NOW
    )
    removing = Held(lambda: remove_webhook(webhook=webhook, actor=alice, now=NOW))
    assert removing.has.wait(PATIENCE)

    def fit() -> int:
        try:
            return create_worker("test").run(poll=0.1, once=True)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        fitting = pool.submit(fit)
        assert comes_to_wait(lambda: bool(futures.wait([fitting], 0.05).done))
        removing.end()
        assert fitting.result(PATIENCE) == 1
    assert Fit.objects.filter(project_id=project.pk, published=True).exists()
    assert FitState.objects.get(project=project).error == ""
