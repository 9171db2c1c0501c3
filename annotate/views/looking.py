"""A project for its dashboard, by the criterion that the address names."""

from uuid import UUID

from django.http import Http404, HttpRequest

from annotate import access
from annotate.criteria import chosen
from annotate.models import Project


def looked_at(
    request: HttpRequest, project_id: UUID, roles: frozenset[access.Role] = access.SEE, *, in_archive: bool = False
) -> Project:
    """As access.project_for; 404 too where `?criterion=` names none."""
    project = access.project_for(request, project_id, roles, in_archive=in_archive)
    found = chosen(project, request.GET.get("criterion"))
    if found is None:
        raise Http404
    return found
