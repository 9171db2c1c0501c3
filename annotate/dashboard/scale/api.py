"""Reads the ranking on another scale through the API."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.criteria import Criterion
from annotate.dashboard.scale.actions import keep_anchors
from annotate.dashboard.scale.forms import KEPT, KINDS, MAX_TEXT, SPREAD, ScaleForm
from annotate.dashboard.scale.queries import Scale, anchors_to_keep, kept_scale, scaled_ranking
from annotate.dashboard.trust.api import fit_of
from annotate.models import Project
from models_engine.models import Fit


class ScaleQuery(CriterionQuery):
    kind = serializers.ChoiceField(
        choices=list(KINDS),
        required=False,
        default="",
        help_text="kept: the scale kept for this project, which is meant if none is named; spread (meant where none is "
        "kept): by mean and deviation; source: an earlier project's; anchors: values that are given.",
    )
    mean = serializers.FloatField(required=False, default=50, min_value=-1e6, max_value=1e6)
    deviation = serializers.FloatField(required=False, default=15, min_value=0.001, max_value=1e6)
    source = serializers.UUIDField(required=False, default=None, help_text="The earlier project.")  # type: ignore[assignment]
    anchors = serializers.CharField(
        required=False,
        default="",
        max_length=MAX_TEXT,
        help_text="One a line: key; value; if known, the value's standard deviation.",
    )
    page = serializers.IntegerField(required=False, default=1, min_value=1, max_value=10**9)


class ScaledRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")
    value = FiniteFloatField()
    low = FiniteFloatField(help_text="Lower end of the 90% interval, the line's error included.")
    high = FiniteFloatField()
    is_anchor = serializers.BooleanField()


class AnchorRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    known = FiniteFloatField(help_text="Its value as given.")
    found = FiniteFloatField(help_text="Its value on the line of all anchors.")
    residual = FiniteFloatField(help_text="The difference in standard deviations.")
    has_moved = serializers.BooleanField(help_text="Whether it is more than 2.5 from the line of those that agree.")


class ScaleDetail(serializers.Serializer):
    fit = serializers.IntegerField()
    problem = serializers.CharField(help_text="Why there is no scale; empty where there is one.")
    slope = FiniteFloatField(help_text="What a logit is worth.")
    anchors = AnchorRow(many=True)
    n_pages = serializers.IntegerField()
    results = ScaledRow(many=True, help_text="Items of the largest part, the best first, 50 a page.")


class ScaleView(ApiView):
    @extend_schema(operation_id="scale_read", parameters=[ScaleQuery], responses=ScaleDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """The ranking on another scale: scaled scores, or the scale of a former round carried on by anchors."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, ScaleQuery)
        criterion = validated_criterion(project, query)
        fit = fit_of(criterion)
        return render_scale(project, fit, scale_of(request, criterion, query), query["page"])

    @extend_schema(operation_id="scale_keep", parameters=[ScaleQuery], request=None, responses=ScaleDetail)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Keeps the scale that the query describes: its anchors have fixed values from now on, whatever is fitted."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, ScaleQuery)
        criterion = validated_criterion(project, query)
        fit = fit_of(criterion)
        anchors = anchors_to_keep(project, fit, scale_of(request, criterion, query))
        if not anchors:
            raise Unprocessable({"kind": [_("There is no scale to keep yet. Nothing was changed.")]})
        keep_anchors(criterion=criterion, actor=request.user, anchors=anchors, now=timezone.now())
        return render_scale(project, fit, Scale(anchors=anchors), query["page"])

    @extend_schema(operation_id="scale_forget", request=None, parameters=[CriterionQuery], responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID) -> Response:
        """Keeps the scale no longer."""
        project = access.project_for(request, project_id, access.MANAGE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        keep_anchors(criterion=criterion, actor=request.user, anchors=(), now=timezone.now())
        return Response(status=204)


def scale_of(request: ApiRequest, criterion: Criterion, query: dict[str, Any]) -> Scale:
    """Raises Unprocessable."""
    kind = query["kind"] or (KEPT if kept_scale(criterion) else SPREAD)
    given = {name: one for name, one in query.items() if one is not None} | {"kind": kind}
    form = ScaleForm(criterion, request.user, given)
    if query["source"]:
        access.project_for(request, query["source"], access.SEE)
    if not form.is_valid():
        raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
    return form.scale()


def render_scale(project: Project, fit: Fit, scale: Scale, page: int) -> Response:
    found = scaled_ranking(project, fit, scale, str(page))
    values = {**vars(found), "fit": fit.number, "results": found.rows if found else []}
    values["n_pages"] = found.page.paginator.num_pages if found and found.page else 0
    return Response(ScaleDetail(values).data)
