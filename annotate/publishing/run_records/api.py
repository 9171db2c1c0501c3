"""Requests run records, reports their state and serves the files through the API."""

from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    NoQuery,
    PageQuery,
    StoredMessageField,
    page_serializer,
    paginated_response,
    validated_criterion,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.models import Project, RunRecord
from annotate.publishing.run_records.actions import request_record
from annotate.publishing.run_records.download import record_response


class RecordRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    status = serializers.ChoiceField(choices=RunRecord.Status.choices)
    message = StoredMessageField(allow_blank=True, help_text="Why it failed.")
    asked_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    criterion = serializers.IntegerField(help_text="Number of the criterion; 1 if the project has only one.")
    fit_number = serializers.IntegerField(allow_null=True, help_text="Number of the fit whose settings it uses.")
    n_labels = serializers.IntegerField()
    n_bytes = serializers.IntegerField()
    download = serializers.URLField(allow_null=True, help_text="Address of the file, once it is ready.")


def record_row(request: ApiRequest, project: Project, records: list[RunRecord]) -> list[object]:
    for record in records:
        address = reverse("api-record-download", args=[project.pk, record.pk], request=request)
        record.download = address if record.status == RunRecord.Status.READY else None  # type: ignore[attr-defined]
    return list(RecordRow(records, many=True).data)


class Records(ApiView):
    @extend_schema(operation_id="records_list", parameters=[PageQuery], responses=page_serializer(RecordRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the run records requested, newest first."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, PageQuery)
        found = RunRecord.objects.filter(project=project).order_by("-pk")
        return paginated_response(request, found, query, lambda rows: record_row(request, project, rows))

    @extend_schema(
        operation_id="records_create", parameters=[HEADER, CriterionQuery], request=None, responses={202: RecordRow}
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Starts the creation of a run record. Poll until `status` is `ready`.

        One is made at a time: one being made already is told instead, whichever criterion it is by.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        check_rate_limit(request, "export")
        request_record(criterion=criterion, actor=request.user, now=timezone.now())
        latest = RunRecord.objects.filter(project=project).latest("pk")
        return Response(record_row(request, project, [latest])[0], status=202)


class RecordView(ApiView):
    @extend_schema(operation_id="records_read", responses=RecordRow)
    def get(self, request: ApiRequest, project_id: UUID, record_id: int) -> Response:
        """Returns the state of a run record."""
        project = access.project_for(request, project_id, access.SEE)
        validated_query(request, NoQuery)
        record = get_object_or_404(RunRecord, project=project, pk=record_id)
        return Response(record_row(request, project, [record])[0])


class RecordDownload(ApiView):
    @extend_schema(operation_id="records_download", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, project_id: UUID, record_id: int) -> StreamingHttpResponse:
        """Returns the .zip of a run record that is ready; `python -m models_engine reproduce` reproduces its fit."""
        project = access.project_for(request, project_id, access.SEE)
        validated_query(request, NoQuery)
        record = get_object_or_404(RunRecord, project=project, pk=record_id, status=RunRecord.Status.READY)
        check_rate_limit(request, "export")
        now = timezone.now()
        record_export(project=project, actor=request.user, table="run record", file_format="zip", now=now)
        plain: HttpRequest = request._request
        return record_response(plain, project, record)
