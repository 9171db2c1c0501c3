"""Asking for two cohorts to be compared; an engine process does it (annotate.cohort_runs)."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.cohorts import divisions
from annotate.errors import Refusal
from annotate.locking import alone
from annotate.models import CohortComparison, Project, User
from annotate.queries.cohorts import comparisons
from annotate.queries.project import published_fit
from annotate.writing import writing

MOST_KEPT = 20
Status = CohortComparison.Status


class NothingToCompareYet(Refusal):
    def __init__(self) -> None:
        super().__init__(_("There is no fit yet. Compare cohorts once the ranking shows one."))


class NoSuchCohorts(Refusal):
    def __init__(self) -> None:
        super().__init__(_("These are not two different cohorts of this project. Choose two of the lists."))


def ask_for_comparison(
    *, project: Project, actor: User, by: str, first: str, second: str, now: datetime
) -> CohortComparison:
    """By the criterion that the project is looked at by; asked for anew if it was made before. Of each criterion
    MOST_KEPT are kept, and the oldest ones forgotten.

    second: "" for everybody else. Raises NothingToCompareYet and NoSuchCohorts.
    """
    division = next((one for one in divisions(project) if one.key == by), None)
    values = {one.key for one in division.values} if division else set()
    if first not in values or second not in values | {""} or first == second:
        raise NoSuchCohorts
    with writing():
        alone(project.pk)
        if published_fit(project) is None:
            raise NothingToCompareYet
        cohorts = {"by": by, "first": first, "second": second}
        row, is_new = CohortComparison.objects.get_or_create(
            project=project, criterion=project.criterion, **cohorts, defaults={"asked_by": actor, "asked_at": now}
        )
        if not is_new and row.status in (Status.READY, Status.FAILED):
            asked = {"status": Status.ASKED, "asked_by": actor, "asked_at": now, "attempts": 0, "message": ""}
            CohortComparison.objects.filter(pk=row.pk).update(**asked)
        old = comparisons(project).values_list("pk", flat=True)[MOST_KEPT:]
        CohortComparison.objects.filter(pk__in=list(old)).delete()
        criterion: dict[str, Any] = {"criterion": project.criterion} if project.criteria else {}
        note(project, actor, "cohorts compared", now, by=by, **criterion)
    return row
