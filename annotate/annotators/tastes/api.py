"""Serves an annotator's own ranking and the taste map through the API."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from annotate import access
from annotate.annotators.page import queries as person_query
from annotate.annotators.page.forms import AnnotatorForm
from annotate.annotators.tastes.queries import taste_map_view
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    StrictSerializer,
    check_page_exists,
    validated_criterion,
    validated_query,
)
from annotate.fitting.published import published_fit

SORTS = [value for value, _words in AnnotatorForm.base_fields["sort"].choices]  # type: ignore[attr-defined]
REASONS = {
    "estimator": "The estimator learns one ranking for all.",
    "soon": "The engine has yet to look at this fit.",
    "few": "Too few answers.",
    "not kept": "Others have more answers; the rankings of as many are kept as there is room for.",
}


class ShortPage(StrictSerializer):
    """For lists whose pages have a fixed size."""

    page = serializers.IntegerField(required=False, default=1, min_value=1, max_value=10**9)


class OwnQuery(CriterionQuery, ShortPage):
    sort = serializers.ChoiceField(choices=SORTS, required=False, default="-difference")


class OwnRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")
    place = serializers.IntegerField()
    crowd_place = serializers.IntegerField(help_text="Place in the consensus.")
    utility = FiniteFloatField()
    low = FiniteFloatField(help_text="Lower end of the 90% interval.")
    high = FiniteFloatField()
    crowd = FiniteFloatField(help_text="The consensus utility.")
    difference = FiniteFloatField()
    difference_low = FiniteFloatField()
    difference_high = FiniteFloatField()
    is_sure = serializers.BooleanField(
        help_text="Whether they clearly differ; of all such statements about one person, at most 1 in 40 is expected "
        "to be wrong."
    )


class OwnRanking(serializers.Serializer):
    fit = serializers.IntegerField(allow_null=True, help_text="Number of the fit; null if there is no ranking.")
    reason = serializers.ChoiceField(
        choices=["", *REASONS],
        allow_blank=True,
        help_text="Why there is no ranking. " + " ".join(f"{name}: {words}" for name, words in REASONS.items()),
    )
    n_counted = serializers.IntegerField(help_text="Answers that the fit counts.")
    n_items = serializers.IntegerField()
    n_sure = serializers.IntegerField(help_text="Items where they surely differ from the consensus.")
    n_pages = serializers.IntegerField()
    results = OwnRow(many=True)


class OwnRankingView(ApiView):
    @extend_schema(operation_id="annotators_ranking", parameters=[OwnQuery], responses=OwnRanking)
    def get(self, request: ApiRequest, project_id: UUID, key: UUID) -> Response:
        """Returns one annotator's own ranking beside the consensus."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, OwnQuery)
        criterion = validated_criterion(project, query)
        annotator = get_object_or_404(project.annotators, key=key)
        sort = query["sort"]
        order = person_query.OwnRankingQuery(sort.removeprefix("-"), sort.startswith("-"), query["page"])
        found = person_query.annotator_page(criterion, annotator, published_fit(criterion), order)
        own = found.ranking
        check_page_exists(own.page if own else None, query["page"])
        values = {
            "fit": own and own.fit_number,
            "reason": found.reason if own else found.reason or "soon",
            "n_counted": found.n_counted,
            "n_items": own.n_items if own else 0,
            "n_sure": own.n_sure if own else 0,
            "n_pages": own.page.paginator.num_pages if own else 1,
            "results": own.rows if own else [],
        }
        return Response(OwnRanking(values).data)


class LikedRow(serializers.Serializer):
    item = serializers.CharField(help_text="Its key.")
    title = serializers.CharField()
    by = FiniteFloatField(help_text="How much more it is liked there, in units of utility.")


class ComponentRow(serializers.Serializer):
    number = serializers.IntegerField()
    share = FiniteFloatField(help_text="Share of the differences in taste.")
    high = LikedRow(many=True, help_text="What annotators at the high end like more.")
    low = LikedRow(many=True)


class GroupRow(serializers.Serializer):
    number = serializers.IntegerField()
    n = serializers.IntegerField(help_text="Number of annotators.")
    likes = LikedRow(many=True)
    dislikes = LikedRow(many=True)


class ScoreRow(serializers.Serializer):
    score = FiniteFloatField()
    sd = FiniteFloatField(help_text="Standard deviation; 1 without any answers.")


class TastesRow(serializers.Serializer):
    key = serializers.UUIDField(source="row.annotator.key")
    pseudonym = serializers.CharField(source="row.annotator.pseudonym")
    n_labels = serializers.IntegerField(source="row.n_labels")
    group = serializers.IntegerField(allow_null=True, help_text="Null if there are too few answers to tell.")
    group_probability = FiniteFloatField(source="row.certainty", allow_null=True)
    scores = ScoreRow(many=True, help_text="Position on each component.")


class TastesDetail(serializers.Serializer):
    fit = serializers.IntegerField(source="taste_map.fit_number", help_text="Number of the fit.")
    estimator = serializers.CharField(source="taste_map.estimator")
    made_at = serializers.DateTimeField(source="taste_map.made_at")
    n_groups = serializers.IntegerField(
        source="taste_map.n_groups", help_text="1: no separate groups. 0: too few people or answers to tell."
    )
    n_grouped = serializers.IntegerField(
        source="taste_map.n_grouped", help_text="Annotators with enough answers to be grouped."
    )
    bic = serializers.ListField(
        child=FiniteFloatField(),
        source="taste_map.bic",
        help_text="BIC of 1, 2, ... groups, for comparison; the number of groups is decided by tests.",
    )
    components = ComponentRow(many=True)
    groups = GroupRow(many=True)
    n_annotators = serializers.IntegerField()
    n_pages = serializers.IntegerField(source="page.paginator.num_pages")
    results = TastesRow(many=True, help_text="The annotators, those with the most answers first.")


class TastesQuery(CriterionQuery, ShortPage):
    pass


class TastesView(ApiView):
    @extend_schema(operation_id="tastes_read", parameters=[TastesQuery], responses=TastesDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the taste map: its components, the groups found and the position of each annotator."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, TastesQuery)
        found = taste_map_view(validated_criterion(project, query), 1, 2, query["page"])
        if found is None:
            raise NotFound(
                _(
                    "There is no taste map yet. It needs an estimator that learns tastes (turn on groups), and some "
                    "answers."
                )
            )
        check_page_exists(found.page, query["page"])
        values: dict[str, Any] = {name: getattr(found, name) for name in ("taste_map", "n_annotators", "page")}
        values["components"] = [
            {"number": one.number, "share": one.share, "high": liked_row(one.high), "low": liked_row(one.low)}
            for one in found.components
        ]
        values["groups"] = [
            {"number": one.number, "n": one.n, "likes": liked_row(one.likes), "dislikes": liked_row(one.dislikes)}
            for one in found.groups
        ]
        values["results"] = [
            {
                "row": dot.row,
                "group": dot.group,
                "scores": [{"score": score, "sd": sd} for score, sd in dot.scores],
            }
            for dot in found.table
        ]
        return Response(TastesDetail(values).data)


def liked_row(end: Any) -> list[dict[str, Any]]:
    return [{"item": item.key, "title": item.title, "by": by} for item, by in end.items]
