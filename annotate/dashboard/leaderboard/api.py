"""Reads the leaderboard through the API, and sets what it holds equal."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    NoQuery,
    StoredMessageField,
    WholeSerializer,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.forms import known_features
from annotate.dashboard.leaderboard.queries import stored_board
from annotate.fitting.leaderboard.style import COMPUTED, MAX_STYLE_FEATURES
from annotate.fitting.published import published_fit
from annotate.models import Project
from annotate.projects.actions import change_project
from models_engine.models import Estimate


class BoardRow(serializers.Serializer):
    competitor = serializers.CharField(source="name")
    part = serializers.IntegerField(help_text="0 is the largest; competitors of different parts can't be compared.")
    rank = serializers.IntegerField()
    rank_low = serializers.IntegerField(help_text="Best place inside the 90% interval.")
    rank_high = serializers.IntegerField()
    score = FiniteFloatField(
        help_text="Chance, in per cent, that a new item of it is preferred to one of an average competitor."
    )
    score_low = FiniteFloatField(help_text="Lower end of the 90% interval of the score.")
    score_high = FiniteFloatField()
    utility = FiniteFloatField(help_text="In logits; only differences mean something.")
    sd = FiniteFloatField()
    low = FiniteFloatField(help_text="Lower end of the 90% interval of the utility.")
    high = FiniteFloatField()
    p_top_k = FiniteFloatField(
        allow_null=True, help_text="Probability of being among the best k; null where k or fewer have a place."
    )
    tier = serializers.IntegerField()
    rank_class = serializers.IntegerField()
    highest_class = serializers.IntegerField()
    next_state = serializers.ChoiceField(choices=Estimate.NextState.choices)
    n_contexts = serializers.IntegerField(help_text="Prompts or contexts in which it was compared.")
    n_items = serializers.IntegerField()
    n_labels = serializers.IntegerField(help_text="Answers that showed one of its items.")
    n_annotators = serializers.IntegerField()


class CategoryRow(BoardRow):
    effect = FiniteFloatField(
        required=False, help_text="How much better it is in this category than elsewhere, in logits."
    )
    effect_sd = FiniteFloatField(required=False)


class BoardTag(serializers.Serializer):
    tag = serializers.CharField(source="name")
    n_labels = serializers.IntegerField()
    rows = CategoryRow(many=True, help_text="Empty where no two competitors have been compared.")


class StyleFeature(serializers.Serializer):
    feature = serializers.CharField(source="name")
    worth = FiniteFloatField(help_text="What one standard deviation more of it adds, in logits.")
    low = FiniteFloatField()
    high = FiniteFloatField()


class BoardStyle(serializers.Serializer):
    features = StyleFeature(many=True)
    rows = BoardRow(many=True, help_text="The board with the features held equal.")


class Chances(serializers.ListField):
    child = serializers.ListField(child=FiniteFloatField(allow_null=True))


class Numbers(serializers.ListField):
    child = serializers.ListField(child=serializers.IntegerField())


class LeaderboardDetail(serializers.Serializer):
    fit = serializers.IntegerField(allow_null=True, help_text="Null before the first fit.")
    problem = StoredMessageField(allow_blank=True, help_text="Why there is no leaderboard; empty where there is one.")
    style_features = serializers.ListField(
        child=serializers.CharField(),
        help_text="The setting: features to hold equal; `length`, `lists` and `headings` are those of the text.",
    )
    converged = serializers.BooleanField(required=False)
    n_left_out = serializers.IntegerField(
        required=False, help_text="Answers left out: an item without a competitor, or items of different contexts."
    )
    n_careless = serializers.IntegerField(
        required=False, help_text="People who more likely answer at random than not; their answers count little."
    )
    rows = BoardRow(many=True, help_text="The best first within each part. The tables below are in this order.")
    uncompared = serializers.ListField(child=serializers.CharField(), required=False)
    wins = Numbers(required=False, help_text="How often the row was preferred to the column.")
    ties = Numbers(required=False)
    better = Chances(required=False, help_text="P(row is better than column on average); null between parts.")
    better_on_new = Chances(required=False, help_text="P(row's item is better than column's for a new context).")
    expected = Chances(required=False, help_text="P(a new answer about a new context prefers the row's item).")
    tags = BoardTag(many=True, required=False, help_text="By category: tags that all items of a context carry.")
    style = BoardStyle(required=False, allow_null=True)  # type: ignore[assignment]


class LeaderboardSettings(WholeSerializer):
    style_features = serializers.ListField(
        child=serializers.CharField(max_length=200),
        max_length=MAX_STYLE_FEATURES,
        help_text="`length`, `lists`, `headings`, or imported.",
    )


def render_leaderboard(criterion: Criterion) -> Response:
    fit = published_fit(criterion)
    board: dict[str, Any] = stored_board(fit) or {"problem": ""}
    values = {"rows": [], **board, "fit": fit.number if fit else None}
    return Response(LeaderboardDetail({**values, "style_features": criterion.project.style_features}).data)


class LeaderboardView(ApiView):
    @extend_schema(operation_id="leaderboard_read", parameters=[CriterionQuery], responses=LeaderboardDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the ranking of those who made the items, with tables of all pairs and categories."""
        project = access.project_for(request, project_id, access.SEE)
        return render_leaderboard(validated_criterion(project, validated_query(request, CriterionQuery)))

    @extend_schema(operation_id="leaderboard_update", request=LeaderboardSettings, responses=LeaderboardDetail)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Sets the features that are held equal; the next fit includes them."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        names = validated_body(request, LeaderboardSettings)["style_features"]
        check_names(project, names)
        change_project(
            project=project,
            actor=request.user,
            values={"style_features": list(dict.fromkeys(names))},
            now=timezone.now(),
        )
        return render_leaderboard(Criterion(access.project_for(request, project_id, access.MANAGE)))


def check_names(project: Project, names: list[str]) -> None:
    """Raises Unprocessable for a feature that the items do not have."""
    known = {*COMPUTED, *known_features(project)}
    for name in names:
        if name not in known:
            raise Unprocessable(
                {
                    "style_features": [
                        f"The items have no feature “{name[:50]}”. Import it, or use: {', '.join(COMPUTED)}."
                    ]
                }
            )
