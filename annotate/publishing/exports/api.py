"""Lists and streams a project's exports through the API."""

from uuid import UUID

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access
from annotate.api.base import ApiRequest, ApiView, CriterionQuery, NoQuery, validated_criterion, validated_query
from annotate.api.problems import Unprocessable
from annotate.audit import record_export
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.files.writers import FORMATS
from annotate.publishing.exports.downloads import SPECIAL, file_response, is_available
from annotate.publishing.exports.preference_options import (
    FORMS,
    LINES,
    MAX_HELD_OUT,
    NAMES,
    SPLITS,
    options_from,
    other_table_problem,
    split_problem,
)
from annotate.publishing.exports.preference_options import TABLE as PREFERENCES
from annotate.publishing.exports.registry import TABLES


class ExportRow(serializers.Serializer):
    table = serializers.CharField()
    title = serializers.CharField()
    about = serializers.CharField()
    columns = serializers.DictField(child=serializers.CharField(), help_text="What each column means.")
    downloads = serializers.DictField(child=serializers.URLField(), help_text="Addresses by file format.")


class Exports(ApiView):
    @extend_schema(operation_id="exports_list", responses=ExportRow(many=True))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the exports, with their columns and addresses."""
        project = access.project_for(request, project_id, access.SEE)
        validated_query(request, NoQuery)
        formats = is_available(Criterion(project))
        rows = [
            {
                "table": name,
                "title": title,
                "about": about,
                "columns": {column.name: str(column.meaning) for column in TABLES[name].columns(project)}
                if name in TABLES
                else {},
                "downloads": {
                    kind: reverse("api-export", args=[project.pk, name, kind], request=request) for kind in kinds
                },
            }
            for name, (title, about, kinds) in formats.items()
        ]
        return Response(ExportRow(rows, many=True).data)


TYPES = {
    **{kind: content_type.partition(";")[0] for kind, (content_type, _encode) in FORMATS.items()},
    "preflib": "text/plain",
    "labelstudio": "application/json",
    "zip": "application/zip",
    "svg": "image/svg+xml",
}


class ExportQuery(CriterionQuery):
    """The criterion, and how preference pairs are exported."""

    lines = serializers.ChoiceField(
        [name for name, _label in LINES],
        required=False,
        help_text="Of `preferences`: one line for each answer, or for each pair by majority, with n, share and margin.",
    )
    form = serializers.ChoiceField(
        [name for name, _label in FORMS],
        required=False,
        help_text="Of `preferences`: prompt, chosen and rejected as text, or as lists of messages (role, content).",
    )
    held_out = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_HELD_OUT,
        help_text="Of `preferences`: per cent of the prompts whose lines have `test` in the column `split`, by a hash.",
    )
    split = serializers.ChoiceField(
        [name for name, _label in SPLITS],
        required=False,
        help_text="Of `preferences`, with `held_out`: only the lines of this side.",
    )


class Export(ApiView):
    @extend_schema(
        operation_id="exports_download",
        parameters=[
            ExportQuery,
            OpenApiParameter("table", OpenApiTypes.STR, "path", enum=[*TABLES, "matrix", "dataset"]),
            OpenApiParameter("file_format", OpenApiTypes.STR, "path", enum=list(TYPES)),
        ],
        responses={(200, kind): OpenApiTypes.ANY if "json" in kind else OpenApiTypes.BINARY for kind in TYPES.values()},
    )
    def get(self, request: ApiRequest, project_id: UUID, table: str, file_format: str) -> HttpResponseBase:
        """Streams a whole table; labels and fits include all criteria. `exports_list` lists the formats."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, ExportQuery)
        criterion = validated_criterion(project, query)
        if (table, file_format) not in SPECIAL and (table not in TABLES or file_format not in FORMATS):
            raise Http404
        if table != PREFERENCES and (given := [name for name in NAMES if name in query]):
            raise Unprocessable({name: [other_table_problem(table)] for name in given})
        if problem := split_problem(query):
            raise Unprocessable({"split": [problem]})
        check_rate_limit(request, "export")
        now = timezone.now()
        record_export(project=project, actor=request.user, table=table, file_format=file_format, now=now)
        return file_response(request._request, criterion, table, file_format, options_from(query))
