"""Lists a project's log through the API."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, PageQuery, page_serializer, paginated_response, validated_query
from annotate.audit_log.queries import LogFilter, events_of
from annotate.models import Event


class LogQuery(PageQuery):
    what = serializers.CharField(required=False, default="", max_length=100, help_text="Name of the event.")
    since = serializers.DateField(required=False, help_text="Only entries from this day on.")


class LogRow(serializers.Serializer):
    at = serializers.DateTimeField()
    who = serializers.EmailField(source="actor.email", allow_null=True, default=None)
    annotator = serializers.CharField(source="annotator.pseudonym", allow_null=True, default=None)
    event = serializers.CharField(source="verb")
    details = serializers.JSONField(help_text="For each changed field, [before, after].")


class Log(ApiView):
    @extend_schema(operation_id="log_list", parameters=[LogQuery], responses=page_serializer(LogRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists who changed what and when, newest first."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, LogQuery)
        events = events_of(project, LogFilter(what=query["what"], since=query.get("since")))
        return paginated_response(request, events, query, represented)


def represented(events: list[Event]) -> list[Any]:
    return list(LogRow(events, many=True).data)
