"""Serves the estimators compared, with advice about them, and two fits compared through the API."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
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
from annotate.dashboard.fits.advice import estimator_advice, keep_estimator
from annotate.dashboard.fits.comparison import compare_two_fits
from annotate.dashboard.fits.queries import evaluation_table
from annotate.fitting.stored_gain import list_gains

MAX_FIT_NUMBER = 2**31 - 1


class EvaluatedRow(serializers.Serializer):
    name = serializers.CharField()
    loss = FiniteFloatField(
        allow_null=True, help_text="Log loss: mean of -log P of labels set aside; null if it failed."
    )
    accuracy = FiniteFloatField(allow_null=True, default=None)
    seconds = FiniteFloatField(allow_null=True, default=None)
    gain = FiniteFloatField(
        allow_null=True, default=None, help_text="How much smaller its log loss is than that of the one in use."
    )
    gain_error = FiniteFloatField(allow_null=True, default=None, help_text="Standard error, paired over the answers.")
    is_offered = serializers.BooleanField(help_text="Whether a project may use it.")


class AdviceDetail(serializers.Serializer):
    """An offered estimator that predicts unseen answers clearly better than the one in use."""

    name = serializers.CharField()
    sentence = serializers.CharField()
    gain = FiniteFloatField(help_text="How much smaller its log loss is on the same answers, in nats; at least 0.02.")
    error = FiniteFloatField(help_text="Standard error of the gain; at most half of it.")
    n = serializers.IntegerField(help_text="Answers predicted.")


class PredictionDetail(serializers.Serializer):
    """What item features tell of items left out: whether places of items never compared are predicted from them."""

    enabled = serializers.BooleanField(help_text="The project's setting predict_unseen.")
    helps = serializers.BooleanField(
        help_text="Whether the gain is more than its standard error; else nothing is predicted."
    )
    sentence = serializers.CharField()
    gain = FiniteFloatField(allow_null=True, help_text="How much smaller the log loss is with features, in nats.")
    error = FiniteFloatField(allow_null=True, help_text="Standard error of the gain.")
    n_items = serializers.IntegerField(allow_null=True, help_text="Items left out.")
    n_pairs = serializers.IntegerField(allow_null=True, help_text="Comparisons predicted.")
    made_at = serializers.DateTimeField(allow_null=True)


class ModelsDetail(serializers.Serializer):
    estimator = serializers.CharField(help_text="The project's setting; change it with projects_update.")
    best = serializers.CharField(allow_null=True)
    n_labels = serializers.IntegerField(allow_null=True)
    fit_number = serializers.IntegerField(allow_null=True)
    made_at = serializers.DateTimeField(allow_null=True)
    rows = EvaluatedRow(many=True, help_text="Best first; empty until tested.")
    advice = AdviceDetail(
        allow_null=True, help_text="Null where none is clearly better, for viewers, and after models_keep."
    )
    predictions = PredictionDetail(allow_null=True, help_text="Null where the items have no features.")


class Kept(serializers.Serializer):
    kept = serializers.BooleanField(help_text="False where no better estimator had been told of.")


class ModelsView(ApiView):
    @extend_schema(operation_id="models_read", parameters=[CriterionQuery], responses=ModelsDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Compares the estimators by how well they predict labels they have not seen."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        found = evaluation_table(criterion)
        names = ("best", "n_labels", "fit_number", "made_at", "rows")
        values = {name: getattr(found, name) if found else None for name in names}
        values |= {"rows": values["rows"] or [], "estimator": project.estimator}
        values["advice"] = estimator_advice(criterion) if project.role in access.MANAGE else None
        values["predictions"] = predictions_of(criterion)
        return Response(ModelsDetail(values).data)

    @extend_schema(operation_id="models_keep", request=None, responses=Kept)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Keeps the estimator in use: a better one is told of again only after the next evaluation."""
        project = access.project_for(request, project_id, access.MANAGE)
        return Response(Kept({"kept": keep_estimator(project, timezone.now())}).data)


def predictions_of(criterion: Criterion) -> dict[str, Any] | None:
    """Return the fields of PredictionDetail."""
    gains = list_gains(criterion.project)
    if not gains:
        return None
    one = gains[criterion.number - 1]
    figures = one.row.figures if one.row else {}
    found = {name: figures.get(name) for name in ("gain", "error", "n_items", "n_pairs")}
    made_at = one.row.made_at if one.row else None
    enabled = criterion.project.predict_unseen
    return {**found, "enabled": enabled, "helps": one.helps, "sentence": one.sentence, "made_at": made_at}


class CompareQuery(CriterionQuery):
    first = serializers.IntegerField(min_value=1, max_value=MAX_FIT_NUMBER, help_text="Number of a fit.")
    second = serializers.IntegerField(min_value=1, max_value=MAX_FIT_NUMBER, help_text="Number of another fit.")
    page = serializers.IntegerField(required=False, default=1, min_value=1, max_value=10**9)


class Place(serializers.Serializer):
    score = FiniteFloatField(allow_null=True, help_text="Chance, in per cent, to be preferred to an average item.")
    score_low = FiniteFloatField(allow_null=True)
    score_high = FiniteFloatField(allow_null=True)
    utility = FiniteFloatField(allow_null=True)
    sd = FiniteFloatField(allow_null=True)
    place = serializers.IntegerField()


class ComparedRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")
    first = Place()
    second = Place()
    change = FiniteFloatField(allow_null=True)
    is_far = serializers.BooleanField(help_text="Whether the 90% intervals do not touch.")


class ComparedDetail(serializers.Serializer):
    n_common = serializers.IntegerField()
    n_only_first = serializers.IntegerField()
    n_only_second = serializers.IntegerField()
    n_far = serializers.IntegerField()
    one_order = serializers.BooleanField(
        help_text="Whether both fits rank all items in one order, so that places can be compared."
    )
    correlation = FiniteFloatField(allow_null=True, help_text="Correlation of the utilities.")
    n_pages = serializers.IntegerField(source="page.paginator.num_pages")
    results = ComparedRow(many=True, help_text="Widest differences first.")


class CompareView(ApiView):
    @extend_schema(operation_id="fits_compare", parameters=[CompareQuery], responses=ComparedDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Compares two fits item by item."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, CompareQuery)
        criterion = validated_criterion(project, query)
        found = compare_two_fits(criterion, (query["first"], query["second"]), str(query["page"]))
        if found is None:
            raise NotFound(_("One of these fits is no longer kept. The list of fits names those that are."))
        found.__dict__["results"] = [
            {
                "item": row.item,
                "change": row.change,
                "is_far": row.is_far,
                **{
                    name: figures._asdict() | {"place": place}
                    for name, figures, place in (
                        ("first", row.first, row.first_place),
                        ("second", row.second, row.second_place),
                    )
                },
            }
            for row in found.rows
        ]
        return Response(ComparedDetail(found).data)
