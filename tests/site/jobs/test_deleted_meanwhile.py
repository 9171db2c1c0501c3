"""Projects and people deleted while a worker looks for work, claims it or does it: it goes on with the rest."""

import logging
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from annotate.fitting import evaluation_queue, forecast_queue, scheduling
from annotate.fitting.job_runner import JobRunner, Task
from annotate.imports import queue as imports_queue
from annotate.jobs.idle import IdleJobs, has_many_labels
from annotate.jobs.sending import repeat_until
from annotate.management.commands.worker import create_jobs
from annotate.models import AnnotatorTaste, Evaluation, FitState, ImportJob, LabelForecast, Project, WorkerProcess
from annotate.projects.actions import delete_project
from tests.conftest import NOW
from tests.site.factories import spread_fit
from tests.site.labelling.test_released_meanwhile import Once

AT_COMMIT = pytest.mark.django_db(transaction=True)  # when foreign keys are looked at


def meanwhile(start: str, words: str, project: Project):
    """Has the project deleted after the first statement that begins so and has these words."""
    return connection.execute_wrapper(Once(start, words, lambda: delete_project(project=project)))


def test_a_project_deleted_as_its_fit_is_claimed_leaves_the_next_one(project):
    FitState.objects.create(project=project, wanted=1)
    other = Project.objects.create(name="Other", question="Which?")
    FitState.objects.create(project=other, wanted=1, last_fit_at=NOW - timedelta(days=1))
    with meanwhile("UPDATE", "annotate_enginestate", project):
        claim = scheduling.claim_next(owner="a", now=NOW)
    assert claim.project_id == other.pk
    assert not Project.objects.filter(pk=project.pk).exists()


def test_a_project_deleted_as_its_import_is_claimed_leaves_none(project):
    ImportJob.objects.create(project=project, asked_at=NOW, kind="items", source="a.csv", digest="0", folder="")
    with meanwhile("UPDATE", "annotate_importjob", project):
        assert imports_queue.claim_next(owner="a", now=NOW) is None
    assert not ImportJob.objects.exists()


@pytest.fixture
def ranked(project) -> Project:
    """A project that an evaluation and a forecast are due for."""
    spread_fit(project, list(project.items.all()), n_labels=60)
    FitState.objects.update_or_create(project=project, defaults={"last_fit_at": timezone.now()})
    return project


@AT_COMMIT
def test_an_evaluation_is_not_due_of_a_project_just_deleted(ranked):
    with meanwhile("SELECT", '"models_engine_fit"', ranked):
        evaluation_queue.record_due(timezone.now())
    assert not Project.objects.filter(pk=ranked.pk).exists()
    assert not Evaluation.objects.exists()


@AT_COMMIT
@pytest.mark.parametrize(
    ("queue", "model", "words"),
    [
        (evaluation_queue.QUEUE, Evaluation, 'FROM "annotate_project" WHERE'),
        (forecast_queue.QUEUE, LabelForecast, '"annotate_enginestate"'),
    ],
)
def test_no_job_is_claimed_for_a_project_just_deleted(ranked, queue, model, words):
    with meanwhile("SELECT", words, ranked):
        assert queue.claim_next(owner="a", now=timezone.now()) is None
    assert not Project.objects.filter(pk=ranked.pk).exists()
    assert not model.objects.exists()


@AT_COMMIT
def test_a_worker_at_a_job_of_a_deleted_project_is_heard_of(project):
    deleted = project.pk
    delete_project(project=project)
    for number in range(2):
        scheduling.record_heartbeat("w", started_at=NOW, now=NOW + timedelta(seconds=number), project_id=deleted)
    found = WorkerProcess.objects.get()
    assert (found.seen_at, found.project_id) == (NOW + timedelta(seconds=1), None)


def write_for_nobody(row: Evaluation, progress) -> None:
    """What a job does that writes about an annotator who was erased while it ran."""
    AnnotatorTaste.objects.create(annotator_id=10**9, criterion=1, fit_number=1, n_labels=1, scores=[], score_sds=[])


@AT_COMMIT
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_job_that_writes_about_what_was_erased_fails_by_itself(ranked, caplog, is_gone):
    """The database has answered: the job waits for its next try, and the log does not say that it had not."""
    queue = IdleJobs(Evaluation, evaluation_queue.outdated_fits, f"{__name__}.write_for_nobody", has_many_labels)
    row, now = queue.claim_next(owner="a", now=timezone.now()), timezone.now()
    if is_gone:
        delete_project(project=ranked)
    runner = JobRunner(type(create_jobs())(queue, (), (), ""), lambda: False)
    with caplog.at_level(logging.INFO):
        runner.run(Task(queue=0, row=row))
    assert "did not answer" not in caplog.text
    assert ("was deleted" in caplog.text) is is_gone
    assert ("failed" in caplog.text) is not is_gone
    if not is_gone:
        row.refresh_from_db()
        assert row.owner == ""
        assert row.not_before > now
        assert "IntegrityError" in row.message


def test_what_was_not_foreseen_ends_no_sender(caplog):
    """Else nothing more would be sent until somebody starts the worker again."""
    stopping, calls = threading.Event(), []

    def step() -> bool:
        calls.append(1)
        if len(calls) == 1:
            raise FitState.DoesNotExist
        stopping.set()
        return False

    sender = threading.Thread(target=repeat_until, args=[stopping, step, 0.0])
    sender.start()
    sender.join(10)
    assert len(calls) == 2
    assert "not foreseen" in caplog.text
