"""Reports progress and forecasts through the API."""

from typing import Any
from uuid import UUID

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
from annotate.criteria import Criterion
from annotate.dashboard.progress.queries import progress
from annotate.dashboard.progress.savings import measured_saving
from annotate.fitting.published import published_fit
from annotate.labelling.targets import target_reached


class Count(serializers.Serializer):
    name = serializers.CharField()
    n = serializers.IntegerField()
    share = FiniteFloatField()


class TargetDetail(serializers.Serializer):
    n = serializers.IntegerField(help_text="Answers asked of each annotator.")
    n_annotators = serializers.IntegerField(help_text="Annotators who have answered.")
    n_reached = serializers.IntegerField(help_text="Of these, with as many answers as asked for, or more.")


class Within(serializers.Serializer):
    hours = serializers.IntegerField()
    low = serializers.IntegerField()
    middle = serializers.IntegerField()
    high = serializers.IntegerField()


class ForecastDetail(serializers.Serializer):
    as_of = serializers.DateTimeField(help_text="When it was computed, from the answers until then.")
    within = Within(
        many=True, help_text="Answers that count, likely to come within so many hours: median and 90% interval."
    )
    left = serializers.IntegerField(allow_null=True, help_text="Tasks that the plan still has; null without an end.")
    expected_annotators = FiniteFloatField(
        source="expected",
        allow_null=True,
        help_text="How many of those who have answered are expected within the next 24 hours; null if unknown.",
    )


class Ratio(serializers.Serializer):
    ratio = FiniteFloatField(allow_null=True, help_text="To the control arm; below 1 saves.")
    low = FiniteFloatField(allow_null=True)
    high = FiniteFloatField(allow_null=True, help_text="Ends of the 90% interval.")


class SavingDetail(serializers.Serializer):
    policy = serializers.CharField()
    n_control = serializers.IntegerField(help_text="Answers of the control arm so far.")
    sentence = serializers.CharField(allow_blank=True, help_text="What it saves, in words; empty while too early.")
    width = Ratio(allow_null=True, help_text="Mean width of the intervals after as many answers.")
    loss = Ratio(allow_null=True, help_text="Expected mistakes about the best or the classes after as many answers.")


class ProgressDetail(serializers.Serializer):
    n_given = serializers.IntegerField(help_text="All answers ever given.")
    n_counting = serializers.IntegerField(help_text="Answers that count in the ranking.")
    n_voided = serializers.IntegerField()
    first_at = serializers.DateTimeField(source="first", allow_null=True)
    last_at = serializers.DateTimeField(source="last", allow_null=True)
    outcomes = Count(many=True)
    voided = Count(many=True, help_text="Void answers by reason.")
    coverage = Count(many=True, help_text="Items by their number of comparisons in the published fit.")
    n_items = serializers.IntegerField(help_text="Number of items in the published fit.")
    n_thin = serializers.IntegerField(help_text="Of these, items with fewer than 5 comparisons.")
    forecast = ForecastDetail(
        source="outlook",
        allow_null=True,
        help_text="Null where the project is not open, and before the first forecast. After a day or less it reaches "
        "6 hours, else 7 days.",
    )
    saving = SavingDetail(allow_null=True, help_text="What the policy saves here; null where none is in force.")
    target = TargetDetail(allow_null=True, help_text="Null where annotators are not asked for a number of answers.")


class ProgressView(ApiView):
    @extend_schema(operation_id="progress_read", parameters=[CriterionQuery], responses=ProgressDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns how many answers there are, of which kind, and how well they cover the items."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        found: Any = progress(criterion, published_fit(criterion))
        found.__dict__["target"] = target_reached(project)
        found.__dict__["saving"] = saving_detail(criterion)
        return Response(ProgressDetail(found).data)


def saving_detail(criterion: Criterion) -> dict[str, Any] | None:
    saving = measured_saving(criterion)
    if saving is None:
        return None
    detail = {"policy": saving.policy, "n_control": saving.n_control, "sentence": saving.sentence}
    return detail | {name: saving.ratios.get(name) for name in ("width", "loss")}
