"""Requests for a new fit: raises the data version of a project, which workers compare with the fitted one."""

from django.db.models import F

from annotate.core.statements import Given, UpdateStatement
from annotate.models import FitState, Project


def request_fit(project: Project) -> None:
    """Raise the project's data version; call in the transaction that changes its labels or features."""
    if not raise_version(project=project.pk):
        FitState.objects.bulk_create([FitState(project=project)], ignore_conflicts=True)  # another may be first
        raise_version(project=project.pk)


raise_version = UpdateStatement(
    lambda: FitState.objects.filter(project=Given("project", FitState)), wanted=F("wanted") + 1
)


def data_version(project: Project) -> int:
    """Return the version: a fit of it or of a later one has seen every change so far."""
    return FitState.objects.values_list("wanted", flat=True).get(project=project)
