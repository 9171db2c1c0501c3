"""Requests a comparison of two cohorts; an engine process makes it (annotate.annotators.cohorts.job)."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.annotators.cohorts.groupings import groupings
from annotate.annotators.cohorts.queries import comparisons
from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.locks import lock_project
from annotate.models import CohortComparison, EventVerb, User

MAX_COMPARISONS = 20
Status = CohortComparison.Status


class NothingToCompareYet(UserError):
    def __init__(self) -> None:
        super().__init__(_("There is no ranking yet. Compare cohorts once there is one."))


class NoSuchCohorts(UserError):
    def __init__(self) -> None:
        super().__init__(_("Choose two different cohorts of this project from the lists."))


def request_comparison(
    *, criterion: Criterion, actor: User, by: str, first: str, second: str, now: datetime
) -> CohortComparison:
    """Request the comparison by one criterion, again if it was made before; the oldest past MOST_KEPT are forgotten.

    second: "" for everybody else. Raises NothingToCompareYet and NoSuchCohorts.
    """
    project = criterion.project
    division = next((one for one in groupings(criterion) if one.key == by), None)
    values = {one.key for one in division.values} if division else set()
    if first not in values or second not in values | {""} or first == second:
        raise NoSuchCohorts
    with write_transaction():
        lock_project(project.pk)
        if published_fit(criterion) is None:
            raise NothingToCompareYet
        cohorts = {"by": by, "first": first, "second": second}
        row, is_new = CohortComparison.objects.get_or_create(
            project=project, criterion=criterion.number, **cohorts, defaults={"asked_by": actor, "asked_at": now}
        )
        if not is_new and row.status in (Status.READY, Status.FAILED):
            asked = {"status": Status.ASKED, "asked_by": actor, "asked_at": now, "attempts": 0, "message": ""}
            CohortComparison.objects.filter(pk=row.pk).update(**asked)
        old = comparisons(criterion).values_list("pk", flat=True)[MAX_COMPARISONS:]
        CohortComparison.objects.filter(pk__in=list(old)).delete()
        number: dict[str, Any] = {"criterion": criterion.number} if project.criteria else {}
        record_event(project, actor, EventVerb.COHORTS_COMPARED, now, by=by, **number)
    return row
