"""What the engine made of the labels: the published ranking, the fits, how far the project is, and the exports."""

from typing import Any
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
from annotate.actions.events import note_export
from annotate.api.base import (
    ApiRequest,
    CriterionQuery,
    Figure,
    NoQuery,
    PageQuery,
    View,
    Words,
    asked,
    looked_at,
    page_of,
    paged,
)
from annotate.exporting import ranking as table
from annotate.exporting.formats import FORMATS
from annotate.exporting.tables import TABLES
from annotate.limits import limit
from annotate.models import MOST_CRITERIA, Item
from annotate.queries.progress import progress
from annotate.queries.project import engine, published_fit
from annotate.queries.ranking import SORTS, Wish, ordered
from annotate.views.exports import SPECIAL, as_file, available
from models_engine.models import Estimate, Fit

NAMES = [column.name for column in table.COLUMNS]


class RankingQuery(CriterionQuery, PageQuery):
    q = serializers.CharField(required=False, default="", max_length=200, help_text="In the key or the text.")
    tag = serializers.CharField(required=False, default="", max_length=100)
    sort = serializers.ChoiceField(
        choices=[*SORTS, *(f"-{name}" for name in SORTS)], required=False, default="rank", help_text="Within each part."
    )


class FitsQuery(PageQuery):
    criterion = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_CRITERIA, help_text="Left out, those by every criterion."
    )


class FitRow(serializers.Serializer):
    number = serializers.IntegerField()
    criterion = serializers.IntegerField(help_text="Of a project with several, its number; else 1.")
    estimator = serializers.CharField()
    status = serializers.ChoiceField(choices=Fit.Status.choices)
    published = serializers.BooleanField()
    n_labels = serializers.IntegerField()
    n_items = serializers.IntegerField()
    n_annotators = serializers.IntegerField()
    n_parts = serializers.IntegerField(help_text="Parts that no comparison connects; each has its own ranking.")
    converged = serializers.BooleanField(allow_null=True)
    message = Words(allow_blank=True)
    seed = serializers.IntegerField()
    data_hash = serializers.CharField(allow_blank=True)
    seconds = Figure(allow_null=True)
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class RankedItem(serializers.Serializer):
    """The columns of the export of the ranking, under the same names."""

    item = serializers.CharField(help_text="The item's key.")
    title = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    part = serializers.IntegerField(help_text="0 is the largest; nothing compares items across parts.")
    rank = serializers.IntegerField()
    rank_low = serializers.IntegerField()
    rank_high = serializers.IntegerField()
    utility = Figure(allow_null=True)
    sd = Figure(allow_null=True)
    low = Figure(allow_null=True, help_text="Lower end of the 90% interval of the utility.")
    high = Figure(allow_null=True)
    p_top_k = Figure(allow_null=True)
    tier = serializers.IntegerField()
    next_state = serializers.ChoiceField(choices=Estimate.NextState.choices)
    n_comparisons = serializers.IntegerField()
    divisiveness = Figure(allow_null=True)


class RankingPage(page_of(RankedItem)):  # type: ignore[misc]
    fit = FitRow(allow_null=True, help_text="Null before the first fit; there are no results then.")
    n_waiting = serializers.IntegerField(help_text="Changes to the labels that this fit has not seen.")


class Ranking(View):
    @extend_schema(operation_id="ranking_read", parameters=[RankingQuery], responses=RankingPage)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """The published fit's figures of every item, the largest part first."""
        project = access.project_for(request, project_id, access.SEE)
        query = asked(request, RankingQuery)
        project = looked_at(project, query)
        fit = published_fit(project)
        waiting = engine(project, timezone.now()).n_waiting
        if fit is None:
            return paged(request, Estimate.objects.none(), query, list, fit=None, n_waiting=waiting)
        sort = query["sort"]
        wish = Wish(sort.removeprefix("-"), sort.startswith("-"), query["q"], query["tag"])
        estimates = ordered(project, Estimate.objects.filter(fit=fit), wish)
        number = fit.number
        return paged(
            request,
            estimates,
            query,
            lambda rows: ranked(rows, number),
            fit=FitRow(fit).data,
            n_waiting=waiting,
        )


def ranked(estimates: list[Estimate], number: int) -> list[Any]:
    items = Item.objects.prefetch_related("tags").in_bulk([estimate.item_id for estimate in estimates])
    rows = []
    for estimate in estimates:
        item = items.get(estimate.item_id)
        if item:
            values = dict(zip(NAMES, table.row(estimate, item, number), strict=True))
            rows.append({**values, "tags": sorted(tag.name for tag in item.tags.all())})
    return list(RankedItem(rows, many=True).data)


class Fits(View):
    @extend_schema(operation_id="fits_list", parameters=[FitsQuery], responses=page_of(FitRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """What the engine has fitted, the latest first."""
        project = access.project_for(request, project_id, access.SEE)
        query = asked(request, FitsQuery)
        fits = Fit.objects.filter(project_id=project.pk).defer("arrays", "diagnostics").order_by("-number")
        if "criterion" in query:
            fits = fits.filter(criterion=query["criterion"])
        return paged(request, fits, query, lambda rows: list(FitRow(rows, many=True).data))


class Count(serializers.Serializer):
    name = serializers.CharField()
    n = serializers.IntegerField()
    share = Figure()


class ProgressDetail(serializers.Serializer):
    n_given = serializers.IntegerField(help_text="Answers ever given.")
    n_counting = serializers.IntegerField(help_text="Those that fits count or may count.")
    n_voided = serializers.IntegerField()
    first_at = serializers.DateTimeField(source="first", allow_null=True)
    last_at = serializers.DateTimeField(source="last", allow_null=True)
    outcomes = Count(many=True)
    voided = Count(many=True, help_text="By the reason.")
    coverage = Count(many=True, help_text="Items by how many comparisons of them the published fit counts.")
    n_items = serializers.IntegerField(help_text="In the published fit.")
    n_thin = serializers.IntegerField(help_text="Of these, with fewer than 5 comparisons.")


class ProgressView(View):
    @extend_schema(operation_id="progress_read", parameters=[CriterionQuery], responses=ProgressDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """How many answers there are, of which kind, and how well they cover the items."""
        project = access.project_for(request, project_id, access.SEE)
        project = looked_at(project, asked(request, CriterionQuery))
        return Response(ProgressDetail(progress(project, published_fit(project))).data)


class ExportRow(serializers.Serializer):
    table = serializers.CharField()
    title = serializers.CharField()
    about = serializers.CharField()
    columns = serializers.DictField(child=serializers.CharField(), help_text="What each column means.")
    downloads = serializers.DictField(child=serializers.URLField(), help_text="Addresses by file format.")


class Exports(View):
    @extend_schema(operation_id="exports_list", responses=ExportRow(many=True))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Every table that can be taken away, with its columns and addresses."""
        project = access.project_for(request, project_id, access.SEE)
        asked(request, NoQuery)
        formats = available(project)
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
    "svg": "image/svg+xml",
}


class Export(View):
    @extend_schema(
        operation_id="exports_download",
        parameters=[
            CriterionQuery,
            OpenApiParameter("table", OpenApiTypes.STR, "path", enum=[*TABLES, "matrix"]),
            OpenApiParameter("file_format", OpenApiTypes.STR, "path", enum=list(TYPES)),
        ],
        responses={(200, kind): OpenApiTypes.ANY if "json" in kind else OpenApiTypes.BINARY for kind in TYPES.values()},
    )
    def get(self, request: ApiRequest, project_id: UUID, table: str, file_format: str) -> HttpResponseBase:
        """A whole table, streamed; labels and fits are those by every criterion. `exports_list` names the formats."""
        project = access.project_for(request, project_id, access.SEE)
        project = looked_at(project, asked(request, CriterionQuery))
        if (table, file_format) not in SPECIAL and (table not in TABLES or file_format not in FORMATS):
            raise Http404
        limit(request, "export")
        now = timezone.now()
        note_export(project=project, actor=request.user, table=table, file_format=file_format, now=now)
        return as_file(request._request, project, table, file_format)
