"""Finds the project and the criterion that a dashboard address names."""

from uuid import UUID

from django.http import Http404, HttpRequest

from annotate import access
from annotate.criteria import criterion_from_query
from annotate.models import Project


def project_for_criterion(
    request: HttpRequest, project_id: UUID, roles: frozenset[access.Role] = access.SEE, *, in_archive: bool = False
) -> Project:
    """Find the project like access.project_for; raises 404 also where `?criterion=` names no criterion."""
    project = access.project_for(request, project_id, roles, in_archive=in_archive)
    found = criterion_from_query(project, request.GET.get("criterion"))
    if found is None:
        raise Http404
    return found
