"""Reads and updates the retention period, and exports or erases an annotator's data, through the API."""

from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Unprocessable
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.models import MAX_RETENTION_DAYS, Project, Retention
from annotate.models.retention import notice_text, retention_rule
from annotate.participation.joining.pseudonyms import MAX_PSEUDONYM_LENGTH
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.privacy.own_data.download import zip_response
from annotate.privacy.retention.actions import change_retention
from annotate.privacy.retention.forms import DROPS


class RetentionRule(StrictSerializer):
    days = serializers.IntegerField(
        min_value=0,
        max_value=MAX_RETENTION_DAYS,
        allow_null=True,
        help_text="Days after closing; 0 keeps everything, null uses the site's default.",
    )
    drops = serializers.ChoiceField(choices=DROPS, help_text="What is erased.")


class RetentionDetail(serializers.Serializer):
    days = serializers.IntegerField(allow_null=True)
    drops = serializers.ChoiceField(choices=DROPS)
    promise = serializers.CharField(help_text="The notice that annotators see.")


def retention_response(project: Project) -> Response:
    row = Retention.objects.filter(project=project).first() or Retention(project=project)
    values = {"days": row.days, "drops": row.drops, "promise": notice_text(retention_rule(project))}
    return Response(RetentionDetail(values).data)


class RetentionView(ApiView):
    @extend_schema(operation_id="retention_read", responses=RetentionDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns how long the project keeps its annotators' data."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return retention_response(project)

    @extend_schema(operation_id="retention_update", request=RetentionRule, responses=RetentionDetail)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Updates the retention period. Annotators see the new period from now on."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        change_retention(
            project=project, actor=request.user, now=timezone.now(), **validated_body(request, RetentionRule)
        )
        return retention_response(project)


class ErasureRequest(StrictSerializer):
    pseudonym = serializers.CharField(
        max_length=MAX_PSEUDONYM_LENGTH,
        help_text="The annotator's pseudonym, as a safeguard against erasing somebody else.",
    )


class ErasureResult(serializers.Serializer):
    n_labels = serializers.IntegerField(help_text="Number of labels erased.")


class EraseAnnotator(ApiView):
    @extend_schema(operation_id="annotators_erase", request=ErasureRequest, responses=ErasureResult)
    def post(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Permanently erases an annotator and all their labels, at their request; the next fit leaves them out."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        annotator = get_object_or_404(project.annotators, key=key)
        if validated_body(request, ErasureRequest)["pseudonym"] != annotator.pseudonym:
            raise Unprocessable({"pseudonym": [_("That is not the annotator's pseudonym. Nobody was erased.")]})
        n = erase_annotator(annotator=annotator, by=BY_OWNER, actor=request.user, now=timezone.now())
        return Response({"n_labels": n})


class AnnotatorData(ApiView):
    @extend_schema(operation_id="annotators_data", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, project_id: UUID, key: UUID) -> StreamingHttpResponse:
        """Returns all data of an annotator as a .zip of tables, without their secret, for when they ask for it."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        annotator = get_object_or_404(project.annotators, key=key)
        check_rate_limit(request, "export")
        now = timezone.now()
        record_export(project=project, actor=request.user, table="annotator's data", file_format="zip", now=now)
        plain: HttpRequest = request._request
        return zip_response(plain, project.annotators.filter(pk=annotator.pk), for_owner=True)
