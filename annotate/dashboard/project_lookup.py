"""Finds the project and the criterion that a dashboard address names."""

from uuid import UUID

from django.http import Http404, HttpRequest

from annotate import access
from annotate.criteria import Criterion, criterion_from_query


def requested_criterion(
    request: HttpRequest, project_id: UUID, roles: frozenset[access.Role] = access.SEE, *, in_archive: bool = False
) -> Criterion:
    """Return the criterion of the project that `access.project_for` finds; 404 where `?criterion=` names none."""
    project = access.project_for(request, project_id, roles, in_archive=in_archive)
    criterion = criterion_from_query(project, request.GET.get("criterion"))
    if criterion is None:
        raise Http404
    return criterion
