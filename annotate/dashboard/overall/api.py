"""Reads the weighted total of a project's criteria through the API."""

from html import unescape
from typing import Any
from uuid import UUID

from django.utils.html import strip_tags
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, FiniteFloatField, PageQuery, check_page_exists, validated_query
from annotate.dashboard.overall.queries import Overall, overall_of


class CountedCriterionRow(serializers.Serializer):
    number = serializers.IntegerField(source="criterion.number")
    name = serializers.CharField(source="criterion.name")
    weight = FiniteFloatField(help_text="Its part of the total, from 0 to 1; set with projects_update (weights).")
    share = FiniteFloatField(
        allow_null=True, help_text="How much of the differences between totals comes from it; all add up to 1."
    )
    fit = serializers.IntegerField(allow_null=True, help_text="The fit that its part was taken from.")
    is_older = serializers.BooleanField(help_text="Whether that fit lacks answers that another criterion's has seen.")


class CriterionScore(serializers.Serializer):
    name = serializers.CharField()
    score = FiniteFloatField(allow_null=True)


class OverallItem(serializers.Serializer):
    item = serializers.CharField(source="item.key", help_text="The item's key.")
    title = serializers.CharField(source="item.title")
    rank = serializers.IntegerField(source="place.rank")
    rank_low = serializers.IntegerField(source="place.rank_low")
    rank_high = serializers.IntegerField(source="place.rank_high")
    score = FiniteFloatField(source="place.score", allow_null=True, help_text="From 0 to 100; 50 is average.")
    score_low = FiniteFloatField(source="place.score_low", allow_null=True)
    score_high = FiniteFloatField(source="place.score_high", allow_null=True)
    total = FiniteFloatField(source="place.utility", help_text="In logits of an average person's answer.")
    sd = FiniteFloatField(source="place.sd")
    p_first = FiniteFloatField(source="place.p_first", help_text="Probability of being the best.")
    p_top_k = FiniteFloatField(source="place.p_top")
    scores = serializers.SerializerMethodField()

    @extend_schema(responses=CriterionScore(many=True))
    def get_scores(self, row: Any) -> list[dict[str, Any]]:
        return [{"name": name, "score": score} for name, score in row.scores]


class CompetitorRow(serializers.Serializer):
    competitor = serializers.CharField(source="name")
    rank = serializers.IntegerField()
    rank_low = serializers.IntegerField()
    rank_high = serializers.IntegerField()
    score = FiniteFloatField(help_text="From 0 to 100; 50 is average.")
    score_low = FiniteFloatField()
    score_high = FiniteFloatField()
    total = FiniteFloatField(source="utility", help_text="In logits of an average person's answer.")
    sd = FiniteFloatField()
    p_first = FiniteFloatField(help_text="Probability of being the best.")
    p_top_k = FiniteFloatField(allow_null=True, help_text="Null where k or fewer have a total.")
    n_contexts = serializers.IntegerField(help_text="Prompts or contexts, by the criterion that has the fewest.")
    n_labels = serializers.IntegerField(help_text="Answers, by the criterion that has the fewest.")
    scores = serializers.SerializerMethodField()

    @extend_schema(responses=CriterionScore(many=True))
    def get_scores(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"name": name, "score": score} for name, score in row["by"]]


class OverallLeaderboard(serializers.Serializer):
    why = serializers.CharField(allow_blank=True, help_text="Why there is none; empty where there is one.")
    converged = serializers.BooleanField()
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Competitors without a place by every criterion that counts."
    )
    rows = CompetitorRow(many=True, help_text="The best first.")


class OverallDetail(serializers.Serializer):
    criteria = CountedCriterionRow(many=True, help_text="Empty for a project without named criteria.")
    why = serializers.CharField(allow_blank=True, help_text="Why there is no total; empty where there is one.")
    lead = serializers.SerializerMethodField(help_text="Who leads, in words; empty where there is no total.")
    n_left_out = serializers.IntegerField(help_text="Items without a place by every criterion that counts.")
    k = serializers.IntegerField()
    fit = serializers.IntegerField(allow_null=True)
    made_at = serializers.DateTimeField(allow_null=True)
    tracks = serializers.ListField(child=serializers.CharField(), help_text="Tags that are ranked by themselves.")
    leaderboard = OverallLeaderboard(
        allow_null=True, help_text="Competitors by their weighted total; null without competitors, and within a track."
    )
    n_pages = serializers.IntegerField(source="page.paginator.num_pages")
    results = OverallItem(source="rows", many=True)

    def get_lead(self, found: Overall) -> str:
        return unescape(strip_tags(found.podium.sentence)) if found.podium else ""


class OverallQuery(PageQuery):
    track = serializers.CharField(
        required=False, default="", max_length=100, help_text="Tag within whose items places and chances are given."
    )


class OverallView(ApiView):
    @extend_schema(operation_id="overall_read", parameters=[OverallQuery], responses=OverallDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """The weighted total over all criteria: places with intervals, P(first), and the score by each criterion."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, OverallQuery)
        found = overall_of(project, query["page"], query["page_size"], query["track"])
        check_page_exists(found.page, query["page"])
        return Response(OverallDetail(found).data)
