"""Cohorts: what divides the annotators, asking for two to be compared, reading what came of it."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.actions.cohorts import ask_for_comparison
from annotate.api.base import (
    ApiRequest,
    CriterionQuery,
    Figure,
    NoQuery,
    View,
    asked,
    check_page,
    looked_at,
    sent,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.tastes import ShortPage
from annotate.cohorts import divisions
from annotate.criteria import seen_by
from annotate.forms.people import CohortsForm
from annotate.importing.bounds import MAX_TAG
from annotate.limits import limit
from annotate.models import CohortComparison
from annotate.queries.cohorts import Wish, comparisons, side_by_side, told

SORTS = [value for value, _words in CohortsForm.base_fields["sort"].choices]  # type: ignore[attr-defined]


class CohortRow(serializers.Serializer):
    key = serializers.CharField()
    name = serializers.CharField()
    n = serializers.IntegerField(help_text="Annotators in it.")


class DivisionRow(serializers.Serializer):
    key = serializers.CharField(help_text="Goes in `by`.")
    name = serializers.CharField()
    values = CohortRow(many=True)


class Asking(CriterionQuery):
    by = serializers.CharField(max_length=40, help_text="The key of what divides them.")
    first = serializers.CharField(max_length=200, help_text="The key of one cohort.")
    second = serializers.CharField(
        max_length=200, required=False, default="", allow_blank=True, help_text="Of another; empty: everybody else."
    )


class SizeRow(serializers.Serializer):
    n_annotators = serializers.IntegerField()
    n_labels = serializers.IntegerField()


class ComparisonRow(serializers.Serializer):
    id = serializers.IntegerField(source="comparison.pk")
    criterion = serializers.IntegerField(
        source="comparison.criterion", help_text="Of a project with several, its number; else 1."
    )
    by = serializers.CharField(source="comparison.by")
    by_name = serializers.CharField()
    first = serializers.CharField(source="comparison.first")
    first_name = serializers.CharField()
    second = serializers.CharField(source="comparison.second", allow_blank=True)
    second_name = serializers.CharField()
    status = serializers.ChoiceField(source="comparison.status", choices=CohortComparison.Status.choices)
    message = serializers.CharField(source="why", allow_blank=True, help_text="Why it failed.")
    asked_at = serializers.DateTimeField(source="comparison.asked_at")
    finished_at = serializers.DateTimeField(source="comparison.finished_at", allow_null=True)
    fit_number = serializers.IntegerField(source="comparison.fit_number", allow_null=True)
    estimator = serializers.CharField(source="comparison.estimator", allow_blank=True)
    sizes = SizeRow(many=True, help_text="Of the first and the second; empty before it is ready.")


class CohortsDetail(serializers.Serializer):
    divisions = DivisionRow(many=True)
    comparisons = ComparisonRow(many=True, help_text="Those kept, the latest first.")


class SideQuery(ShortPage):
    sort = serializers.ChoiceField(choices=SORTS, required=False, default="-difference")
    tag = serializers.CharField(required=False, default="", max_length=MAX_TAG, help_text="Only items with this tag.")


class Side(serializers.Serializer):
    place = serializers.IntegerField()
    utility = Figure()
    low = Figure(help_text="Lower end of the 90% interval.")
    high = Figure()


class SideBySideRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")
    first = Side()
    second = Side()
    difference = Figure(help_text="First minus second.")
    low = Figure()
    high = Figure()
    is_separated = serializers.BooleanField(help_text="Whether the 90% interval of the difference leaves 0 out.")


class ComparisonDetail(ComparisonRow):
    n_items = serializers.IntegerField()
    n_separated = serializers.IntegerField()
    correlation = Figure(allow_null=True, help_text="Of the utilities.")
    n_pages = serializers.IntegerField()
    results = SideBySideRow(many=True, help_text="Empty until it is ready.")


def row_of(one: Any) -> dict[str, Any]:
    sizes = [{"n_annotators": people, "n_labels": labels} for people, labels in one.comparison.sizes]
    names = {"by_name": one.by, "first_name": one.first, "second_name": one.second}
    return {"comparison": one.comparison, "why": one.why, "sizes": sizes, **names}


class CohortsView(View):
    @extend_schema(operation_id="cohorts_list", parameters=[CriterionQuery], responses=CohortsDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """The cohorts that annotators can be divided into, and the comparisons asked for, by one criterion."""
        project = access.project_for(request, project_id, access.SEE)
        project = looked_at(project, asked(request, CriterionQuery))
        found = divisions(project)
        values = {"divisions": found, "comparisons": [row_of(told(row, found)) for row in comparisons(project)]}
        return Response(CohortsDetail(values).data)

    @extend_schema(operation_id="cohorts_compare", parameters=[HEADER], request=Asking, responses={202: ComparisonRow})
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Has the engine fit two cohorts, each alone; asked for again, anew. Read it until its status is ready."""
        project = access.project_for(request, project_id, access.MANAGE)
        asked(request, NoQuery)
        limit(request, "export")
        asking = sent(request, Asking)
        project = looked_at(project, asking)
        cohorts = {name: asking[name] for name in ("by", "first", "second")}
        row = ask_for_comparison(project=project, actor=request.user, now=timezone.now(), **cohorts)
        row.refresh_from_db()
        return Response(ComparisonRow(row_of(told(row, divisions(project)))).data, status=202)


class CohortsRead(View):
    @extend_schema(operation_id="cohorts_read", parameters=[SideQuery], responses=ComparisonDetail)
    def get(self, request: ApiRequest, project_id: UUID, comparison_id: int) -> Response:
        """How far a comparison is, and the two rankings side by side."""
        project = access.project_for(request, project_id, access.SEE)
        query = asked(request, SideQuery)
        row = get_object_or_404(project.cohort_comparisons, pk=comparison_id)
        project = seen_by(project, row.criterion)
        sort = query["sort"]
        wish = Wish(row.pk, sort.removeprefix("-"), sort.startswith("-"), query["tag"], query["page"])
        table = side_by_side(project, bytes(row.arrays), wish) if row.arrays else None
        check_page(table.page if table else None, query["page"])
        values = row_of(told(row, divisions(project))) | {
            "n_items": table.n_items if table else 0,
            "n_separated": table.n_separated if table else 0,
            "correlation": table and table.correlation,
            "n_pages": table.page.paginator.num_pages if table else 1,
            "results": [represented(one) for one in table.rows] if table else [],
        }
        return Response(ComparisonDetail(values).data)


def represented(row: Any) -> dict[str, Any]:
    names = ("item", "difference", "low", "high", "is_separated")
    sides = {
        name: dict(zip(("place", "utility", "low", "high"), getattr(row, name), strict=True))
        for name in ("first", "second")
    }
    return {name: getattr(row, name) for name in names} | sides
