"""Who belongs to a project: adding accounts by e-mail address, changing roles, removing; an owner always remains."""

from datetime import datetime

from django.utils.translation import gettext as _

from annotate.accounts.invitations import invite_address
from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import EventVerb, MemberInvitation, Membership, Project, User

Role = Membership.Role


class LastOwner(UserError):
    def __init__(self) -> None:
        super().__init__(_("A project needs an owner, and this is its only one. Make somebody else an owner first."))


class OwnersOnly(UserError):
    status = 403

    def __init__(self) -> None:
        super().__init__(_("Only owners can change the members of a project. Ask one of them."))


class MemberAlready(UserError):
    def __init__(self, address: str) -> None:
        super().__init__(
            _("%(address)s is a member already. Change the role in the list instead.") % {"address": address}
        )


def add_member(*, project: Project, actor: User, address: str, role: str, now: datetime) -> Membership | None:
    """Make the account with this e-mail address a member; without one it is invited to make one, and None returned.

    Raises OwnersOnly and MemberAlready.
    """
    with write_transaction():
        check_is_owner(project, actor)
        user = User.objects.filter(email__iexact=address, is_active=True).order_by("pk").first()
        if user is None:
            invite_address(project=project, address=address, role=role, now=now)
            record_event(project, actor, EventVerb.MEMBER_INVITED, now, address=address, role=role)
            return None
        membership, is_new = Membership.objects.get_or_create(project=project, user=user, defaults={"role": role})
        if not is_new:
            raise MemberAlready(address)
        record_event(project, actor, EventVerb.MEMBER_ADDED, now, member=user.email, role=role)
    return membership


def change_role(*, membership: Membership, actor: User, role: str, now: datetime) -> bool:
    """Return False if that was the role already. Raises OwnersOnly and LastOwner."""
    with write_transaction():
        project = check_is_owner(membership.project, actor)
        before = Membership.objects.get(pk=membership.pk).role
        if before == role:
            return False
        check_owner_remains(membership)
        Membership.objects.filter(pk=membership.pk).update(role=role)
        record_event(
            project, actor, EventVerb.MEMBER_ROLE_CHANGED, now, member=membership.user.email, role=[before, role]
        )
    return True


def remove_member(*, membership: Membership, actor: User, now: datetime) -> None:
    """End the membership; labels stay. Raises OwnersOnly and LastOwner."""
    with write_transaction():
        project = check_is_owner(membership.project, actor)
        found = Membership.objects.select_related("user").filter(pk=membership.pk).first()
        if found is None:
            return
        check_owner_remains(found)
        record_event(project, actor, EventVerb.MEMBER_REMOVED, now, member=found.user.email, role=found.role)
        found.delete()


def withdraw_invitation(*, invitation: MemberInvitation, actor: User, now: datetime) -> None:
    """Delete the invitation, whose link then no longer works. Raises OwnersOnly."""
    with write_transaction():
        project = check_is_owner(invitation.project, actor)
        if MemberInvitation.objects.filter(pk=invitation.pk).delete()[0]:
            record_event(project, actor, EventVerb.INVITATION_WITHDRAWN, now, address=invitation.address)


def check_is_owner(project: Project, actor: User) -> Project:
    """Locks the project, so that two owners can't remove each other at once."""
    project = lock_project(project.pk)
    if not project.memberships.filter(user=actor, role=Role.OWNER).exists():
        raise OwnersOnly
    return project


def check_owner_remains(membership: Membership) -> None:
    others = Membership.objects.filter(project=membership.project_id, role=Role.OWNER).exclude(pk=membership.pk)
    if not others.exists():
        raise LastOwner
