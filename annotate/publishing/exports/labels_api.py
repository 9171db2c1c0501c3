"""Lists labels in order of arrival through the API, by cursor, so that new answers shift no page."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    DEFAULT_PAGE_SIZE,
    MAX_PAGE_SIZE,
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    validated_criterion,
    validated_query,
)
from annotate.criteria import Criterion
from annotate.labelling.label_rows import (
    correctness_of,
    fields_by_criterion,
    item_comments_of,
    labels_by_criterion,
    require_labels,
    with_items,
    without_prefix,
)
from annotate.models import Label
from annotate.publishing.exports.labels import COLUMNS, row

NAMES = [column.name for column in COLUMNS]


class LabelQuery(CriterionQuery):
    annotator = serializers.UUIDField(required=False, help_text="The annotator's key.")
    item = serializers.CharField(required=False, max_length=200, help_text="Key of an item that was shown.")
    outcome = serializers.ChoiceField(choices=Label.Outcome.choices, required=False)
    voided = serializers.BooleanField(required=False, allow_null=True, default=None)
    since = serializers.DateTimeField(required=False, help_text="Labels that arrived at this time or later.")
    until = serializers.DateTimeField(required=False, help_text="Labels that arrived before this time.")
    cursor = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=2**63 - 1,
        help_text="Number of a label; returns the labels after it.",
    )
    page_size = serializers.IntegerField(
        required=False, default=DEFAULT_PAGE_SIZE, min_value=1, max_value=MAX_PAGE_SIZE
    )


class LabelRow(serializers.Serializer):
    """The columns of the export of labels, under the same names."""

    label = serializers.IntegerField()  # type: ignore[assignment]
    presentation = serializers.IntegerField()
    task_type = serializers.CharField()
    k = serializers.IntegerField()
    criterion = serializers.CharField(help_text="The question that was asked, or the name of the criterion.")
    annotator = serializers.CharField(help_text="Pseudonym, unique in the project.")
    outcome = serializers.CharField(help_text="left or right for a choice between two.")
    grade = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True, help_text="Why it was skipped.")
    comment = serializers.CharField(allow_blank=True)
    winner = serializers.CharField(allow_null=True)
    loser = serializers.CharField(allow_null=True)
    ranking = serializers.ListField(child=serializers.ListField(child=serializers.CharField()), allow_null=True)
    shown_order = serializers.ListField(child=serializers.CharField())
    purpose = serializers.CharField(help_text="ordinary, practice, gold, attention or repeat.")
    is_gold = serializers.BooleanField()
    is_repeat = serializers.BooleanField()
    valid = serializers.BooleanField(help_text="Whether fits count the label.")
    voided = serializers.BooleanField()
    void_reason = serializers.CharField(allow_blank=True)
    voided_at = serializers.DateTimeField(allow_null=True)
    presented_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    client_at = serializers.DateTimeField(allow_null=True)
    response_seconds = FiniteFloatField(allow_null=True)
    active_seconds = FiniteFloatField(allow_null=True)
    asked_by = serializers.CharField(
        allow_blank=True, help_text="The rule that chose the question: balanced, control or adaptive."
    )
    asked_fit = serializers.IntegerField(allow_null=True, help_text="Number of the fit that suggested the question.")
    app_version = serializers.CharField()
    language = serializers.CharField(
        allow_blank=True, help_text="The language in which it was asked; fr/en if part of it was shown in en."
    )
    item_comments = serializers.ListField(
        child=serializers.CharField(allow_blank=True),
        allow_null=True,
        help_text="Comments on the items in the order shown; null if there are none.",
    )


class LabelPage(serializers.Serializer):
    next = serializers.URLField(allow_null=True, help_text="Null if there are no further labels yet.")
    cursor = serializers.IntegerField(help_text="The last label of this page; use it later to get newer labels.")
    results = LabelRow(many=True)


class Labels(ApiView):
    @extend_schema(operation_id="labels_list", parameters=[LabelQuery], responses=LabelPage)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """List every answer ever given, including void ones, by one criterion."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, LabelQuery)
        require_labels(project)
        size = query["page_size"]
        criterion = validated_criterion(project, query)
        found = filter_labels(criterion, query).order_by("pk").values(*fields_by_criterion(criterion))
        labels = [without_prefix(label) for label in found[: size + 1]]
        page = labels[:size]
        cursor = page[-1]["pk"] if page else query["cursor"]
        following = {**request.query_params.dict(), "cursor": cursor}
        address = f"{request.build_absolute_uri(request.path)}?{urlencode(following)}"
        return Response(
            {
                "next": address if len(labels) > size else None,
                "cursor": cursor,
                "results": label_row(criterion, page),
            }
        )


def filter_labels(criterion: Criterion, query: dict[str, Any]) -> QuerySet[Label]:
    project = criterion.project
    outcomes = [query["outcome"]] if "outcome" in query else None
    labels = labels_by_criterion(criterion, Label.objects.filter(project=project, pk__gt=query["cursor"]), outcomes)
    if "annotator" in query:
        labels = labels.filter(annotator__key=query["annotator"])
    if "item" in query:
        shown = project.items.filter(key=query["item"]).values("presented__presentation")
        labels = labels.filter(presentation__in=shown)
    if query["voided"] is not None:
        labels = labels.filter(voided_at__isnull=not query["voided"])
    if "since" in query:
        labels = labels.filter(created_at__gte=query["since"])
    if "until" in query:
        labels = labels.filter(created_at__lt=query["until"])
    return labels


def label_row(criterion: Criterion, labels: list[dict[str, Any]]) -> list[Any]:
    labels, shown, items = with_items(labels)
    held = correctness_of(labels) if criterion.number == 1 else {}
    comments = item_comments_of(labels)
    rows = [
        row(
            criterion,
            label,
            [items[item] for item in shown[label["presentation"]]],
            held,
            comments.get(label["pk"], {}),
        )
        for label in labels
    ]
    return list(LabelRow([dict(zip(NAMES, values, strict=True)) for values in rows], many=True).data)
