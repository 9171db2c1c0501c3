"""Makes and revokes results links and serves the published ranking through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
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
from annotate.core import rate_limits
from annotate.criteria import Criterion
from annotate.dashboard.ranking.queries import RankingQuery, sort_estimates
from annotate.dashboard.ranking.table import place_figures, small_parts
from annotate.fitting.published import published_fit
from annotate.models import MAX_CRITERIA, Item, ResultsLink
from annotate.publishing.results_links.actions import make_link, revoke_link
from models_engine.models import Estimate, Fit


class ResultsLinkRow(serializers.Serializer):
    id = serializers.UUIDField(source="pk")
    criterion = serializers.IntegerField(help_text="Number of the criterion shown; 1 if the project has only one.")
    made_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null: valid until revoked.")
    revoked_at = serializers.DateTimeField(allow_null=True)
    url = serializers.SerializerMethodField(help_text="Address of the page; anyone who has it can see the ranking.")
    token = serializers.CharField(help_text="Token with which programs read the ranking (results_read).")

    def get_url(self, link: ResultsLink) -> str:
        return str(reverse("results", args=[link.token], request=self.context["request"]))


class NewResultsLink(StrictSerializer):
    criterion = serializers.IntegerField(required=False, default=1, min_value=1, max_value=MAX_CRITERIA)
    expires_at = serializers.DateTimeField(required=False, default=None, allow_null=True)


class ResultsLinks(ApiView):
    @extend_schema(operation_id="results_links_list", parameters=[PageQuery], responses=page_serializer(ResultsLinkRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the project's results links, newest first, including revoked ones."""
        project = access.project_for(request, project_id, access.OWN)
        query = validated_query(request, PageQuery)
        links = project.results_links.order_by("-made_at", "-pk")
        return paginated_response(request, links, query, lambda rows: list(link_row(rows, request, many=True)))

    @extend_schema(operation_id="results_links_create", request=NewResultsLink, responses={201: ResultsLinkRow})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Creates a results link: anyone who has it can see the ranking.

        Takes no Idempotency-Key, because the response contains a secret.
        """
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        values = validated_body(request, NewResultsLink)
        validated_criterion(project, values)
        link = make_link(project=project, actor=request.user, now=timezone.now(), **values)
        return Response(link_row(link, request), status=201)


class ResultsLinkView(ApiView):
    @extend_schema(operation_id="results_links_revoke", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, link_id: UUID) -> Response:
        """Revokes the link: it no longer works."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        link = get_object_or_404(project.results_links.select_related("project"), pk=link_id)
        revoke_link(link=link, actor=request.user, now=timezone.now())
        return Response(status=204)


def link_row(links: Any, request: ApiRequest, *, many: bool = False) -> Any:
    return ResultsLinkRow(links, many=many, context={"request": request}).data


class PublishedItem(serializers.Serializer):
    title = serializers.CharField()
    part = serializers.IntegerField(
        help_text="Connected part; 0 is the largest. Items of different parts can't be compared."
    )
    rank = serializers.IntegerField(
        allow_null=True, help_text="Null if never compared, as the other figures of places."
    )
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    score = FiniteFloatField(
        allow_null=True,
        help_text="Chance, in per cent, to be preferred to an average item; null for older fits without scores.",
    )
    score_low = FiniteFloatField(allow_null=True, help_text="Lower end of the 90% interval of the score.")
    score_high = FiniteFloatField(allow_null=True)
    utility = FiniteFloatField(allow_null=True)
    low = FiniteFloatField(allow_null=True, help_text="Lower end of the 90% interval of the utility.")
    high = FiniteFloatField(allow_null=True)
    p_top_k = FiniteFloatField(allow_null=True, help_text="Null where k or fewer have a place.")
    tier = serializers.IntegerField(allow_null=True)
    rank_class = serializers.IntegerField(
        allow_null=True,
        help_text="A class begins with an item that is clearly below the first item of the class above.",
    )
    highest_class = serializers.IntegerField(allow_null=True, help_text="The highest class it may belong to.")
    next_state = serializers.ChoiceField(choices=Estimate.NextState.choices)
    n_comparisons = serializers.IntegerField()


class PublishedRanking(page_serializer(PublishedItem)):  # type: ignore[misc]
    project = serializers.CharField()
    question = serializers.CharField()
    more_means = serializers.CharField(help_text="What a higher place means.")
    n_labels = serializers.IntegerField()
    n_annotators = serializers.IntegerField()
    fitted_at = serializers.DateTimeField(allow_null=True, help_text="Null before the first ranking.")


class Results(ApiView):
    """By a results link, without an account."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="results_read", parameters=[PageQuery], responses=PublishedRanking)
    def get(self, request: ApiRequest, token: str) -> Response:
        """Returns the published ranking of a results link, the largest connected part first."""
        rate_limits.check_rate_limit(request, "results")
        query = validated_query(request, PageQuery)
        link = access.results_link(token, timezone.now())
        criterion = Criterion(link.project, link.criterion)
        project = criterion.project
        fit = published_fit(criterion)
        more = {
            "project": project.name,
            "question": criterion.question,
            "more_means": project.more_means,
            "n_labels": fit.n_labels if fit else 0,
            "n_annotators": fit.n_annotators if fit else 0,
            "fitted_at": fit.finished_at if fit else None,
        }
        estimates = (
            sort_estimates(project, Estimate.objects.filter(fit=fit), RankingQuery())
            if fit
            else Estimate.objects.none()
        )
        response = paginated_response(request, estimates, query, lambda rows: published(rows, fit), **more)
        response["X-Robots-Tag"] = "noindex, nofollow"
        response["Cache-Control"] = "no-store"
        return response


def published(estimates: list[Estimate], fit: Fit | None) -> list[Any]:
    items = Item.objects.only("name", "kind", "body").in_bulk([estimate.item_id for estimate in estimates])
    there = [estimate for estimate in estimates if estimate.item_id in items]
    small = small_parts(fit, {estimate.part for estimate in there}) if fit else set()
    rows = [
        {**vars(estimate), **place_figures(estimate, small), "title": items[estimate.item_id].title}
        for estimate in there
    ]
    return list(PublishedItem(rows, many=True).data)
