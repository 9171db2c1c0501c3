"""Lists annotator tags, adds and removes them through the API."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.tags.actions import tag_annotators, untag_annotators
from annotate.annotators.tags.queries import annotators_by_name, cohorts_by_tag
from annotate.annotators.tags.table import MAX_ROWS, problem_in
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_TAG, MAX_TAGS
from annotate.models import Project


class AnnotatorTagRow(serializers.Serializer):
    name = serializers.CharField()
    n_annotators = serializers.IntegerField()


class TaggedRow(StrictSerializer):
    annotator = serializers.CharField(max_length=200, help_text="The pseudonym, or the platform's id.")
    tags = serializers.ListField(child=serializers.CharField(max_length=MAX_TAG), min_length=1, max_length=MAX_TAGS)


class Tagging(StrictSerializer):
    action = serializers.ChoiceField(choices=["tag", "untag"])
    rows = serializers.ListField(child=TaggedRow(), min_length=1, max_length=MAX_ROWS)


class Tagged(serializers.Serializer):
    n_tags = serializers.IntegerField(help_text="Number of tags added or removed.")


def tags_in_use(project: Project) -> list[dict[str, object]]:
    return [{"name": name, "n_annotators": len(people)} for name, people in cohorts_by_tag(project).items()]


class AnnotatorTags(ApiView):
    @extend_schema(operation_id="annotators_list_tags", responses=AnnotatorTagRow(many=True))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the tags in use, in alphabetical order; `annotators_list` shows who has which."""
        project = access.project_for(request, project_id, access.SEE)
        validated_query(request, NoQuery)
        return Response(AnnotatorTagRow(tags_in_use(project), many=True).data)

    @extend_schema(operation_id="annotators_tag", parameters=[HEADER], request=Tagging, responses=Tagged)
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds or removes tags of annotators. If any row is wrong, nothing is changed and errors are listed by row."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        given = validated_body(request, Tagging)
        people = annotators_by_name(project)
        names = [tuple(name.strip() for name in row["tags"]) for row in given["rows"]]
        problems = {
            f"rows.{place}": [problem]
            for place, (row, tags) in enumerate(zip(given["rows"], names, strict=True))
            if (problem := problem_in(row["annotator"], tags, people))
        }
        if problems:
            raise Unprocessable(problems)
        tagged = zip(given["rows"], names, strict=True)
        pairs = {(people[row["annotator"]], name) for row, tags in tagged for name in tags}
        change = tag_annotators if given["action"] == "tag" else untag_annotators
        return Response({"n_tags": change(project=project, actor=request.user, pairs=pairs, now=timezone.now())})
