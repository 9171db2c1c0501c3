"""Who waits for whom on PostgreSQL: annotators not for each other, the owner for them, they for the owner."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from annotate.core.errors import AnnotatorErased
from annotate.jobs.fit_requests import request_fit
from annotate.locks import lock_annotator, lock_project
from annotate.models import AnswerNotice, FitState, Webhook, WebhookDelivery
from annotate.privacy.erasure.actions import erase_annotator
from annotate.webhooks.actions import add_webhook
from annotate.webhooks.answers import BATCH_DELAY, enqueue_answer_events
from tests.conftest import NOW, answer_one, make_annotator

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
    for _look in range(PATIENCE * 20):
        if one.has.wait(0.05):
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
