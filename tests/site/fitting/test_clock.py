"""A clock that jumps: leases survive both ways, and nothing waits for a moment that the clock has yet to reach."""

import logging
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.core.clocks import ClockWatch, pause
from annotate.fitting import scheduling
from annotate.fitting.future_rows import clip_future_rows
from annotate.fitting.scheduling import claim_next
from annotate.management.commands.worker import create_worker
from annotate.models import Evaluation, FitState, Project, WorkerProcess
from tests.conftest import NOW

HOURS = timedelta(hours=2)


@pytest.fixture
def state(db) -> FitState:
    return FitState.objects.create(project=Project.objects.create(name="One"), wanted=3)


@pytest.fixture
def jump(monkeypatch):
    """Moves the wall clock; the monotonic one goes on as before."""
    real_time, real_now = time.time, timezone.now

    def move(by: timedelta) -> None:
        monkeypatch.setattr(time, "time", lambda: real_time() + by.total_seconds())
        monkeypatch.setattr(timezone, "now", lambda: real_now() + by)

    return move


@pytest.mark.parametrize("by", [HOURS, -HOURS])
def test_a_jump_is_noticed_once(jump, by):
    watch = ClockWatch()
    assert watch.jump() == 0
    jump(by)
    assert watch.jump() == pytest.approx(by.total_seconds(), abs=1)
    assert watch.jump() == 0


@pytest.mark.parametrize("by", [HOURS, -HOURS])
def test_after_a_jump_the_leases_of_the_living_are_not_taken_over(state, jump, by, caplog):
    other, worker = claim_next(owner="other#1", now=timezone.now()), create_worker("test")
    jump(by)
    worker.watch_clock()
    assert "The clock jumped by" in caplog.text
    assert worker.run_fit(pause=timedelta(0)) is None
    assert scheduling.renew(other, now=timezone.now()), "its worker is alive and still holds it"


def test_leases_of_the_dead_are_taken_over_once_the_clock_is_steady_again(state, jump, settings):
    settings.WORKER_LEASE_SECONDS = 0
    claim_next(owner="dead#1", now=timezone.now())
    worker = create_worker("test")
    jump(HOURS)
    worker.watch_clock()
    worker.run_fit(pause=timedelta(0))
    state.refresh_from_db()
    assert (state.owner, state.fitted) == ("", 3)


def test_a_worker_fits_on_after_the_clock_went_back(state, jump):
    jump(HOURS)
    worker = create_worker("test")
    assert worker.run_fit(pause=timedelta(0)) is True
    FitState.objects.update(wanted=4)
    jump(timedelta(0))
    worker.watch_clock()
    assert worker.run_fit(pause=timedelta(0)) is True


def test_what_lies_too_far_in_the_future_is_clipped_and_said(state, caplog):
    later = NOW + HOURS
    FitState.objects.update(last_fit_at=later, not_before=later, owner="dead#1", lease_until=later)
    Evaluation.objects.create(project=state.project, not_before=NOW + timedelta(days=3))
    WorkerProcess.objects.create(name="dead", started_at=NOW, seen_at=later)
    assert clip_future_rows(NOW) == 5
    assert "5 moments lay too far in the future" in caplog.text
    assert clip_future_rows(NOW) == 0
    state.refresh_from_db()
    assert (state.last_fit_at, state.not_before) == (NOW, NOW)
    assert state.lease_until == NOW + timedelta(seconds=30)
    assert claim_next(owner="a", now=NOW + timedelta(seconds=31))


def test_ordinary_pauses_and_leases_stay(state, caplog):
    caplog.set_level(logging.WARNING)
    claim = claim_next(owner="a", now=NOW)
    for _ in range(3):
        scheduling.record_failure(claim, message="bad", now=NOW)
        claim = claim_next(owner="a", now=NOW + timedelta(minutes=5))
    before = FitState.objects.values().get()
    assert clip_future_rows(NOW + timedelta(minutes=5)) == 0
    assert FitState.objects.values().get() == before


def test_a_pause_survives_a_refused_sleep(monkeypatch):
    def refused(_seconds):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(time, "sleep", refused)
    started = time.monotonic()
    pause(0.05)
    assert time.monotonic() - started >= 0.05


def test_a_suspended_machine_is_a_clock_that_went_forward(state, monkeypatch, caplog):
    """While it sleeps the monotonic clock stands still, as on Linux: the wall clock is ahead by the pause."""
    other, worker, real = claim_next(owner="other#1", now=timezone.now()), create_worker("test"), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() - HOURS.total_seconds())
    worker.watch_clock()
    assert "The clock jumped by +7200 s" in caplog.text
    assert worker.run_fit(pause=timedelta(0)) is None
    assert scheduling.renew(other, now=timezone.now() + HOURS), "its worker slept as well"


@pytest.mark.parametrize("seconds", [1, -1])
def test_a_leap_second_disturbs_nobody(state, jump, seconds, caplog):
    worker = create_worker("test")
    jump(timedelta(seconds=seconds))
    worker.watch_clock()
    assert "jumped" not in caplog.text
    assert worker.run_fit(pause=timedelta(0)) is True
