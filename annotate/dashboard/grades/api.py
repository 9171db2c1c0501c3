"""Reads, sets and removes a project's grades through the API."""

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
    CriterionQuery,
    FiniteFloatField,
    NoQuery,
    StrictSerializer,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.criteria import Criterion
from annotate.dashboard.grades.forms import MAX_NAME_LENGTH, find_problems
from annotate.dashboard.grades.queries import grades_of
from annotate.fitting.published import published_fit
from annotate.models.grades import MAX_GRADES, GradesBy
from annotate.projects.actions import change_project


class GradesQuery(CriterionQuery):
    page = serializers.IntegerField(required=False, default=1, min_value=1, max_value=10**9)


class NewGrade(StrictSerializer):
    name = serializers.CharField(max_length=MAX_NAME_LENGTH)
    limit = serializers.FloatField(
        min_value=0,
        max_value=100,
        required=False,
        allow_null=True,
        default=None,
        help_text="By score, where the grade begins; by share, the percentage of the items. Null for the last.",
    )


class GradeSettings(StrictSerializer):
    """The best grade first; the last takes the rest."""

    by = serializers.ChoiceField(choices=GradesBy.choices)
    grades = serializers.ListField(child=NewGrade(), max_length=MAX_GRADES, min_length=2)


class GradeRow(serializers.Serializer):
    name = serializers.CharField()
    limit = FiniteFloatField(allow_null=True, help_text="As it was set.")
    begins = FiniteFloatField(
        allow_null=True, default=None, help_text="The score at which it begins in the published fit."
    )
    expected = FiniteFloatField(allow_null=True, default=None, help_text="How many items are expected to have it.")
    is_settled = serializers.BooleanField(
        allow_null=True,
        default=None,
        help_text="Whether at most 5% of the items are expected on the wrong side of where it begins.",
    )


class GradedRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")
    grade = serializers.CharField(help_text="The likeliest.")
    probabilities = serializers.ListField(child=FiniteFloatField(), help_text="Of each grade, the best first.")


class GradesDetail(serializers.Serializer):
    by = serializers.ChoiceField(choices=GradesBy.choices)
    grades = GradeRow(many=True, help_text="The best first; empty where there are none.")
    fit = serializers.IntegerField(allow_null=True)
    n_pages = serializers.IntegerField()
    results = GradedRow(many=True, help_text="Items of the largest part, the best first, 50 a page.")


def render_grades(criterion: Criterion, page: int = 1) -> Response:
    project, fit = criterion.project, published_fit(criterion)
    found = grades_of(project, fit, str(page))
    grades: list[dict[str, Any]] = [dict(grade) for grade in project.grades]
    for grade, line in zip(grades, found.lines if found else [], strict=False):
        grade |= {"begins": line.begins, "expected": line.expected, "is_settled": line.is_settled}
    values = {
        "by": project.grades_by,
        "grades": grades,
        "fit": fit.number if fit and found else None,
        "n_pages": found.page.paginator.num_pages if found else 0,
        "results": found.rows if found else [],
    }
    return Response(GradesDetail(values).data)


class GradesView(ApiView):
    @extend_schema(operation_id="grades_read", parameters=[GradesQuery], responses=GradesDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """The grades, where they begin, and the probability of each grade for each item."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, GradesQuery)
        return render_grades(validated_criterion(project, query), query["page"])

    @extend_schema(operation_id="grades_update", request=GradeSettings, responses=GradesDetail)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Sets the grades of every criterion; the published ranking is graded at once."""
        access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, GradeSettings)
        grades = [{"name": one["name"], "limit": one["limit"]} for one in given["grades"]]
        problems = find_problems(given["by"], grades)
        if problems:
            raise Unprocessable({f"grades.{place}.{field}": [text] for place, field, text in problems})
        grades[-1]["limit"] = None
        return save_grades(request, project_id, {"grades_by": given["by"], "grades": grades})

    @extend_schema(operation_id="grades_remove", request=None, responses={200: GradesDetail})
    def delete(self, request: ApiRequest, project_id: UUID) -> Response:
        """Removes the grades."""
        access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return save_grades(request, project_id, {"grades": []})


def save_grades(request: ApiRequest, project_id: UUID, values: dict[str, Any]) -> Response:
    project = access.project_for(request, project_id, access.MANAGE)
    change_project(project=project, actor=request.user, values=values, now=timezone.now())
    return render_grades(Criterion(access.project_for(request, project_id, access.MANAGE)))
