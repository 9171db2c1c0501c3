"""Projects as wholes: the log of changes, putting one away and bringing it back, making one like another."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.idempotency import HEADER, idempotent
from annotate.models import Membership, Project
from annotate.projects.api import ProjectDetail, project_detail
from annotate.projects.copies.archiving import archive_project, unarchive_project
from annotate.projects.copies.cloning import RNG, clone_project

LONGEST_NAME = Project._meta.get_field("name").max_length


class ArchiveRequest(StrictSerializer):
    archived = serializers.BooleanField()


class Archive(ApiView):
    @extend_schema(operation_id="projects_archive", request=ArchiveRequest, responses=ProjectDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Archives the project, closed and read-only, or restores it."""
        project = access.project_for(request, project_id, access.MANAGE, in_archive=True)
        validated_query(request, NoQuery)
        act = archive_project if validated_body(request, ArchiveRequest)["archived"] else unarchive_project
        act(project=project, actor=request.user, now=timezone.now())
        return Response(
            project_detail(request, access.project_for(request, project_id, access.MANAGE, in_archive=True))
        )


class CloneRequest(StrictSerializer):
    name = serializers.CharField(max_length=LONGEST_NAME)
    with_items = serializers.BooleanField(required=False, default=True)


class Clone(ApiView):
    @extend_schema(
        operation_id="projects_clone", parameters=[HEADER], request=CloneRequest, responses={201: ProjectDetail}
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Duplicates the project as a draft of yours with the same settings and, if wanted, its items."""
        project = access.project_for(request, project_id, access.MANAGE, in_archive=True)
        validated_query(request, NoQuery)
        if request.auth is not None and request.auth.project_id:
            raise PermissionDenied
        made = clone_project(
            source=project, actor=request.user, now=timezone.now(), rng=RNG, **validated_body(request, CloneRequest)
        )
        made.role = Membership.Role.OWNER
        return Response(project_detail(request, made), status=201)
