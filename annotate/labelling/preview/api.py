"""The task as an annotator would see it, made of the project's own items; nothing is stored."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, validated_query
from annotate.labelling.api import LanguageQuery, StopDetail, TaskDetail, task_json, validated_language
from annotate.labelling.preview.queries import MAX_PREVIEW_ANSWERS, sample_task
from annotate.labelling.wording import wording_of


class PreviewQuery(LanguageQuery):
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
        query = validated_query(request, PreviewQuery)
        wording = wording_of(project, validated_language(project, query["language"]))
        task = sample_task(wording, query["n"], now=timezone.now())
        values = {"task": task_json(request, wording.project, task) if task.token else None, "stop": task.stop}
        return Response(PreviewDetail(values).data)
