"""Reads, sets and removes a project's goal and label price through the API, with the forecast."""

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
    StrictSerializer,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.criteria import Criterion
from annotate.dashboard.goal.forms import GoalForm
from annotate.dashboard.goal.queries import cost_of, goal_status
from annotate.fitting.published import published_fit
from annotate.models.goals import Goal, PricePer
from annotate.projects.actions import change_project

NAMES = GoalForm.Meta.fields
SAID = ("sentence", "verdict", "stands", "needed", "likely", "by_deadline", "reach", "rule", "stopping_error")
STATES = {
    "met": "The goal is met; you can stop.",
    "confirming": "The latest fit is within the rule; it takes `needed` more labels until fits over 50 labels agree.",
    "open": "More labels are needed; `needed` gives the forecast.",
    "early": "Too early to forecast.",
    "parts": "Some items are not connected by comparisons.",
    "few": "The top is not smaller than the number of items, so there is nothing to find.",
    "far": "Not reachable this way: more than 20 times the labels so far would be needed; `reach` says what is.",
    "waiting": "No fit has evaluated this goal yet.",
    "counts": "Not evaluated: the ranking is made of imported counts, and a goal says how many more answers it takes.",
}


class GoalSettings(StrictSerializer):
    """Settings of goal and cost; a goal needs its number, as on the page."""

    goal = serializers.ChoiceField(choices=[*Goal.values], required=False, allow_blank=True)
    goal_width = serializers.FloatField(min_value=0.01, max_value=20, required=False, allow_null=True)
    goal_comparisons = serializers.IntegerField(min_value=1, max_value=10**6, required=False, allow_null=True)
    goal_reliability = serializers.FloatField(min_value=0.5, max_value=0.99, required=False, allow_null=True)
    goal_places = serializers.FloatField(min_value=0.1, max_value=1000, required=False, allow_null=True)
    goal_deadline = serializers.DateField(
        required=False, allow_null=True, help_text="The last day on which the goal should be met, in UTC."
    )
    pause_at_goal = serializers.BooleanField(
        required=False, help_text="Whether the project pauses by itself when the goal is met."
    )
    price = serializers.RegexField(
        r"^[0-9]{1,8}(\.[0-9]{1,4})?\Z",
        required=False,
        allow_null=True,
        help_text="An amount as text, such as 0.12, so that no cent is lost; null: no costs are shown.",
    )
    price_per = serializers.ChoiceField(choices=PricePer.choices, required=False)
    currency = serializers.RegexField(r"^[A-Za-z]{3}\Z", required=False, help_text="Three letters, for example EUR.")


class Needed(serializers.Serializer):
    low = serializers.IntegerField()
    middle = serializers.IntegerField()
    high = serializers.IntegerField(allow_null=True, help_text="Null: no upper limit.")


class Cost(serializers.Serializer):
    """Amounts in words, with the currency."""

    spent = serializers.CharField()
    rate = serializers.CharField()
    n_paid = serializers.IntegerField(help_text="Number of answers paid for.")
    total = serializers.CharField(
        allow_blank=True, help_text="Forecast of the total cost when the goal is met; empty if there is no forecast."
    )
    between = serializers.CharField(allow_blank=True, help_text="The forecast's range.")


class StoppingError(serializers.Serializer):
    """How often “you can stop” was said too early in simulations."""

    share = serializers.FloatField(help_text="Share of the simulated projects of which it was said.")
    low = serializers.FloatField(help_text="Lower end of its 90% interval.")
    high = serializers.FloatField(help_text="Upper end.")
    n_said = serializers.IntegerField(help_text="Of how many simulated projects it was said.")


class GoalDetail(serializers.Serializer):
    goal = serializers.ChoiceField(choices=Goal.choices, allow_blank=True)
    goal_width = FiniteFloatField(allow_null=True)
    goal_comparisons = serializers.IntegerField(allow_null=True)
    goal_reliability = FiniteFloatField(allow_null=True, help_text="Least scale-separation reliability.")
    goal_places = FiniteFloatField(
        allow_null=True, help_text="Mean difference between an item's place and its true one."
    )
    goal_deadline = serializers.DateField(allow_null=True)
    pause_at_goal = serializers.BooleanField()
    price = serializers.DecimalField(max_digits=12, decimal_places=4, allow_null=True)
    price_per = serializers.ChoiceField(choices=PricePer.choices)
    currency = serializers.CharField()
    sentence = serializers.CharField(allow_null=True, default=None, help_text="The goal in words; null without one.")
    verdict = serializers.ChoiceField(
        choices=list(STATES),
        allow_null=True,
        default=None,
        help_text=" ".join(f"{name}: {words}" for name, words in STATES.items()),
    )
    stands = serializers.CharField(allow_null=True, default=None, help_text="Current state, in words.")
    rule = serializers.CharField(
        allow_null=True,
        default=None,
        help_text="When “you can stop” is said, in words; empty for goals that are counted, which are met exactly.",
    )
    stopping_error = StoppingError(
        allow_null=True,
        default=None,
        help_text="For this goal, estimator and way of choosing questions; null where it was not measured, and for "
        "goals that are counted.",
    )
    needed = Needed(
        allow_null=True, default=None, help_text="Labels still needed: the middle and the range of the forecast."
    )
    reach = FiniteFloatField(
        allow_null=True,
        default=None,
        help_text="Where the verdict is far: the nearest value of this goal that is within reach, for `top` its size; "
        "null where none was found.",
    )
    likely = serializers.CharField(
        allow_null=True, default=None, help_text="Time until the goal is met, in words; empty if there is no forecast."
    )
    by_deadline = FiniteFloatField(
        allow_null=True,
        default=None,
        help_text="Probability that the goal is met by the deadline; null without one, and if the forecast does not "
        "reach so far.",
    )
    cost = Cost(allow_null=True, help_text="Null if no price is set.")


def render_goal(criterion: Criterion) -> Response:
    fit = published_fit(criterion)
    found = goal_status(criterion, fit, timezone.now())
    values: dict[str, Any] = {name: getattr(criterion.project, name) for name in NAMES}
    if found:
        values |= {name: getattr(found, name) for name in SAID}
    values["cost"] = cost_of(criterion.project, found.needed if found else None)
    return Response(GoalDetail(values).data)


class GoalView(ApiView):
    @extend_schema(operation_id="goals_read", parameters=[CriterionQuery], responses=GoalDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the goal, whether it is met, and the forecast of labels, time and cost until then."""
        project = access.project_for(request, project_id, access.SEE)
        return render_goal(validated_criterion(project, validated_query(request, CriterionQuery)))

    @extend_schema(operation_id="goals_update", request=GoalSettings, responses=GoalDetail)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Updates the fields sent of goal and cost; the next fit updates the forecast."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, GoalSettings, partial=True)
        before = {name: getattr(project, name) for name in NAMES}
        form = GoalForm(
            {name: value for name, value in (before | given).items() if value is not None}, instance=project
        )
        if not form.is_valid():
            raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
        return save_goal(request, project_id, form.values())

    @extend_schema(operation_id="goals_remove", request=None, responses={200: GoalDetail})
    def delete(self, request: ApiRequest, project_id: UUID) -> Response:
        """Removes the goal; answers are then collected without end. The price stays."""
        access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        numbers = ("goal_width", "goal_comparisons", "goal_reliability", "goal_places")
        return save_goal(request, project_id, {"goal": Goal.NONE, **dict.fromkeys(numbers)})


def save_goal(request: ApiRequest, project_id: UUID, values: dict[str, Any]) -> Response:
    """values are set; the project is read anew, because a form has put its values into the one it checked."""
    project = access.project_for(request, project_id, access.MANAGE)
    change_project(project=project, actor=request.user, values=values, now=timezone.now())
    return render_goal(Criterion(access.project_for(request, project_id, access.MANAGE)))
