"""Asking for a run record; an engine process makes it (annotate.recording)."""

from datetime import datetime

from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.errors import Refusal
from annotate.locking import alone
from annotate.models import EngineState, Project, RunRecord, User
from annotate.writing import writing


class NothingToRecord(Refusal):
    def __init__(self) -> None:
        super().__init__(_("There is no fit to make a run record of yet. Ask again once the ranking shows one."))


def ask_for_record(*, project: Project, actor: User, now: datetime) -> bool:
    """By the criterion that the project is looked at by. False where one is being made already.

    Raises NothingToRecord.
    """
    with writing():
        alone(project.pk)
        if not EngineState.objects.filter(project=project, published_fit__isnull=False).exists():
            raise NothingToRecord
        unfinished = [RunRecord.Status.ASKED, RunRecord.Status.RUNNING]
        if RunRecord.objects.filter(project=project, status__in=unfinished).exists():
            return False
        RunRecord.objects.create(project=project, criterion=project.criterion, asked_by=actor, asked_at=now)
        note(project, actor, "run record asked for", now)
    return True
