"""Who took part by links and how each part ended; checking the codes that they were given."""

from typing import Any
from uuid import UUID

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
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.core import rate_limits
from annotate.models import Annotator, Completion
from annotate.participation.completion.actions import check_code, use_code
from annotate.participation.queries import participants


class ParticipantRow(serializers.Serializer):
    annotator = serializers.CharField(source="pseudonym")
    key = serializers.UUIDField()
    source = serializers.ChoiceField(choices=Annotator.Source.choices)  # type: ignore[assignment]
    participant = serializers.CharField(
        source="platform_id", allow_null=True, help_text="The participant's ID on the platform."
    )
    study = serializers.CharField(source="platform_study", allow_blank=True)
    session = serializers.CharField(source="platform_session", allow_blank=True)
    joined_at = serializers.DateTimeField()
    n_labels = serializers.IntegerField(help_text="Number of answers that count.")
    ended = serializers.CharField(
        allow_blank=True, help_text="complete, screened_out or quota_full; empty if not finished."
    )
    ended_at = serializers.DateTimeField(source="completion.at", allow_null=True, default=None)
    code = serializers.CharField(source="completion.code", allow_null=True, default=None)
    used_at = serializers.DateTimeField(source="completion.used_at", allow_null=True, default=None)


class Code(StrictSerializer):
    code = serializers.CharField(max_length=100)
    use = serializers.BooleanField(required=False, default=False, help_text="Whether to mark the code as used.")


class CodeChecked(serializers.Serializer):
    is_genuine = serializers.BooleanField(help_text="Whether this project issued the code.")
    annotator = serializers.CharField(allow_null=True)
    kind = serializers.ChoiceField(choices=Completion.Kind.choices, allow_null=True)
    used_before = serializers.DateTimeField(
        allow_null=True, help_text="When it was marked as used; a code is valid once."
    )


class Participants(ApiView):
    @extend_schema(operation_id="participants_list", parameters=[PageQuery], responses=page_serializer(ParticipantRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists who joined by link, latest first. Platform IDs are in no export, as viewers can read those."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        return paginated_response(
            request, participants(project), query, lambda rows: list(ParticipantRow(rows, many=True).data)
        )


class Codes(ApiView):
    @extend_schema(operation_id="participants_check_code", request=Code, responses=CodeChecked)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Checks whether an individual code is genuine and unused; `use` marks it as used."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "code", who=str(request.user.pk))
        given = validated_body(request, Code)
        if given["use"]:
            checked = use_code(project=project, actor=request.user, code=given["code"], now=timezone.now())
        else:
            checked = check_code(project=project, code=given["code"])
        found = checked.completion
        values: dict[str, Any] = {
            "is_genuine": found is not None,
            "annotator": found.annotator.pseudonym if found and found.annotator else None,
            "kind": found.kind if found else None,
            "used_before": checked.used_before,
        }
        return Response(CodeChecked(values).data)
