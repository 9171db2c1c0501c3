"""Projects: a person's list, making, reading, settings, opening and closing, deleting."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.files.limits import MAX_METADATA, MAX_METADATA_NAME
from annotate.fitting.estimator_choices import CHOICES
from annotate.fitting.weights import MAX_WEIGHT
from annotate.models import MAX_CRITERIA, MAX_ITEMS_SHOWN, MAX_REASON_LENGTH, Membership, Project
from annotate.projects import actions
from annotate.projects.criteria_forms import LONGEST_NAME, LONGEST_QUESTION
from annotate.projects.forms import EXPLAINED, ProjectForm
from annotate.projects.further_tasks_forms import MAX_SHARE
from annotate.projects.participant_settings.forms import ParticipantForm
from annotate.projects.quality_settings.forms import MOST_REASONS, QualityForm

FORMS = (ProjectForm, QualityForm, ParticipantForm)
SETTINGS = [name for form in FORMS for name in form.Meta.fields]


class CriterionSetting(StrictSerializer):
    name = serializers.CharField(max_length=LONGEST_NAME)
    question = serializers.CharField(max_length=LONGEST_QUESTION)


class FurtherTask(StrictSerializer):
    task_type = serializers.ChoiceField(choices=Project.TaskType.choices)
    k = serializers.IntegerField(min_value=2, max_value=MAX_ITEMS_SHOWN, help_text="Items shown; of pairs 2.")
    m = serializers.IntegerField(
        min_value=2,
        max_value=MAX_ITEMS_SHOWN - 1,
        required=False,
        allow_null=True,
        default=None,
        help_text="How many are ranked, of `top`.",
    )
    shared_places = serializers.BooleanField(required=False, default=False, help_text="Of `ranking`.")
    percent = serializers.IntegerField(
        min_value=1, max_value=MAX_SHARE, help_text="Its share of the tasks; the shares leave 5 or more."
    )


class ProjectSettings(serializers.ModelSerializer, StrictSerializer):
    """The settings of a project's own pages, whose forms decide what goes together."""

    estimator = serializers.ChoiceField(choices=list(CHOICES), required=False)
    outcomes = serializers.ListField(
        child=serializers.ChoiceField(choices=[outcome.value for outcome in EXPLAINED]),
        required=False,
        help_text="Answers allowed besides those of the task itself.",
    )
    further_tasks = FurtherTask(
        many=True,
        required=False,
        help_text="Kinds of task asked besides the project's own, each in its share; at most three.",
    )
    criteria = CriterionSetting(
        many=True,
        required=False,
        help_text="None, or two to five criteria for each task. Fixed once the project has been opened.",
    )
    weights = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=MAX_WEIGHT),
        required=False,
        max_length=MAX_CRITERIA,
        help_text="How much each criterion counts in the overall ranking, in their order; empty: all the same.",
    )
    shown_metadata = serializers.ListField(
        child=serializers.CharField(max_length=MAX_METADATA_NAME),
        required=False,
        max_length=MAX_METADATA,
        help_text="Names of the items' metadata that annotators see, in this order.",
    )
    m = serializers.IntegerField(min_value=2, max_value=MAX_ITEMS_SHOWN - 1, required=False, allow_null=True)
    tie_margin = serializers.FloatField(min_value=0, max_value=10, required=False)
    skip_reasons = serializers.ListField(
        child=serializers.CharField(max_length=MAX_REASON_LENGTH), max_length=MOST_REASONS, required=False
    )

    class Meta:
        model = Project
        fields = SETTINGS


class ProjectRow(serializers.ModelSerializer):
    role = serializers.ChoiceField(choices=Membership.Role.choices, help_text="Your role in the project.")

    class Meta:
        model = Project
        fields = ["id", "name", "question", "state", "task_type", "k", "role", "simulated", "created_at"]


class JoinLinkField(serializers.URLField):
    """The address at which people join, for those who manage the project."""

    def get_attribute(self, project: Project) -> str | None:
        if project.role not in access.MANAGE:
            return None
        link: str = self.context["request"].build_absolute_uri(reverse("join", args=[project.join_token]))
        return link


class ProjectDetail(ProjectRow):
    evidence = serializers.ChoiceField(
        choices=Project.Evidence.choices,
        read_only=True,
        help_text="What the ranking is made of: comparisons (answers), or counts that were imported.",
    )
    join_link = JoinLinkField(allow_null=True, help_text="Null unless you manage the project.")

    class Meta:
        model = Project
        fields = [
            *ProjectRow.Meta.fields,
            *(name for name in SETTINGS if name not in ProjectRow.Meta.fields),
            "evidence",
            "join_link",
        ]


class StateChange(StrictSerializer):
    state = serializers.ChoiceField(choices=["open", "paused", "closed"])


class Deletion(StrictSerializer):
    name = serializers.CharField(
        max_length=200, help_text="The project's name, as a safeguard against deleting another one."
    )


def project_detail(request: ApiRequest, project: Project) -> dict[str, Any]:
    return dict(ProjectDetail(project, context={"request": request}).data)


def form_values(given: dict[str, Any], project: Project | None) -> dict[str, Any]:
    """Return the settings that result, checked as on the page; raises Unprocessable."""
    base = project or Project()
    data = {name: given.get(name, getattr(base, name)) for name in SETTINGS}
    if "weights" not in given and len(data["weights"]) != len(data["criteria"]):
        data["weights"] = []
    filled = {name: value for name, value in data.items() if value is not None and value is not False}
    forms = [form(filled) for form in FORMS]
    errors = {name: [str(text) for text in texts] for form in forms for name, texts in form.errors.items()}
    if errors:
        raise Unprocessable(errors)
    return {name: value for form in forms for name, value in form.values().items()}


class Projects(ApiView):
    @extend_schema(operation_id="projects_list", parameters=[PageQuery], responses=page_serializer(ProjectRow))
    def get(self, request: ApiRequest) -> Response:
        """Lists your projects, latest first."""
        mine = Membership.objects.filter(user=request.user).select_related("project")
        if request.auth is not None and request.auth.project_id:
            mine = mine.filter(project_id=request.auth.project_id)
        query = validated_query(request, PageQuery)
        return paginated_response(request, mine.order_by("-project__created_at", "-pk"), query, with_roles)

    @extend_schema(
        operation_id="projects_create", parameters=[HEADER], request=ProjectSettings, responses={201: ProjectDetail}
    )
    @idempotent
    def post(self, request: ApiRequest) -> Response:
        """Creates a project as a draft. You are its owner."""
        validated_query(request, NoQuery)
        if request.auth is not None and request.auth.project_id:
            raise PermissionDenied
        values = form_values(validated_body(request, ProjectSettings), None)
        project = actions.create_project(owner=request.user, values=values, now=timezone.now())
        project.role = Membership.Role.OWNER
        return Response(project_detail(request, project), status=201)


def with_roles(memberships: list[Membership]) -> list[Any]:
    for membership in memberships:
        membership.project.role = membership.role
    return list(ProjectRow([membership.project for membership in memberships], many=True).data)


class ProjectView(ApiView):
    @extend_schema(operation_id="projects_read", responses=ProjectDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns one project with its settings."""
        validated_query(request, NoQuery)
        return Response(project_detail(request, access.project_for(request, project_id, access.SEE)))

    @extend_schema(operation_id="projects_update", request=ProjectSettings, responses=ProjectDetail)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Changes the settings that are sent. The question is fixed once there are labels."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, ProjectSettings, partial=True)
        values = form_values(given, project)
        changed = {name: value for name, value in values.items() if name in given or value != getattr(project, name)}
        actions.change_project(project=project, actor=request.user, values=changed, now=timezone.now())
        return Response(project_detail(request, access.project_for(request, project_id, access.MANAGE)))

    @extend_schema(operation_id="projects_delete", request=None, parameters=[Deletion], responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID) -> Response:
        """Deletes the project and everything in it for good."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        if validated_query(request, Deletion)["name"] != project.name:
            raise Unprocessable({"name": [_("That is not the project's name. Nothing was deleted.")]})
        actions.delete_project(project=project)
        return Response(status=204)


class ProjectState(ApiView):
    @extend_schema(operation_id="projects_set_state", request=StateChange, responses=ProjectDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Opens, pauses, resumes, closes or reopens the project. Nothing changes if it is already in that state."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        state = validated_body(request, StateChange)["state"]
        actions.set_state(project=project, actor=request.user, state=state, now=timezone.now())
        return Response(project_detail(request, access.project_for(request, project_id, access.MANAGE)))
