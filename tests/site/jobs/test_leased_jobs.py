"""Leases on rows of jobs: one worker at a time, lost when they run out, ended by a result, a release or a retry."""

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from annotate.models import (
    CohortComparison,
    Evaluation,
    ImportJob,
    LabelForecast,
    MeasuredSaving,
    PredictionGain,
    ProvisionalRanking,
    RunRecord,
    TasteMap,
)
from annotate.models.leased_jobs import LeaseLost, lease_duration

NOW = timezone.now()
KINDS = [
    *(Evaluation, TasteMap, LabelForecast, MeasuredSaving, PredictionGain, ProvisionalRanking),
    *(RunRecord, CohortComparison, ImportJob),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def job(request, project):
    values = (
        {}
        if request.param in (Evaluation, TasteMap, LabelForecast, MeasuredSaving, PredictionGain, ProvisionalRanking)
        else {"asked_at": NOW}
    )
    values |= {"folder": "x", "digest": "x"} if request.param is ImportJob else {}
    values |= {"fit_number": 1, "version": 1} if request.param is ProvisionalRanking else {}
    return request.param.objects.create(project=project, **values)


def claimed(job, owner, now=NOW):
    own = type(job).objects.get(pk=job.pk)
    running = {"status": "running"} if hasattr(own, "status") else {}
    return own if own.claim(own.is_free(now), owner=owner, now=now, **running) else None


def test_one_worker_holds_a_row_until_its_lease_ends(job):
    one = claimed(job, "one")
    assert one.owner == "one"
    assert one.lease_until == NOW + lease_duration()
    assert claimed(job, "other") is None
    assert claimed(job, "other", NOW + lease_duration()) is None
    assert claimed(job, "other", NOW + lease_duration() + timedelta(seconds=1))
    assert not one.held().exists()


def test_a_claim_needs_its_condition_still(job):
    assert job.claim(job.is_free(NOW) & Q(owner="somebody"), owner="one", now=NOW) is False
    assert job.owner == ""


def test_a_renewed_lease_lasts_longer(job):
    one, later = claimed(job, "one"), NOW + lease_duration()
    assert one.renew(now=later)
    assert claimed(job, "other", later + timedelta(seconds=1)) is None


def test_a_lost_lease_changes_nothing(job):
    late = claimed(job, "late")
    other = claimed(job, "other", NOW + timedelta(hours=1))
    assert (late.renew(now=NOW), late.release()) == (False, False)
    with pytest.raises(LeaseLost):
        late.complete(message="mine")
    other.refresh_from_db()
    assert (other.owner, other.message) == ("other", "")


def test_a_completed_row_is_free_with_its_result(job):
    claimed(job, "one").complete(message="the result")
    job.refresh_from_db()
    assert (job.owner, job.lease_until, job.message) == ("", None, "the result")


@pytest.mark.parametrize("kind", [Evaluation, TasteMap, MeasuredSaving, PredictionGain])
def test_a_row_to_be_retried_is_free_from_then_on(project, kind):
    one = claimed(kind.objects.create(project=project), "one")
    assert one.retry(at=NOW + timedelta(minutes=1), message="no")
    one.refresh_from_db()
    assert (one.owner, one.message, one.not_before) == ("", "no", NOW + timedelta(minutes=1))
