"""Requests a run record; an engine process makes it (annotate.publishing.run_records.job)."""

from datetime import datetime

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion
from annotate.locks import lock_project
from annotate.models import EventVerb, FitState, RunRecord, User


class NothingToRecord(UserError):
    def __init__(self) -> None:
        super().__init__(_("There is no ranking yet, so there is nothing to record. Try again once there is one."))


def request_record(*, criterion: Criterion, actor: User, now: datetime) -> bool:
    """Request a run record by one criterion. False where one is being made already.

    Raises NothingToRecord.
    """
    project = criterion.project
    with write_transaction():
        lock_project(project.pk)
        if not FitState.objects.filter(project=project, published_fit__isnull=False).exists():
            raise NothingToRecord
        unfinished = [RunRecord.Status.ASKED, RunRecord.Status.RUNNING]
        if RunRecord.objects.filter(project=project, status__in=unfinished).exists():
            return False
        RunRecord.objects.create(project=project, criterion=criterion.number, asked_by=actor, asked_at=now)
        record_event(project, actor, EventVerb.RUN_RECORD_ASKED_FOR, now)
    return True
