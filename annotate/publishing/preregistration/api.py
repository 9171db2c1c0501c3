"""The preregistration through the API: freezing, reading, and the reasons of deviations."""

import json
from typing import Any
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StrictSerializer,
    WholeSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.models import MAX_DEVIATION_REASON, MAX_STATEMENT_LENGTH, Deviation, Preregistration
from annotate.publishing.preregistration.actions import explain_deviation, freeze_plan
from annotate.publishing.preregistration.queries import preregistration_of


class Statements(StrictSerializer):
    hypotheses = serializers.CharField(required=False, default="", allow_blank=True, max_length=MAX_STATEMENT_LENGTH)
    stopping_rule = serializers.CharField(required=False, default="", allow_blank=True, max_length=MAX_STATEMENT_LENGTH)
    exclusion_rules = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=MAX_STATEMENT_LENGTH
    )
    analysis = serializers.CharField(required=False, default="", allow_blank=True, max_length=MAX_STATEMENT_LENGTH)


class PreregistrationDetail(serializers.Serializer):
    sha256 = serializers.CharField(source="digest", help_text="Of the UTF-8 of `text`.")
    frozen_at = serializers.DateTimeField(source="at")
    n_labels = serializers.IntegerField(help_text="Labels that there were when it was frozen.")
    document = serializers.SerializerMethodField(help_text="The content of `text`.")
    text = serializers.CharField(source="document", help_text="The canonical JSON that was hashed.")
    n_deviations = serializers.SerializerMethodField()

    def get_document(self, frozen: Preregistration) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(frozen.document)
        return found

    def get_n_deviations(self, frozen: Preregistration) -> int:
        return Deviation.objects.filter(project=frozen.project_id).count()


class PreregistrationView(ApiView):
    @extend_schema(operation_id="preregistration_read", responses=PreregistrationDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the frozen plan; not found where none is frozen."""
        project = access.project_for(request, project_id, access.SEE)
        validated_query(request, NoQuery)
        frozen = preregistration_of(project)
        if frozen is None:
            raise Http404
        return Response(PreregistrationDetail(frozen).data)

    @extend_schema(operation_id="preregistration_freeze", request=Statements, responses={201: PreregistrationDetail})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Freezes the plan as it stands, once; later changes are listed as deviations."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        statements = validated_body(request, Statements)
        frozen = freeze_plan(project=project, actor=request.user, statements=statements, now=timezone.now())
        return Response(PreregistrationDetail(frozen).data, status=201)


class DeviationRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    at = serializers.DateTimeField()
    n_labels = serializers.IntegerField(help_text="Labels that there were then.")
    reason = serializers.CharField(allow_blank=True)


class Reason(WholeSerializer):
    reason = serializers.CharField(max_length=MAX_DEVIATION_REASON)


class Deviations(ApiView):
    @extend_schema(operation_id="deviations_list", parameters=[PageQuery], responses=page_serializer(DeviationRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the deviations from the frozen plan, in their order."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, PageQuery)
        rows = Deviation.objects.filter(project=project).order_by("at", "pk")
        return paginated_response(request, rows, query, lambda found: list(DeviationRow(found, many=True).data))


class DeviationView(ApiView):
    @extend_schema(operation_id="deviations_explain", request=Reason, responses=DeviationRow)
    def patch(self, request: ApiRequest, project_id: UUID, deviation_id: int) -> Response:
        """Adds the reason of a deviation, once."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        deviation = get_object_or_404(Deviation.objects.select_related("project"), project=project, pk=deviation_id)
        reason = validated_body(request, Reason)["reason"]
        explain_deviation(deviation=deviation, actor=request.user, reason=reason, now=timezone.now())
        deviation.refresh_from_db()
        return Response(DeviationRow(deviation).data)
