"""Lists cohorts, starts comparisons of two and serves the results through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.cohorts.actions import request_comparison
from annotate.annotators.cohorts.forms import CohortsForm
from annotate.annotators.cohorts.groupings import groupings
from annotate.annotators.cohorts.queries import SideBySideQuery, comparison_status, comparisons, side_by_side
from annotate.annotators.tastes.api import ShortPage
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    NoQuery,
    StoredMessageField,
    check_page_exists,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.api import BoardRow, StyleFeature
from annotate.files.limits import MAX_TAG
from annotate.models import CohortComparison

SORTS = [value for value, _words in CohortsForm.base_fields["sort"].choices]  # type: ignore[attr-defined]


class CohortRow(serializers.Serializer):
    key = serializers.CharField()
    name = serializers.CharField()
    n = serializers.IntegerField(help_text="Number of annotators.")


class DivisionRow(serializers.Serializer):
    key = serializers.CharField(help_text="Value for `by`.")
    name = serializers.CharField()
    values = CohortRow(many=True)


class Asking(CriterionQuery):
    by = serializers.CharField(max_length=40, help_text="Key of the property that divides the annotators.")
    first = serializers.CharField(max_length=200, help_text="Key of the first cohort.")
    second = serializers.CharField(
        max_length=200,
        required=False,
        default="",
        allow_blank=True,
        help_text="Key of the second cohort; empty: everybody else.",
    )


class SizeRow(serializers.Serializer):
    n_annotators = serializers.IntegerField()
    n_labels = serializers.IntegerField()


class ComparisonRow(serializers.Serializer):
    id = serializers.IntegerField(source="comparison.pk")
    criterion = serializers.IntegerField(
        source="comparison.criterion", help_text="Number of the criterion; 1 if the project has only one."
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
    sizes = SizeRow(many=True, help_text="Annotators and labels of the first and the second cohort; empty until ready.")


class CohortsDetail(serializers.Serializer):
    divisions = DivisionRow(many=True)
    comparisons = ComparisonRow(many=True, help_text="Stored comparisons, newest first.")


class SideQuery(ShortPage):
    sort = serializers.ChoiceField(choices=SORTS, required=False, default="-difference")
    tag = serializers.CharField(required=False, default="", max_length=MAX_TAG, help_text="Only items with this tag.")


class Side(serializers.Serializer):
    place = serializers.IntegerField()
    utility = FiniteFloatField()
    low = FiniteFloatField(help_text="Lower end of the 90% interval.")
    high = FiniteFloatField()
    score = FiniteFloatField(allow_null=True, help_text="0 to 100, an average item has 50; null in older comparisons.")
    score_low = FiniteFloatField(allow_null=True)
    score_high = FiniteFloatField(allow_null=True)


class SideBySideRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")
    first = Side()
    second = Side()
    difference = FiniteFloatField(help_text="First minus second.")
    low = FiniteFloatField()
    high = FiniteFloatField()
    is_separated = serializers.BooleanField(help_text="Whether the 90% interval of the difference excludes 0.")


class CohortBoardRow(BoardRow):
    effect = FiniteFloatField(help_text="How much better it is in this cohort than elsewhere, in logits.")
    effect_sd = FiniteFloatField()


class CohortLeaderboard(serializers.Serializer):
    cohort = serializers.CharField(source="key", allow_blank=True, help_text="Empty: everybody else.")
    n_annotators = serializers.IntegerField()
    n_labels = serializers.IntegerField(help_text="Answers about competitors.")
    rows = CohortBoardRow(many=True, help_text="Empty where there are too few answers.")
    equal = CohortBoardRow(
        many=True, required=False, help_text="The same with the chosen features of style held equal; empty without any."
    )


class ComparisonDetail(ComparisonRow):
    leaderboards = CohortLeaderboard(
        many=True,
        help_text="Where items name competitors: their ranking by each cohort of the property, drawn towards the whole "
        "by as much as cohorts are alike.",
    )
    leaderboards_style = StyleFeature(
        many=True, help_text="The features that `equal` holds equal, with what they add in every cohort alike."
    )
    leaderboards_problem = StoredMessageField(allow_blank=True, help_text="Why there are no leaderboards by cohort.")
    n_items = serializers.IntegerField()
    n_separated = serializers.IntegerField()
    correlation = FiniteFloatField(allow_null=True, help_text="Correlation of the utilities.")
    n_pages = serializers.IntegerField()
    results = SideBySideRow(many=True, help_text="Empty until the comparison is ready.")


def side_by_side_row(one: Any) -> dict[str, Any]:
    sizes = [{"n_annotators": people, "n_labels": labels} for people, labels in one.comparison.sizes]
    names = {"by_name": one.by, "first_name": one.first, "second_name": one.second}
    return {"comparison": one.comparison, "why": one.why, "sizes": sizes, **names}


class CohortsView(ApiView):
    @extend_schema(operation_id="cohorts_list", parameters=[CriterionQuery], responses=CohortsDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the cohorts that can be compared and the comparisons requested, by one criterion."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        found = groupings(criterion)
        values = {
            "divisions": found,
            "comparisons": [side_by_side_row(comparison_status(row, found)) for row in comparisons(criterion)],
        }
        return Response(CohortsDetail(values).data)

    @extend_schema(operation_id="cohorts_compare", parameters=[HEADER], request=Asking, responses={202: ComparisonRow})
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Starts a comparison of two cohorts; repeating the request recomputes it. Poll until `status` is `ready`."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        check_rate_limit(request, "export")
        asking = validated_body(request, Asking)
        criterion = validated_criterion(project, asking)
        cohorts = {name: asking[name] for name in ("by", "first", "second")}
        row = request_comparison(criterion=criterion, actor=request.user, now=timezone.now(), **cohorts)
        row.refresh_from_db()
        return Response(ComparisonRow(side_by_side_row(comparison_status(row, groupings(criterion)))).data, status=202)


class CohortsRead(ApiView):
    @extend_schema(operation_id="cohorts_read", parameters=[SideQuery], responses=ComparisonDetail)
    def get(self, request: ApiRequest, project_id: UUID, comparison_id: int) -> Response:
        """Returns the state of a comparison and, once ready, the two rankings side by side."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, SideQuery)
        row = get_object_or_404(project.cohort_comparisons, pk=comparison_id)
        criterion = Criterion(project, row.criterion)
        sort = query["sort"]
        order = SideBySideQuery(row.pk, sort.removeprefix("-"), sort.startswith("-"), query["tag"], query["page"])
        table = side_by_side(criterion.project, bytes(row.arrays), order) if row.arrays else None
        check_page_exists(table.page if table else None, query["page"])
        values = side_by_side_row(comparison_status(row, groupings(criterion))) | {
            "leaderboards": row.boards.get("cohorts", []),
            "leaderboards_style": (row.boards.get("style") or {}).get("features", []),
            "leaderboards_problem": row.boards.get("problem", ""),
            "n_items": table.n_items if table else 0,
            "n_separated": table.n_separated if table else 0,
            "correlation": table and table.correlation,
            "n_pages": table.page.paginator.num_pages if table else 1,
            "results": [comparison_row(one) for one in table.rows] if table else [],
        }
        return Response(ComparisonDetail(values).data)


def comparison_row(row: Any) -> dict[str, Any]:
    names = ("item", "difference", "low", "high", "is_separated")
    sides = {
        name: dict(zip(("place", "utility", "low", "high"), getattr(row, name), strict=True))
        | dict(zip(("score", "score_low", "score_high"), row.scores[n] if row.scores else (None,) * 3, strict=True))
        for n, name in enumerate(("first", "second"))
    }
    return {name: getattr(row, name) for name in names} | sides
