"""Reads and sets through the API which questions a project asks."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Unprocessable
from annotate.models import MAX_CLASSES, Policy, Project
from annotate.projects.actions import change_project
from annotate.projects.policy.forms import PolicyForm, usual_control
from annotate.projects.policy.queries import asked

NAMES = PolicyForm.Meta.fields


class PolicySettings(StrictSerializer):
    """Which questions are asked; checked as on the page."""

    policy = serializers.ChoiceField(choices=Policy.choices, required=False)
    top_k = serializers.IntegerField(min_value=1, required=False, help_text="How many are the best.")
    class_shares = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=100),
        max_length=MAX_CLASSES,
        required=False,
        help_text="Percentages of the items, the best class first; a project with grades is sorted into these.",
    )
    control_percent = serializers.IntegerField(
        min_value=1,
        max_value=100,
        required=False,
        allow_null=True,
        help_text="Percent of the questions that stay balanced; null: the usual.",
    )


class AskedDetail(serializers.Serializer):
    """Answers that are not void, by the rule that chose their question."""

    balanced = serializers.IntegerField()
    control = serializers.IntegerField(help_text="Balanced, drawn at random to be it: a fair sample.")
    adaptive = serializers.IntegerField()
    suggested = serializers.IntegerField(help_text="Sets that the engine suggests to ask next.")
    fit = serializers.IntegerField(allow_null=True, help_text="Number of the fit that suggested them.")


class PolicyDetail(serializers.Serializer):
    policy = serializers.ChoiceField(choices=Policy.choices)
    top_k = serializers.IntegerField()
    class_shares = serializers.ListField(child=serializers.FloatField())
    control_percent = serializers.IntegerField(allow_null=True)
    usual_control_percent = serializers.IntegerField(help_text="What holds where `control_percent` is null.")
    in_force = serializers.BooleanField(
        help_text="Whether the engine's suggestions are asked: not under Balanced, nor where the sets are planned."
    )
    asked = AskedDetail()


def render_policy(project: Project) -> Response:
    values: dict[str, Any] = {name: getattr(project, name) for name in NAMES}
    values |= {
        "usual_control_percent": usual_control(project.policy),
        "in_force": project.is_adaptive,
        "asked": asked(project),
    }
    return Response(PolicyDetail(values).data)


class PolicyView(ApiView):
    @extend_schema(operation_id="policies_read", responses=PolicyDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns which questions are asked, and by which rules answers were asked for so far."""
        validated_query(request, NoQuery)
        return render_policy(access.project_for(request, project_id, access.SEE))

    @extend_schema(operation_id="policies_update", request=PolicySettings, responses=PolicyDetail)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Updates the fields sent; it holds from the next question on."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, PolicySettings, partial=True)
        before = {name: getattr(project, name) for name in NAMES}
        form = PolicyForm(
            {name: value for name, value in (before | given).items() if value is not None}, instance=project
        )
        if not form.is_valid():
            raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
        project = access.project_for(request, project_id, access.MANAGE)
        change_project(project=project, actor=request.user, values=form.values(), now=timezone.now())
        return render_policy(access.project_for(request, project_id, access.MANAGE))
