"""The task as an annotator would see it, made of the project's own items; nothing is stored."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, StrictSerializer, validated_query
from annotate.labelling.api import StopDetail, TaskDetail, task_json
from annotate.labelling.preview.queries import MAX_PREVIEW_ANSWERS, sample_task


class PreviewQuery(StrictSerializer):
    n = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_PREVIEW_ANSWERS,
        help_text="The number of answers given before this task.",
    )


class PreviewDetail(serializers.Serializer):
    task = TaskDetail(allow_null=True, help_text="Its token can't be used to answer.")
    stop = StopDetail(allow_null=True)


class Preview(ApiView):
    @extend_schema(operation_id="projects_preview", parameters=[PreviewQuery], responses=PreviewDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns a sample task, always the same for the same number of earlier answers. Works for drafts, too."""
        project = access.project_for(request, project_id, access.SEE)
        task = sample_task(project, validated_query(request, PreviewQuery)["n"], now=timezone.now())
        values = {"task": task_json(request, project, task) if task.token else None, "stop": task.stop}
        return Response(PreviewDetail(values).data)
