"""Who belongs to a project: the owners' list, adding by e-mail address, changing roles, removing."""

import logging
from smtplib import SMTPException
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
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
from annotate.core import rate_limits
from annotate.models import Membership
from annotate.projects.members import actions
from annotate.projects.members.invitations import invite

log = logging.getLogger(__name__)


class MemberRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    address = serializers.CharField(source="user.email")
    role = serializers.ChoiceField(choices=Membership.Role.choices)


class NewMember(StrictSerializer):
    address = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(choices=Membership.Role.choices)


class RoleChange(StrictSerializer):
    role = serializers.ChoiceField(choices=Membership.Role.choices)


class Invited(serializers.Serializer):
    address = serializers.CharField()
    message_sent = serializers.BooleanField(help_text="If false, no message was sent: tell the person yourself.")


class Members(ApiView):
    @extend_schema(operation_id="members_list", parameters=[PageQuery], responses=page_serializer(MemberRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the members in the order added; owners only."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        query = validated_query(request, PageQuery)
        found = project.memberships.select_related("user").order_by("pk")
        return paginated_response(request, found, query, lambda rows: list(MemberRow(rows, many=True).data))

    @extend_schema(operation_id="members_create", parameters=[HEADER], request=NewMember, responses={202: Invited})
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Sends a message to the address and makes its account a member. Does not reveal whether there is one."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "invite", who=str(request.user.pk))
        new = validated_body(request, NewMember)
        membership = actions.add_member(project=project, actor=request.user, now=timezone.now(), **new)
        has_account = membership is not None
        try:
            invite(request, project, new["address"], new["role"], has_account=has_account)  # type: ignore[arg-type]
        except (SMTPException, OSError):
            log.exception("The invitation to project %s could not be sent", project.pk)
            return Response({"address": new["address"], "message_sent": False}, status=202)
        return Response({"address": new["address"], "message_sent": True}, status=202)


class MemberView(ApiView):
    @extend_schema(operation_id="members_update", request=RoleChange, responses=MemberRow)
    def put(self, request: ApiRequest, project_id: UUID, member_id: int) -> Response:
        """Changes the member's role."""
        membership = self.found(request, project_id, member_id)
        role = validated_body(request, RoleChange)["role"]
        actions.change_role(membership=membership, actor=request.user, role=role, now=timezone.now())
        membership.role = role
        return Response(MemberRow(membership).data)

    @extend_schema(operation_id="members_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, member_id: int) -> Response:
        """Removes the member; their labels stay. A project keeps at least one owner."""
        membership = self.found(request, project_id, member_id)
        actions.remove_member(membership=membership, actor=request.user, now=timezone.now())
        return Response(status=204)

    def found(self, request: ApiRequest, project_id: UUID, member_id: int) -> Membership:
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        return get_object_or_404(project.memberships.select_related("user", "project"), pk=member_id)


class MemberInvitationRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    address = serializers.CharField()
    role = serializers.ChoiceField(choices=Membership.Role.choices)
    expires_at = serializers.DateTimeField()


class Invitations(ApiView):
    @extend_schema(
        operation_id="members_list_invitations", parameters=[PageQuery], responses=page_serializer(MemberInvitationRow)
    )
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists who is invited and has no account so far; owners only."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        query = validated_query(request, PageQuery)
        found = project.invitations.filter(expires_at__gt=timezone.now()).order_by("pk")
        return paginated_response(request, found, query, lambda rows: list(MemberInvitationRow(rows, many=True).data))


class InvitationView(ApiView):
    @extend_schema(operation_id="members_withdraw_invitation", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, invitation_id: int) -> Response:
        """Withdraws an invitation; its link then no longer works."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        invitation = get_object_or_404(project.invitations.select_related("project"), pk=invitation_id)
        actions.withdraw_invitation(invitation=invitation, actor=request.user, now=timezone.now())
        return Response(status=204)
