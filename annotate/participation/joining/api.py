"""Joins a project and describes the annotator through the API."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.authentication import ANNOTATE
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.labelling.eligibility import check_open
from annotate.labelling.navigation import RNG
from annotate.labelling.requirements import JoinLinkDisabled
from annotate.models import Project, new_token
from annotate.participation.joining import actions
from annotate.participation.joining.actions import join_by_link
from annotate.participation.joining.asked_links import send_asked_link
from annotate.participation.joining.forms import JoinForm
from annotate.participation.joining.pseudonyms import MAX_PSEUDONYM_LENGTH, normalize_name, suggest
from annotate.participation.rules import participation_rules


class Joining(StrictSerializer):
    pseudonym = serializers.CharField(
        max_length=MAX_PSEUDONYM_LENGTH,
        required=False,
        default="",
        allow_blank=True,
        help_text="If left out, a pseudonym is made up.",
    )


class Joined(serializers.Serializer):
    project = serializers.UUIDField()
    pseudonym = serializers.CharField()
    secret = serializers.CharField(
        allow_null=True,
        help_text="Send it as `Authorization: Annotator SECRET`. It is the only way to act as this annotator "
        "again. Null with an account.",
    )


def validated_pseudonym(request: ApiRequest, project: Project) -> str:
    name = validated_body(request, Joining)["pseudonym"] or suggest(project, RNG)
    form = JoinForm({"pseudonym": name}, project=project)
    if not form.is_valid():
        raise Unprocessable({name: [str(one) for one in texts] for name, texts in form.errors.items()})
    return str(form.cleaned_data["pseudonym"])


class Join(ApiView):
    """Joining by the project's join link, without an account."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="annotating_join", request=Joining, responses={201: Joined})
    def post(self, request: ApiRequest, token: str) -> Response:
        """Creates a pseudonymous annotator in the project of a join link.

        Where the project asks for consent or has a questionnaire, `next` refuses until that was done: by
        `annotating_agree` and `annotating_answer_questions`, or on the site by the link `/join/again/SECRET/`.
        """
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "join")
        project = access.project_to_join(token)
        annotator = join_by_link(
            project=project,
            pseudonym=validated_pseudonym(request, project),
            resume_token=new_token(),
            version="",
            now=timezone.now(),
        )
        made = {"project": project.pk, "pseudonym": annotator.pseudonym, "secret": annotator.resume_token}
        return Response(Joined(made).data, status=201)


class AskedLink(StrictSerializer):
    pseudonym = serializers.CharField(max_length=MAX_PSEUDONYM_LENGTH)


class SendLink(ApiView):
    """Asking for one's own link, for who has lost it."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="annotating_send_link", request=AskedLink, responses={202: None})
    def post(self, request: ApiRequest, token: str) -> Response:
        """Sends the link of this name to the address that is known for it, if there is one.

        The answer is the same where there is none.
        """
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "join")
        project = access.project_to_join(token)
        check_open(project, timezone.now())
        if not participation_rules(project).open_link:
            raise JoinLinkDisabled
        name = normalize_name(validated_body(request, AskedLink)["pseudonym"])
        plain: Any = request._request
        send_asked_link(plain, project, name, timezone.now())
        return Response(status=202)


class Oneself(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_join_as_member", request=Joining, responses={201: Joined})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Creates your annotator in this project, or returns the existing one."""
        project = access.project_for(request, project_id, access.ANNOTATE)
        validated_query(request, NoQuery)
        name = validated_pseudonym(request, project)
        annotator = actions.join_with_account(project=project, pseudonym=name, user=request.user)
        made = {"project": project.pk, "pseudonym": annotator.pseudonym, "secret": None}
        return Response(Joined(made).data, status=201)
