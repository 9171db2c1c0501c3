"""Tells through the API how a ranking was computed, ready to be cited."""

from uuid import UUID

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, CriterionQuery, NoQuery, validated_criterion, validated_query
from annotate.core import rate_limits
from annotate.criteria import Criterion
from annotate.publishing.methods.queries import Methods, methods_of


class ValueRow(serializers.Serializer):
    name = serializers.CharField()
    value = serializers.CharField()
    meaning = serializers.CharField(allow_blank=True)


class CountsRow(serializers.Serializer):
    counted = serializers.IntegerField(help_text="Labels of the project that count.")
    voided = serializers.DictField(child=serializers.IntegerField(), help_text="Labels that do not count, by reason.")
    n_annotators = serializers.IntegerField(help_text="Annotators who answered.")
    n_excluded = serializers.IntegerField()
    n_screened_out = serializers.IntegerField()


class MethodsDetail(serializers.Serializer):
    fit = serializers.IntegerField(source="fit.number")
    estimator = serializers.CharField(source="fit.estimator")
    seed = serializers.IntegerField(source="fit.seed")
    data_hash = serializers.CharField(source="fit.data_hash", allow_blank=True)
    title = serializers.CharField()
    formulas = serializers.SerializerMethodField(help_text="The likelihood, then the priors, as text.")
    assumptions = serializers.ListField(child=serializers.CharField())
    priors = serializers.ListField(child=serializers.CharField())
    inference = serializers.CharField(allow_blank=True)
    settings = ValueRow(many=True)
    fitted = ValueRow(many=True, help_text="Hyperparameters as fitted.")
    versions = ValueRow(many=True)
    predictions = serializers.ListField(
        child=serializers.CharField(), help_text="Of places predicted for items never compared; empty without any."
    )
    selection = serializers.ListField(child=serializers.CharField(), help_text="How questions were chosen.")
    checks = serializers.ListField(child=serializers.CharField())
    counts = CountsRow()
    preregistration = serializers.SerializerMethodField(help_text="SHA-256 of the frozen plan; empty if there is none.")
    n_deviations = serializers.SerializerMethodField(help_text="Changes of the plan since it was frozen.")
    paragraphs = serializers.SerializerMethodField(help_text="A methods paragraph, by language.")
    references = serializers.ListField(child=serializers.CharField())
    bibtex = serializers.CharField()

    def get_preregistration(self, methods: Methods) -> str:
        return methods.preregistration.digest if methods.preregistration else ""

    def get_n_deviations(self, methods: Methods) -> int:
        return len(methods.deviations)

    def get_formulas(self, methods: Methods) -> list[str]:
        return [one.text for one in methods.formulas]

    def get_paragraphs(self, methods: Methods) -> dict[str, str]:
        return {code: text for code, _name, text in methods.paragraphs}


def found_or_404(criterion: Criterion) -> Methods:
    found = methods_of(criterion)
    if found is None:
        raise Http404
    return found


class MethodsView(ApiView):
    @extend_schema(operation_id="methods_read", parameters=[CriterionQuery], responses=MethodsDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns how the ranking was computed: model, settings, versions, counts, a paragraph and BibTeX."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        return Response(MethodsDetail(found_or_404(criterion)).data)


class PublishedMethods(ApiView):
    """By a results link whose owner shows the methods, without an account."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="results_read_methods", responses=MethodsDetail)
    def get(self, request: ApiRequest, token: str) -> Response:
        """Returns how the published ranking was computed; not found where its owner does not show it."""
        rate_limits.check_rate_limit(request, "results")
        validated_query(request, NoQuery)
        link = access.results_link(token, timezone.now())
        if not link.shows_methods:
            raise Http404
        response = Response(MethodsDetail(found_or_404(Criterion(link.project, link.criterion))).data)
        response["X-Robots-Tag"] = "noindex, nofollow"
        response["Cache-Control"] = "no-store"
        return response
