"""An evaluation is made within minutes on a site that is never idle: it goes before fits where it has long been due."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from annotate.fitting import evaluation_queue, scheduling
from annotate.fitting import run as fitting_run
from annotate.fitting.job_runner import Task
from annotate.jobs import idle
from annotate.management.commands.worker import create_worker
from annotate.models import Evaluation, FitState, Label, Project
from models_engine.models import Fit
from tests.conftest import make_annotator, make_items
from tests.site.factories import forecast_made, make_labels, spread_fit


@pytest.fixture
def fitted(project) -> Project:
    """A project with a fit of 60 labels, of which nothing has been evaluated."""
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry")
    give_labels(project, 60)
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    fitting_run.run(claim, progress=lambda *_: True)
    return project


def give_labels(project: Project, n: int) -> None:
    rng = np.random.default_rng(1)
    labels = make_labels(project, [make_annotator(project, f"Otter {i}") for i in range(5)], n)
    for label in labels:
        label.chosen_id = sorted(one.item_id for one in label.presentation.presented.all())[int(rng.random() < 0.2)]
    Label.objects.bulk_update(labels, ["chosen_id"])
    FitState.objects.update_or_create(project=project, defaults={"wanted": 1})
    forecast_made(project)


def wait_for_fits(n: int) -> None:
    """Other projects, of which each waits for a fit."""
    for i in range(n):
        other = Project.objects.create(name=f"Busy {i}", question="Which?", estimator="BradleyTerry", overlap=100)
        make_items(other, 4)
        give_labels(other, 12)


def n_waiting() -> int:
    return scheduling.claimable_projects(timezone.now(), timedelta(0)).count()


def test_it_is_due_from_when_the_labels_have_outgrown_it(fitted):
    now = timezone.now()
    evaluation_queue.record_due(now)
    evaluation_queue.record_due(now + timedelta(minutes=3))
    row = Evaluation.objects.get()
    assert row.due_since == now, "a newer fit or look does not begin the wait anew"
    Evaluation.objects.update(n_labels=60, estimator="BradleyTerry")
    evaluation_queue.record_due(now + timedelta(minutes=4))
    assert Evaluation.objects.get().due_since is None


def test_an_archived_project_is_never_due(fitted):
    Project.objects.update(state="closed", archived_at=timezone.now())
    evaluation_queue.record_due(timezone.now())
    assert not Evaluation.objects.exists()


@pytest.mark.parametrize(("minutes", "goes_first"), [(9, False), (11, True)])
def test_it_goes_before_the_fits_of_others_after_ten_minutes(fitted, minutes, goes_first):
    now = timezone.now()
    Evaluation.objects.create(project=fitted, due_since=now - timedelta(minutes=minutes))
    claimed = evaluation_queue.QUEUE.claim_overdue(owner="test", now=now)
    assert (claimed is not None) is goes_first


def test_how_long_it_waits_is_a_setting(fitted, settings):
    now = timezone.now()
    Evaluation.objects.create(project=fitted, due_since=now - timedelta(minutes=11))
    settings.WORKER_EVALUATION_MINUTES = 30
    assert evaluation_queue.QUEUE.claim_overdue(owner="test", now=now) is None
    settings.WORKER_EVALUATION_MINUTES = 5
    assert evaluation_queue.QUEUE.claim_overdue(owner="test", now=now) is not None


def test_once_overdue_it_no_longer_yields_however_long_it_takes(fitted):
    wait_for_fits(1)
    Fit.objects.filter(project_id=fitted.pk).update(n_labels=idle.MAX_SHORT_LABELS + 1)
    worker = create_worker("test")
    queue = worker.jobs.queues.index(evaluation_queue.QUEUE)
    row = evaluation_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    for due_since, goes_on in ((None, False), (timezone.now() - timedelta(minutes=11), True)):
        row.due_since = due_since
        worker.runner.task, worker.runner._renewed_at = Task(queue=queue, row=row), -10.0
        assert worker.runner.report_job(1, 2, 0.0) is goes_on


def test_two_workers_never_make_the_same_overdue_one(fitted):
    Evaluation.objects.create(project=fitted, due_since=timezone.now() - timedelta(minutes=11))
    now = timezone.now()
    assert evaluation_queue.QUEUE.claim_overdue(owner="one", now=now)
    assert evaluation_queue.QUEUE.claim_overdue(owner="other", now=now) is None


@pytest.mark.embedded
@pytest.mark.parametrize(("minutes", "is_made"), [(9, False), pytest.param(11, True, marks=pytest.mark.slow)])
def test_a_worker_that_never_runs_out_of_fits_evaluates_all_the_same(fitted, minutes, is_made):
    wait_for_fits(4)
    Evaluation.objects.create(project=fitted, due_since=timezone.now() - timedelta(minutes=minutes))
    worker = create_worker("test")

    class Stopping:
        """Stops the worker when it has done two fits, so that others still wait."""

        def is_set(self) -> bool:
            return Fit.objects.exclude(project_id=fitted.pk).count() >= 2

        def wait(self, seconds: float) -> None:
            raise AssertionError("the worker had nothing to do")

    worker.stopping = Stopping()
    worker._work_until_stopped(poll=0.0, once=False)
    assert n_waiting() == 2
    row = Evaluation.objects.get()
    assert (row.made_at is not None, row.due_since is None) == (is_made, is_made)
    assert create_worker("test").run_overdue_job() is False, "once, or not yet"


def test_a_moment_in_the_future_is_counted_from_now(fitted):
    later = timezone.now() + timedelta(days=2)
    Evaluation.objects.create(project=fitted, due_since=later)
    create_worker("test").watch_clock()
    assert Evaluation.objects.get().due_since < later


def test_a_project_with_a_ranking_too_small_to_evaluate_is_never_due(project):
    spread_fit(project, list(project.items.all()), n_labels=49)
    evaluation_queue.record_due(timezone.now())
    assert not Evaluation.objects.exists()
