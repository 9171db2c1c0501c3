"""Tells somebody by mail that they are a member, or invites them to become one."""

from django.urls import reverse

from annotate.access import SignedInRequest
from annotate.accounts import mails
from annotate.accounts.invitations import invitation_token
from annotate.models import Membership, Project


def invite(request: SignedInRequest, project: Project, address: str, role: str, *, has_account: bool) -> None:
    if has_account:
        page = reverse("label" if role == Membership.Role.ANNOTATOR else "ranking", args=[project.pk])
    else:
        page = reverse("invited", args=[invitation_token(project.invitations.get(address=address.lower()))])
    mails.send_invitation(
        project=project,
        by=request.user,
        address=address,
        role=str(Membership.Role(role).label),
        link=request.build_absolute_uri(page),
        has_account=has_account,
    )
