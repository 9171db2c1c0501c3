"""Projects as wholes: the log of changes, putting one away and bringing it back, making one like another."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from annotate import access
from annotate.actions.archive import archive_project, unarchive_project
from annotate.actions.cloning import clone_project
from annotate.api.base import ApiRequest, NoQuery, PageQuery, Strict, View, asked, page_of, paged, sent
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.projects import ProjectDetail, detail
from annotate.models import Event, Membership, Project
from annotate.queries.log import Wish, events_of
from annotate.views.copying import RNG

LONGEST_NAME = Project._meta.get_field("name").max_length


class LogQuery(PageQuery):
    what = serializers.CharField(required=False, default="", max_length=100, help_text="The event, as it is told.")
    since = serializers.DateField(required=False, help_text="From the beginning of this day on.")


class LogRow(serializers.Serializer):
    at = serializers.DateTimeField()
    who = serializers.EmailField(source="actor.email", allow_null=True, default=None)
    annotator = serializers.CharField(source="annotator.pseudonym", allow_null=True, default=None)
    event = serializers.CharField(source="verb")
    details = serializers.JSONField(help_text="By field, [before, after] of a change.")


class Log(View):
    @extend_schema(operation_id="log_list", parameters=[LogQuery], responses=page_of(LogRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Who changed what and when, the latest first."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = asked(request, LogQuery)
        events = events_of(project, Wish(what=query["what"], since=query.get("since")))
        return paged(request, events, query, represented)


def represented(events: list[Event]) -> list[Any]:
    return list(LogRow(events, many=True).data)


class Archiving(Strict):
    archived = serializers.BooleanField()


class Archive(View):
    @extend_schema(operation_id="projects_archive", request=Archiving, responses=ProjectDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Puts the project away, closed, so that nothing in it changes; or brings it back."""
        project = access.project_for(request, project_id, access.MANAGE, in_archive=True)
        asked(request, NoQuery)
        act = archive_project if sent(request, Archiving)["archived"] else unarchive_project
        act(project=project, actor=request.user, now=timezone.now())
        return Response(detail(request, access.project_for(request, project_id, access.MANAGE, in_archive=True)))


class Cloning(Strict):
    name = serializers.CharField(max_length=LONGEST_NAME)
    with_items = serializers.BooleanField(required=False, default=True)


class Clone(View):
    @extend_schema(operation_id="projects_clone", parameters=[HEADER], request=Cloning, responses={201: ProjectDetail})
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Makes a draft of your own with the same settings and rules, with its items or without."""
        project = access.project_for(request, project_id, access.MANAGE, in_archive=True)
        asked(request, NoQuery)
        if request.auth is not None and request.auth.project_id:
            raise PermissionDenied
        made = clone_project(source=project, actor=request.user, now=timezone.now(), rng=RNG, **sent(request, Cloning))
        made.role = Membership.Role.OWNER  # type: ignore[attr-defined]
        return Response(detail(request, made), status=201)
