"""Who belongs to a project: the owners' list, adding by e-mail address, changing roles, removing."""

import logging
from smtplib import SMTPException
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.models import Membership, Project
from annotate.projects.members import actions
from annotate.projects.members.forms import AddMemberForm, RoleForm
from annotate.projects.members.invitations import invite

PAGE_SIZE = 50
log = logging.getLogger(__name__)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def members(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    form = AddMemberForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        add_or_invite(request, project, form.cleaned_data["address"], form.cleaned_data["role"])
        return redirect("members", project.pk)
    memberships = project.memberships.select_related("user").order_by("pk")
    page = Paginator(memberships, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [(one, RoleForm(initial={"role": one.role}, auto_id=f"id_%s_{one.pk}")) for one in page]
    invitations = project.invitations.filter(expires_at__gt=timezone.now()).order_by("pk")
    context = {"project": project, "form": form, "page": page, "rows": rows, "invitations": invitations}
    return render(request, "projects/members.html", context, status=400 if form.errors else 200)


def add_or_invite(request: SignedInRequest, project: Project, address: str, role: str) -> None:
    """Add the account, if there is one, and write to the address; what is said does not give away whether."""
    rate_limits.check_rate_limit(request, "invite", who=str(request.user.pk))
    try:
        membership = actions.add_member(
            project=project, actor=request.user, address=address, role=role, now=timezone.now()
        )
        invite(request, project, address, role, has_account=membership is not None)
    except UserError as refusal:
        messages.error(request, str(refusal))
    except (SMTPException, OSError):
        log.exception("The invitation to project %s could not be sent", project.pk)
        messages.warning(
            request,
            _(
                "The message to %(address)s could not be sent. If there is an account with this address, it is a "
                "member now; tell them yourself."
            )
            % {"address": address},
        )
    else:
        messages.success(
            request,
            _("A message to %(address)s is on its way. If there is an account with this address, it is a member now.")
            % {"address": address},
        )


@login_required
@require_POST
def withdraw(request: SignedInRequest, project_id: UUID, invitation_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    invitation = get_object_or_404(project.invitations.select_related("project"), pk=invitation_id)
    actions.withdraw_invitation(invitation=invitation, actor=request.user, now=timezone.now())
    messages.success(request, _("The invitation of %(name)s is withdrawn.") % {"name": invitation.address})
    return redirect("members", project.pk)


@login_required
@require_POST
def change_member(request: SignedInRequest, project_id: UUID, membership_id: int) -> HttpResponse:
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    membership = get_object_or_404(project.memberships.select_related("user", "project"), pk=membership_id)
    form, now = RoleForm(request.POST), timezone.now()
    name = membership.user.email or membership.user.username
    try:
        if "remove" in request.POST:
            actions.remove_member(membership=membership, actor=request.user, now=now)
            messages.success(request, _("%(name)s is no longer a member. Their labels stay.") % {"name": name})
        elif not form.is_valid():
            messages.error(request, _("That is not a role. Choose one from the list."))
        elif actions.change_role(membership=membership, actor=request.user, role=form.cleaned_data["role"], now=now):
            role = Membership.Role(form.cleaned_data["role"]).label
            messages.success(request, _("%(name)s: %(role)s from now on.") % {"name": name, "role": role})
        else:
            messages.info(request, _("%(name)s has that role already.") % {"name": name})
    except UserError as refusal:
        messages.error(request, str(refusal))
    if membership.user == request.user and access.role_in(request.user, project.pk) not in access.OWN:
        return redirect("home")
    return redirect("members", project.pk)
