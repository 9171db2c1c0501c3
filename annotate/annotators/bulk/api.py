"""Excludes many answers at once through the API, previews and undoes it."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.bulk.actions import exclude_many, undo_bulk_exclusion
from annotate.annotators.bulk.forms import ChoiceForm
from annotate.annotators.bulk.queries import count_chosen
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.models import BulkExclusion, Project


class BulkChoice(StrictSerializer):
    by = serializers.ChoiceField(choices=BulkExclusion.By.choices)
    since = serializers.DateTimeField(required=False, allow_null=True, default=None)
    until = serializers.DateTimeField(required=False, allow_null=True, default=None, help_text="Not included.")
    session = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    tag = serializers.CharField(required=False, allow_blank=True, default="", max_length=100)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)
    preview = serializers.BooleanField(required=False, default=False, help_text="Only counts; nothing is changed.")


class BulkRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    by = serializers.ChoiceField(choices=BulkExclusion.By.choices)
    since = serializers.DateTimeField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True)
    value = serializers.CharField(help_text="The session or the tag.")
    n_labels = serializers.IntegerField()
    n_annotators = serializers.IntegerField()
    at = serializers.DateTimeField()
    undone_at = serializers.DateTimeField(allow_null=True)


class BulkResult(serializers.Serializer):
    id = serializers.IntegerField(allow_null=True, help_text="null where it was only counted.")
    n_labels = serializers.IntegerField(help_text="Answers that no longer count.")
    n_annotators = serializers.IntegerField()


class BulkUndone(serializers.Serializer):
    n_restored = serializers.IntegerField(help_text="Answers that count again.")
    n_kept_voided = serializers.IntegerField(help_text="Answers that stay void, because their place is taken.")


class BulkExclusions(ApiView):
    @extend_schema(
        operation_id="annotators_list_bulk_exclusions", parameters=[PageQuery], responses=page_serializer(BulkRow)
    )
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists exclusions by time, session or tag, the latest first."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        found = project.bulk_exclusions.order_by("-at")
        return paginated_response(request, found, query, lambda rows: list(BulkRow(rows, many=True).data))

    @extend_schema(
        operation_id="annotators_exclude_many", parameters=[HEADER], request=BulkChoice, responses=BulkResult
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Voids the answers of a span of time or a session, or excludes everybody with a tag."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return Response(self.done(request, project, validated_body(request, BulkChoice)))

    def done(self, request: ApiRequest, project: Project, given: dict[str, Any]) -> dict[str, int | None]:
        form = ChoiceForm(given, project=project)
        if not form.is_valid():
            raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
        if given["preview"]:
            counted = count_chosen(project, form.choice)
            return {"id": None, "n_labels": counted.labels, "n_annotators": counted.annotators}
        made = exclude_many(
            project=project, actor=request.user, choice=form.choice, reason=given["reason"], now=timezone.now()
        )
        return {"id": made.pk, "n_labels": made.n_labels, "n_annotators": made.n_annotators}


class BulkUndo(ApiView):
    @extend_schema(operation_id="annotators_undo_bulk_exclusion", request=None, responses=BulkUndone)
    def post(self, request: ApiRequest, project_id: UUID, exclusion_id: int) -> Response:
        """Undoes an exclusion by time, session or tag; answers to sets that others have filled since stay void."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        exclusion = get_object_or_404(project.bulk_exclusions, pk=exclusion_id)
        restored = undo_bulk_exclusion(exclusion=exclusion, actor=request.user, now=timezone.now())
        return Response({"n_restored": restored.labels, "n_kept_voided": restored.kept_voided})
