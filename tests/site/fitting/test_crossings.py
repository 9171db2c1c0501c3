"""Fits that cross a limit: growing pauses, then rest until the data change; one criterion does not stop the others."""

from contextlib import suppress
from datetime import timedelta

import pytest

from annotate.fitting import evaluation_queue, scheduling
from annotate.fitting.crossings import record_crossed_fit, record_crossed_job
from annotate.fitting.run import NothingDue
from annotate.fitting.scheduling import MAX_CROSSINGS, claim_next
from annotate.jobs import limits
from annotate.jobs.fit_requests import request_fit
from annotate.jobs.limits import JobLimits, LimitCrossed, job_limits
from annotate.models import Evaluation, Event, FitState, Project
from models_engine.models import Fit
from tests.conftest import NOW
from tests.site.fitting.test_criteria import LATER, answer_all, otter, project  # noqa: F401  (fixtures)
from tests.site.fitting.test_failing_criteria import fit_at, numbers
from tests.site.pages import page, signed_in

MESSAGE = JobLimits(100, 200, 300).memory_message()
DAY = timedelta(days=1)


@pytest.fixture
def single(db) -> Project:
    one = Project.objects.create(name="Single")
    FitState.objects.create(project=one, wanted=3)
    return one


def cross_often(project: Project, now=NOW):  # noqa: F811
    """Crosses a limit until the project is left alone; the pauses in between."""
    pauses = []
    while claim := claim_next(owner="a", now=now):
        record_crossed_fit(claim, message=MESSAGE, now=now)
        state = FitState.objects.get(project=project)
        pauses.append((state.not_before - now).total_seconds())
        now = state.not_before
    return pauses


def test_it_waits_longer_each_time_and_then_rests(single):
    assert cross_often(single) == [2, 4, 8, 16, 32]
    assert claim_next(owner="a", now=NOW + 30 * DAY) is None
    assert FitState.objects.get().given_up == 3


def test_changed_data_bring_one_more_attempt(single):
    cross_often(single)
    request_fit(single)
    claim = claim_next(owner="a", now=NOW + DAY)
    assert claim.version == 4
    record_crossed_fit(claim, message=MESSAGE, now=NOW + DAY)
    assert claim_next(owner="a", now=NOW + 2 * DAY) is None


def test_a_fit_that_succeeds_ends_the_rest(single):
    cross_often(single)
    request_fit(single)
    scheduling.complete(claim_next(owner="a", now=NOW + DAY), number=1, seconds=0, now=NOW + DAY)
    state = FitState.objects.get()
    assert (state.given_up, state.attempts, state.error) == (None, 0, "")


def test_the_log_names_the_first_and_the_last_time(single):
    cross_often(single)
    assert Event.objects.filter(project=single, verb="job stopped").count() == 2


def test_an_ordinary_failure_is_retried_for_ever(single):
    now = NOW
    for _ in range(2 * MAX_CROSSINGS):
        claim = claim_next(owner="a", now=now)
        scheduling.record_failure(claim, message="bad", now=now)
        now = FitState.objects.get().not_before
    assert claim_next(owner="a", now=now)


def test_the_running_fit_is_marked_as_failed(single):
    claim = claim_next(owner="a", now=NOW)
    Fit.objects.create(project_id=single.pk, number=1, estimator="x", data_version=3, started_at=NOW)
    record_crossed_fit(claim, message=MESSAGE, now=NOW)
    fit = Fit.objects.get()
    assert (fit.status, fit.message) == (Fit.Status.FAILED, MESSAGE)


def test_the_pages_say_what_was_crossed_and_what_helps(alice, project):  # noqa: F811
    request_fit(project)
    Project.objects.filter(pk=project.pk).update(criteria=[])
    assert cross_often(project)
    text = page(signed_in(alice), project)
    assert "more than 100 MB of memory, the limit for one job" in text
    assert "fewer items, or another estimator" in text
    assert "tries again when answers, items or the estimator change" in text
    assert "gave up a job of this project. It was stopped because" in page(signed_in(alice), project, "log")


def test_one_criterion_at_its_limit_does_not_stop_the_others(project, otter, monkeypatch):  # noqa: F811
    answer_all(project, otter, 8)
    claim = claim_next(owner="a", now=LATER, pause=timedelta(0))
    Fit.objects.create(
        project_id=project.pk, criterion=1, number=1, estimator="x", data_version=claim.version, started_at=LATER
    )
    record_crossed_fit(claim, message=MESSAGE, now=LATER)
    fit_at(LATER)
    assert numbers(project) == [None, 2]
    state = FitState.objects.get(project=project)
    assert state.failing["1"]["error"] == MESSAGE
    fit_at(state.retry_at)
    assert numbers(project) == [3, 2]
    assert FitState.objects.get(project=project).failing == {}


def test_a_criterion_is_given_up_too(project, otter):  # noqa: F811
    answer_all(project, otter, 8)
    now = LATER
    for _ in range(MAX_CROSSINGS):
        claim = claim_next(owner="a", now=now, pause=timedelta(0))
        Fit.objects.create(
            project_id=project.pk,
            criterion=1,
            number=Fit.objects.count() + 1,
            estimator="x",
            data_version=claim.version,
            started_at=now,
        )
        record_crossed_fit(claim, message=MESSAGE, now=now)
        with suppress(NothingDue):
            fit_at(now)
        now = FitState.objects.get(project=project).retry_at or now
    assert claim_next(owner="a", now=now + 30 * DAY) is None
    assert numbers(project)[0] is None


def test_an_idle_job_waits_longer_each_time_and_then_for_another_fit(single, monkeypatch):
    fit = Fit.objects.create(
        project_id=single.pk,
        number=1,
        estimator="x",
        published=True,
        n_labels=500,
        data_version=3,
        started_at=NOW,
        finished_at=NOW,
    )
    now, pauses = NOW, []
    while row := evaluation_queue.QUEUE.claim_next(owner="a", now=now):
        record_crossed_job(evaluation_queue.QUEUE, row, message=MESSAGE, now=now, killed=False)
        row = Evaluation.objects.get()
        pauses.append((row.not_before - now).total_seconds() / 60)
        now = row.not_before
    assert pauses == [10, 20, 40, 80, 160]
    assert Event.objects.filter(verb="job stopped").count() == 2
    Fit.objects.filter(pk=fit.pk).update(number=2)
    assert evaluation_queue.QUEUE.claim_next(owner="a", now=now)


def test_limits_grow_with_the_project_and_settings_go_before(single, settings, monkeypatch):
    monkeypatch.setattr(limits, "machine_mb", lambda: 10**6)
    small, large = job_limits(single.pk), job_limits(single.pk, n_rows=100_000)
    assert large.memory_mb > small.memory_mb >= 1024
    assert large.seconds > large.cpu_seconds > small.cpu_seconds >= 120
    settings.WORKER_JOB_MEMORY_MB, settings.WORKER_JOB_SECONDS, settings.WORKER_JOB_CPU_SECONDS = 300, 20, 10
    assert job_limits(single.pk, n_rows=100_000) == JobLimits(300, 10, 20)


def test_the_limit_is_never_more_than_the_machine_has(single, monkeypatch):
    monkeypatch.setattr(limits, "machine_mb", lambda: 1000)
    assert job_limits(single.pk).memory_mb == 750


def test_a_memory_error_within_limits_is_named(monkeypatch):
    assert isinstance(limits.named_error(MemoryError()), MemoryError)
    monkeypatch.setattr(JobLimits, "active", JobLimits(100, 1, 1))
    named = limits.named_error(MemoryError())
    assert isinstance(named, LimitCrossed)
    assert str(named) == MESSAGE
