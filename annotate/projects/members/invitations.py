"""Tells somebody by mail that they are a member."""

from django.urls import reverse

from annotate.access import SignedInRequest
from annotate.accounts import mails
from annotate.models import Membership, Project


def invite(request: SignedInRequest, project: Project, address: str, role: str, *, has_account: bool) -> None:
    page = reverse("label" if role == Membership.Role.ANNOTATOR else "ranking", args=[project.pk])
    mails.send_invitation(
        project=project,
        by=request.user,
        address=address,
        role=str(Membership.Role(role).label),
        link=request.build_absolute_uri(page if has_account else reverse("home")),
        has_account=has_account,
    )
