"""Claims, leases and retries: who may fit which project when; also by real processes at once."""

import json
import subprocess
import sys
from collections import defaultdict
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from annotate.fitting import scheduling
from annotate.fitting.scheduling import claim_next
from annotate.imports import queue as imports_queue
from annotate.models import FitState, ImportJob, Project, WorkerProcess
from annotate.models.leased_jobs import LeaseLost
from models_engine.models import Fit
from tests.conftest import NOW
from tests.load.database import ALIAS, environment, own_database
from tests.paths import ROOT

LEASE = timedelta(seconds=30)
SECOND = timedelta(seconds=1)


def owing(name: str, wanted: int = 1, **values) -> FitState:
    return FitState.objects.create(project=Project.objects.create(name=name), wanted=wanted, **values)


@pytest.fixture
def state(db) -> FitState:
    return owing("One", wanted=3)


def test_nothing_is_due_when_every_label_has_been_fitted(db):
    owing("Done", wanted=4, fitted=4)
    assert claim_next(owner="a", now=NOW) is None


def test_a_claim_names_the_version_it_has_to_see(state):
    claim = claim_next(owner="a", now=NOW)
    assert (claim.project_id, claim.owner, claim.version, claim.attempt) == (state.pk, "a", 3, 1)
    state.refresh_from_db()
    assert state.owner == "a"
    assert state.lease_until == NOW + LEASE


def test_a_claimed_project_is_nobody_elses(state):
    claim_next(owner="a", now=NOW)
    assert claim_next(owner="b", now=NOW + LEASE) is None


def test_a_renewed_lease_holds_longer(state):
    claim = claim_next(owner="a", now=NOW)
    assert scheduling.renew(claim, now=NOW + 20 * SECOND, step=3, steps=40)
    assert claim_next(owner="b", now=NOW + 45 * SECOND) is None
    state.refresh_from_db()
    assert (state.step, state.steps) == (3, 40)


def test_a_lapsed_lease_is_taken_over_and_the_dead_fit_marked(state):
    first = claim_next(owner="host:1#aa", now=NOW)
    running = Fit.objects.create(project_id=state.pk, number=1, estimator="x", data_version=3, started_at=NOW)
    later = NOW + LEASE + SECOND
    second = claim_next(owner="host:2#bb", now=later)
    assert second.attempt == 2
    state.refresh_from_db()
    running.refresh_from_db()
    assert running.status == Fit.Status.FAILED
    assert "host:1" in running.message
    assert state.error == running.message
    assert not scheduling.renew(first, now=later), "the first owner must learn that it lost the project"


def test_a_project_that_kills_its_engines_waits_longer_each_time(state):
    """Should the second attempt be killed as well, a lapsed lease alone does not bring the third."""
    now, waits = NOW, []
    for attempt in range(1, 6):
        claim = claim_next(owner=f"dies {attempt}", now=now)
        assert claim.attempt == attempt
        FitState.objects.update(lease_until=None)  # as a supervisor's new process would, at once
        start = now
        while not scheduling.claimable_projects(now).exists():
            now += SECOND
        waits.append((now - start) / SECOND)
    assert waits == [0, 4, 8, 16, 32]


def test_settling_pays_for_what_was_seen_and_no_more(state):
    claim = claim_next(owner="a", now=NOW)
    FitState.objects.update(wanted=F("wanted") + 2)  # two labels come while it fits
    scheduling.complete(claim, number=7, seconds=0, now=NOW + SECOND)
    state.refresh_from_db()
    assert (state.wanted, state.fitted, state.published_fit, state.owner, state.attempts) == (5, 3, 7, "", 0)
    assert claim_next(owner="a", now=NOW + 2 * SECOND).version == 5


def test_who_lost_the_project_cannot_settle(state):
    claim = claim_next(owner="a", now=NOW)
    claim_next(owner="b", now=NOW + LEASE + SECOND)
    with pytest.raises(LeaseLost):
        scheduling.complete(claim, number=7, seconds=0, now=NOW + LEASE + 2 * SECOND)
    state.refresh_from_db()
    assert (state.fitted, state.owner) == (0, "b")


def test_who_lost_the_project_cannot_record_a_failure(state):
    claim = claim_next(owner="a", now=NOW)
    claim_next(owner="b", now=NOW + LEASE + SECOND)
    assert not scheduling.record_failure(claim, message="too late", now=NOW + LEASE + 2 * SECOND)
    state.refresh_from_db()
    assert state.owner == "b"
    assert state.error != "too late"


def test_failures_wait_2_4_8_seconds_up_to_five_minutes(state):
    now, pauses = NOW, []
    for attempt in range(1, 11):
        claim = claim_next(owner="a", now=now)
        assert claim.attempt == attempt
        assert scheduling.record_failure(claim, message=f"failure {attempt}", now=now)
        state.refresh_from_db()
        assert state.error == f"failure {attempt}"
        pauses.append((state.not_before - now) / SECOND)
        assert claim_next(owner="b", now=state.not_before - SECOND / 2) is None
        now = state.not_before
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_success_forgets_earlier_failures(state):
    scheduling.record_failure(claim_next(owner="a", now=NOW), message="once", now=NOW)
    claim = claim_next(owner="a", now=NOW + 2 * SECOND)
    scheduling.complete(claim, number=1, seconds=0, now=NOW + 3 * SECOND)
    state.refresh_from_db()
    assert (state.attempts, state.error) == (0, "")
    FitState.objects.update(wanted=F("wanted") + 1)
    assert claim_next(owner="a", now=NOW + 4 * SECOND).attempt == 1


@pytest.mark.parametrize(("seconds", "rest"), [(1, 0.5), (4, 2), (100, 10)])
def test_a_long_fit_rests_half_its_time_up_to_ten_seconds(state, seconds, rest):
    scheduling.complete(claim_next(owner="a", now=NOW), number=1, seconds=seconds, now=NOW)
    FitState.objects.update(wanted=F("wanted") + 1)
    assert claim_next(owner="a", now=NOW + (rest - 0.01) * SECOND) is None
    assert claim_next(owner="a", now=NOW + rest * SECOND).version == state.wanted + 1


def test_a_failing_project_does_not_hold_up_the_others(state):
    both = {state.pk, owing("Other").pk}
    failing = claim_next(owner="a", now=NOW)
    scheduling.record_failure(failing, message="bad", now=NOW)
    assert {claim_next(owner="a", now=NOW).project_id} == both - {failing.project_id}


def test_giving_back_is_no_failure(state):
    scheduling.release(claim_next(owner="a", now=NOW))
    state.refresh_from_db()
    assert (state.owner, state.attempts) == ("", 0)
    assert claim_next(owner="b", now=NOW).attempt == 1


def test_the_longest_unfitted_project_comes_first(db):
    """A project that always owes a fit must not starve the others (ordering by id did)."""
    states = [owing(f"Project {i}") for i in range(4)]
    served, now = [], NOW
    for _ in range(12):
        claim = claim_next(owner="a", now=now)
        served.append(claim.project_id)
        now += SECOND
        scheduling.complete(claim, number=len(served), seconds=0, now=now)
        FitState.objects.update(wanted=F("wanted") + 1)
    assert {served.count(state.pk) for state in states} == {3}
    assert served[:4] == served[4:8] == served[8:]


def test_a_burst_is_one_refit(state):
    scheduling.complete(claim_next(owner="a", now=NOW), number=1, seconds=0, now=NOW)
    FitState.objects.update(wanted=F("wanted") + 50)
    assert claim_next(owner="a", now=NOW + scheduling.MIN_PAUSE / 2) is None
    assert claim_next(owner="a", now=NOW + scheduling.MIN_PAUSE).version == 53


def test_a_restarted_engine_frees_what_its_former_self_held(state):
    claim_next(owner="host:12#aa", now=NOW)
    assert scheduling.release_former_claims("host:1") == 0
    assert claim_next(owner="host:1#bb", now=NOW + SECOND) is None
    assert scheduling.release_former_claims("host:12") == 1
    assert claim_next(owner="host:12#bb", now=NOW + SECOND).attempt == 2


def test_a_project_deleted_in_mid_fit_is_a_lost_claim(state):
    claim = claim_next(owner="a", now=NOW)
    state.project.delete()
    assert not scheduling.renew(claim, now=NOW)
    with pytest.raises(LeaseLost):
        scheduling.complete(claim, number=1, seconds=0, now=NOW)


def test_engine_processes_are_heard_of_and_forgotten(db):
    scheduling.record_heartbeat("old", started_at=NOW, now=NOW)
    scheduling.record_heartbeat("new", started_at=NOW, now=NOW + 20 * SECOND)
    assert set(scheduling.live_workers(NOW + 40 * SECOND).values_list("name", flat=True)) == {"new"}
    scheduling.record_heartbeat("new", started_at=NOW, now=NOW + timedelta(days=1, seconds=10))
    assert set(WorkerProcess.objects.values_list("name", flat=True)) == {"new"}
    scheduling.remove_worker("new")
    assert not WorkerProcess.objects.exists()


def test_a_claim_asks_its_own_row_alone(project, alice):
    """PostgreSQL does not repeat a subquery after waiting for a lock: with one, two engines would win."""
    FitState.objects.update_or_create(project=project, defaults={"wanted": 1})
    ImportJob.objects.create(project=project, asked_by=alice, asked_at=NOW, state=ImportJob.State.UPLOADED)
    now = NOW + timedelta(days=1)
    with CaptureQueriesContext(connection) as captured:
        assert scheduling.claim_next(owner="one", now=now).project_id == project.pk
        assert imports_queue.QUEUE.claim_next(owner="one", now=now).project_id == project.pk
    updates = [query["sql"] for query in captured if query["sql"].startswith("UPDATE")]
    assert {sql.split('"')[1] for sql in updates} >= {"annotate_enginestate", "annotate_importjob"}
    assert not [sql for sql in updates if "SELECT" in sql]


CLAIMER = """
ENOUGH = 40
import json, os, random, sys, time
import django
django.setup()
from datetime import timedelta
from pathlib import Path
from django.db.models import F
from django.utils import timezone
from annotate.fitting import scheduling
from annotate.models import FitState

owner, meeting, held = sys.argv[1], Path(sys.argv[2]), []
(meeting / owner).touch()
while len(list(meeting.iterdir())) < 3:
    time.sleep(0.01)
while FitState.objects.filter(wanted__lt=ENOUGH).exists():
    claim = scheduling.claim_next(owner=owner, now=timezone.now(), pause=timedelta(0))
    if claim is None:
        time.sleep(0.001)
        continue
    begin = time.monotonic()
    time.sleep(random.random() * 0.01)
    FitState.objects.filter(pk=claim.project_id).update(wanted=F("wanted") + 1)
    held.append((str(claim.project_id), begin, time.monotonic(), claim.version))
    scheduling.complete(claim, number=1, seconds=0, now=timezone.now())
print(json.dumps(held))
"""


@pytest.mark.process
def test_claims_of_several_processes_never_overlap(tmp_path, django_db_blocker):
    """Three processes, two projects that always owe a fit: on SQLite and, in its run, on PostgreSQL."""
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        for name in ("One", "Two"):
            project = Project.objects.using(ALIAS).create(name=name)
            FitState.objects.using(ALIAS).create(project=project, wanted=1)
        env = environment(url, tmp_path) | {"DJANGO_SETTINGS_MODULE": "annotate.settings"}
        meeting = tmp_path / "meeting"  # nobody begins before all are there
        meeting.mkdir()
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", CLAIMER, name, str(meeting)], cwd=ROOT, env=env, stdout=subprocess.PIPE
            )
            for name in "abc"
        ]
        results = {name: process.communicate(timeout=120)[0] for name, process in zip("abc", processes, strict=True)}
    assert not any(process.returncode for process in processes)
    held = defaultdict(list)
    for name, output in results.items():
        for project, begin, end, version in json.loads(output):
            held[project].append((begin, end, version, name))
    assert len(held) == 2
    assert len({row[3] for rows in held.values() for row in rows}) > 1, "one process alone would prove nothing"
    for rows in held.values():
        rows.sort()
        assert len(rows) > 20
        assert all(end <= begin for (_, end, *_), (begin, *_) in pairwise(rows))
        versions = [row[2] for row in rows]
        assert versions == sorted(set(versions)), "a version was fitted twice"
