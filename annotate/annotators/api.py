"""Lists annotators, excludes and readmits them through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators import queries as query
from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.annotators.forms import AnnotatorsForm, ExcludeForm
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    NoQuery,
    PageQuery,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.models import MAX_TAG_LENGTH, Annotator
from annotate.quality.gold.actions import admit_annotator

SORTS = [value for value, _words in AnnotatorsForm.base_fields["sort"].choices]  # type: ignore[attr-defined]
MAX_REASON_LENGTH = ExcludeForm.base_fields["reason"].max_length  # type: ignore[attr-defined]


class AnnotatorQuery(CriterionQuery, PageQuery):
    q = serializers.CharField(required=False, default="", max_length=100, help_text="Text that the pseudonym contains.")
    tag = serializers.CharField(
        required=False, default="", max_length=MAX_TAG_LENGTH, help_text="Only annotators with this tag."
    )
    sort = serializers.ChoiceField(choices=SORTS, required=False, default="-labels")


class FlagRow(serializers.Serializer):
    name = serializers.CharField(help_text="Stays the same, for programs.")
    words = serializers.CharField(help_text="The reason, with its figures.")


class ShareRow(serializers.Serializer):
    """k of n, with the 90% interval of the share behind it."""

    k = FiniteFloatField()
    n = serializers.IntegerField()
    low = FiniteFloatField()
    high = FiniteFloatField()


class ChecksRow(serializers.Serializer):
    """How carefully somebody answers, by the first criterion if there are several; null where there is no data."""

    fast = ShareRow(allow_null=True, help_text="Answers given faster than one can read.")
    side = ShareRow(allow_null=True, help_text="Choices of the position on the screen that this annotator chose most.")
    cant_judge = ShareRow(allow_null=True)
    tied = ShareRow(allow_null=True, help_text="Answers that call all items equal, of those that judge them.")
    gold = ShareRow(allow_null=True, help_text="Gold questions answered correctly.")
    attention = ShareRow(allow_null=True, help_text="Attention checks answered correctly.")
    repeats = ShareRow(allow_null=True, help_text="Planned repeats answered the same way.")


class AnnotatorRow(serializers.Serializer):
    key = serializers.UUIDField(source="annotator.key")
    pseudonym = serializers.CharField(source="annotator.pseudonym")
    source = serializers.ChoiceField(  # type: ignore[assignment]
        source="annotator.source", choices=Annotator.Source.choices
    )
    tags = serializers.ListField(child=serializers.CharField())
    joined_at = serializers.DateTimeField(source="annotator.joined_at")
    excluded_at = serializers.DateTimeField(source="annotator.excluded_at", allow_null=True)
    screened_out_at = serializers.DateTimeField(
        source="annotator.screened_out_at", allow_null=True, help_text="When the annotator was screened out."
    )
    screened_out_by = serializers.CharField(
        source="annotator.screened_out_by", allow_blank=True, help_text="By which rule: practice, attention or gold."
    )
    n_labels = serializers.IntegerField(help_text="Answers that count.")
    n_skips = serializers.IntegerField()
    n_voided = serializers.IntegerField()
    median_seconds = FiniteFloatField(allow_null=True)
    last_label_at = serializers.DateTimeField(source="last_seen", allow_null=True)
    agreement = FiniteFloatField(source="estimate.agreement", allow_null=True, default=None)
    reliability = FiniteFloatField(source="estimate.reliability", allow_null=True, default=None)
    reliability_low = FiniteFloatField(source="estimate.reliability_low", allow_null=True, default=None)
    reliability_high = FiniteFloatField(source="estimate.reliability_high", allow_null=True, default=None)
    taste_distance = FiniteFloatField(source="estimate.taste_distance", allow_null=True, default=None)
    returns_within_a_day = FiniteFloatField(
        source="returns.within_a_day",
        allow_null=True,
        default=None,
        help_text="P(another visit begins within 24 hours); null where no more answers are wanted or it is not known.",
    )
    has_left = serializers.BooleanField(
        source="returns.has_left",
        allow_null=True,
        default=None,
        help_text="Silent for longer than 95% of the gaps between visits last, and more likely gone than not.",
    )
    undecided = FiniteFloatField(
        source="undecided.value",
        allow_null=True,
        default=None,
        help_text="How many times as often as on average this annotator is undecided, once what they were shown is "
        "taken into account.",
    )
    undecided_low = FiniteFloatField(
        source="undecided.low", allow_null=True, default=None, help_text="Lower end of its 90% interval."
    )
    undecided_high = FiniteFloatField(source="undecided.high", allow_null=True, default=None)
    flags = FlagRow(source="checked.flags", many=True, help_text="Reasons to check the answers; flags exclude nobody.")
    checks = ChecksRow(source="checked")


class Exclusion(StrictSerializer):
    reason = serializers.CharField(max_length=MAX_REASON_LENGTH, required=False, default="", allow_blank=True)


class Excluded(serializers.Serializer):
    n_voided = serializers.IntegerField(help_text="Answers that no longer count.")


class Readmitted(serializers.Serializer):
    n_restored = serializers.IntegerField(help_text="Answers that count again.")
    n_kept_voided = serializers.IntegerField(
        help_text="Answers that stay void, because others have answered those sets since."
    )


def annotator_row(criterion: Criterion, keys: list[int]) -> list[Any]:
    fit = published_fit(criterion)
    rows = query.with_undecided(query.build_rows(keys, fit), fit)
    for row in rows:
        row.__dict__["median_seconds"] = None if row.median_ms is None else row.median_ms / 1000
    return list(AnnotatorRow(rows, many=True).data)


def annotator_detail(criterion: Criterion, key: int) -> Any:
    """Raise Annotator.DoesNotExist where they have been erased meanwhile."""
    rows = annotator_row(criterion, [key])
    if not rows:
        raise Annotator.DoesNotExist
    return rows[0]


class Annotators(ApiView):
    @extend_schema(operation_id="annotators_list", parameters=[AnnotatorQuery], responses=page_serializer(AnnotatorRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the annotators with number of answers, speed, agreement and reliability; unknown values sort last."""
        project = access.project_for(request, project_id, access.SEE)
        wanted = validated_query(request, AnnotatorQuery)
        criterion = validated_criterion(project, wanted)
        people = Annotator.objects.filter(project=project)
        if wanted["q"]:
            people = people.filter(pseudonym__icontains=wanted["q"])
        if wanted["tag"]:
            people = people.filter(tags__name=wanted["tag"])
        sort = wanted["sort"]
        wanted_order = query.AnnotatorsQuery(sort=sort.removeprefix("-"), descending=sort.startswith("-"))
        order = query.sort_annotators(criterion, published_fit(criterion), wanted_order, people)
        return paginated_response(request, order, wanted, lambda keys: annotator_row(criterion, keys))


class AnnotatorView(ApiView):
    @extend_schema(operation_id="annotators_read", parameters=[CriterionQuery], responses=AnnotatorRow)
    def get(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Returns one annotator."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        return Response(annotator_detail(criterion, get_object_or_404(project.annotators, key=key).pk))


class Exclude(ApiView):
    @extend_schema(operation_id="annotators_exclude", request=Exclusion, responses=Excluded)
    def post(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Excludes the annotator: voids all their answers and accepts no more. The next fit leaves them out."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        annotator = get_object_or_404(project.annotators, key=key)
        reason = validated_body(request, Exclusion)["reason"]
        n = exclude_annotator(annotator=annotator, actor=request.user, reason=reason, now=timezone.now())
        return Response({"n_voided": n})


class Readmit(ApiView):
    @extend_schema(operation_id="annotators_readmit", request=None, responses=Readmitted)
    def post(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Readmits the annotator and restores the answers to sets that others have not answered since."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        annotator = get_object_or_404(project.annotators, key=key)
        result = readmit_annotator(annotator=annotator, actor=request.user, now=timezone.now())
        return Response({"n_restored": result.restored, "n_kept_voided": result.kept_voided})


class LetIn(ApiView):
    @extend_schema(operation_id="annotators_let_in", request=None, responses=AnnotatorRow)
    def post(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Admits an annotator who failed the practice."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        annotator = get_object_or_404(project.annotators.select_related("project"), key=key)
        admit_annotator(annotator=annotator, actor=request.user, now=timezone.now())
        return Response(annotator_detail(Criterion(project), annotator.pk))
