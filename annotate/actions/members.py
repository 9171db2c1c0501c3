"""Who belongs to a project: adding accounts by e-mail address, changing roles, removing; an owner always remains."""

from datetime import datetime

from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.errors import Refusal
from annotate.locking import alone
from annotate.models import Membership, Project, User
from annotate.writing import writing

Role = Membership.Role


class LastOwner(Refusal):
    def __init__(self) -> None:
        super().__init__(_("A project needs an owner, and this is its only one. Make somebody else an owner first."))


class OwnersOnly(Refusal):
    status = 403

    def __init__(self) -> None:
        super().__init__(_("Only owners decide who belongs to a project. Ask one of them."))


class MemberAlready(Refusal):
    def __init__(self, address: str) -> None:
        super().__init__(
            _("%(address)s is a member already. Change the role in the list instead.") % {"address": address}
        )


def add_member(*, project: Project, actor: User, address: str, role: str, now: datetime) -> Membership | None:
    """Makes the account with this e-mail address a member; None if there is no such account.

    Raises OwnersOnly and MemberAlready.
    """
    with writing():
        check_is_owner(project, actor)
        user = User.objects.filter(email__iexact=address, is_active=True).order_by("pk").first()
        if user is None:
            note(project, actor, "member invited", now, address=address, role=role)
            return None
        membership, is_new = Membership.objects.get_or_create(project=project, user=user, defaults={"role": role})
        if not is_new:
            raise MemberAlready(address)
        note(project, actor, "member added", now, member=user.email, role=role)
    return membership


def change_role(*, membership: Membership, actor: User, role: str, now: datetime) -> bool:
    """False if that was the role already. Raises OwnersOnly and LastOwner."""
    with writing():
        project = check_is_owner(membership.project, actor)
        before = Membership.objects.get(pk=membership.pk).role
        if before == role:
            return False
        check_owner_remains(membership)
        Membership.objects.filter(pk=membership.pk).update(role=role)
        note(project, actor, "member's role changed", now, member=membership.user.email, role=[before, role])
    return True


def remove_member(*, membership: Membership, actor: User, now: datetime) -> None:
    """Ends the membership; labels stay. Raises OwnersOnly and LastOwner."""
    with writing():
        project = check_is_owner(membership.project, actor)
        check_owner_remains(membership)
        note(project, actor, "member removed", now, member=membership.user.email, role=membership.role)
        membership.delete()


def check_is_owner(project: Project, actor: User) -> Project:
    """Locks the project, so that two owners can't remove each other at once."""
    project = alone(project.pk)
    if not project.memberships.filter(user=actor, role=Role.OWNER).exists():
        raise OwnersOnly
    return project


def check_owner_remains(membership: Membership) -> None:
    others = Membership.objects.filter(project=membership.project_id, role=Role.OWNER).exclude(pk=membership.pk)
    if not others.exists():
        raise LastOwner
