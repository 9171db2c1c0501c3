"""Serves what an annotator may see of the result through the API."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate.annotators.own_result.queries import check_may_view, own_result
from annotate.annotators.tastes.api import ShortPage
from annotate.api.authentication import ANNOTATE
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    check_page_exists,
    validated_criterion,
    validated_query,
)
from annotate.labelling.api import annotator_or_404


class OwnResultQuery(CriterionQuery, ShortPage):
    """Query of one's own result."""


class PlacedRow(serializers.Serializer):
    text = serializers.CharField()
    place = serializers.IntegerField(help_text="In everybody's ranking.")
    low = serializers.IntegerField(allow_null=True, help_text="Lower end of the place's 90% interval, if told.")
    high = serializers.IntegerField(allow_null=True)
    own_place = serializers.IntegerField(allow_null=True, help_text="In your own ranking; null if there is none.")


class GroupTold(serializers.Serializer):
    number = serializers.IntegerField()
    n_groups = serializers.IntegerField()
    n = serializers.IntegerField(help_text="Number of people in it.")
    is_sure = serializers.BooleanField(help_text="Whether its probability is 0.9 or more.")
    likes = serializers.ListField(child=serializers.CharField(), help_text="What it likes more than everybody else.")
    dislikes = serializers.ListField(child=serializers.CharField())


class OwnResultDetail(serializers.Serializer):
    n_done = serializers.IntegerField(help_text="Number of your answers that count.")
    shown = serializers.BooleanField(help_text="Whether the project shows you its result now.")
    n_missing = serializers.IntegerField(help_text="Answers until it does, where that is what it takes; else 0.")
    n_labels = serializers.IntegerField(allow_null=True, default=None, source="fit.n_labels")
    n_annotators = serializers.IntegerField(allow_null=True, default=None, source="fit.n_annotators")
    n_pages = serializers.IntegerField()
    results = PlacedRow(many=True, source="rows")
    group = GroupTold(allow_null=True)


class OwnResultView(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_result", parameters=[OwnResultQuery], responses=OwnResultDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns your own ranking beside everybody's, and your group, where the project shows them to you."""
        annotator = annotator_or_404(request, project_id)
        query = validated_query(request, OwnResultQuery)
        criterion = validated_criterion(annotator.project, query)
        now = timezone.now()
        check_may_view(annotator, now)
        found = own_result(criterion, annotator, now, query["page"])
        check_page_exists(found.page, query["page"])
        values = {name: getattr(found, name) for name in ("n_done", "shown", "n_missing", "fit", "rows", "group")}
        values["n_pages"] = found.page.paginator.num_pages if found.page else 1
        return Response(OwnResultDetail(values).data)
