"""Invites addresses without an account to be members: a signed link, once, that makes the account and confirms it."""

from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress
from django.core import signing
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotate.accounts.adapter import refusing_a_name_just_given
from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.models import EventVerb, MemberInvitation, Membership, Project, User

LIFETIME = timedelta(days=14)
signer = signing.Signer(salt="member invitation")


class InvitationOver(UserError):
    status = 410

    def __init__(self) -> None:
        super().__init__(
            _("This invitation was used or withdrawn, or it is older than %(n)d days. Ask for another.")
            % {"n": LIFETIME.days}
        )


def open_invitations(address: str, now: datetime) -> QuerySet[MemberInvitation]:
    return MemberInvitation.objects.filter(address=address.lower(), expires_at__gt=now)


def invite_address(*, project: Project, address: str, role: str, now: datetime) -> MemberInvitation:
    """Make or renew the invitation, whose earlier link no longer works; call under the project's lock."""
    values = {"role": role, "created_at": now, "expires_at": now + LIFETIME}
    return MemberInvitation.objects.update_or_create(project=project, address=address.lower(), defaults=values)[0]


def invitation_token(invitation: MemberInvitation) -> str:
    return signer.sign(f"{invitation.pk}.{invitation.created_at.timestamp():.6f}")


def invitation_of(token: str, now: datetime) -> MemberInvitation:
    """Return the open invitation with this token. Raises InvitationOver."""
    try:
        pk, _dot, made = signer.unsign(token).partition(".")
    except signing.BadSignature:
        raise InvitationOver from None
    found = MemberInvitation.objects.select_related("project").filter(pk=int(pk), expires_at__gt=now).first()
    if found is None or f"{found.created_at.timestamp():.6f}" != made:
        raise InvitationOver
    return found


def account_of(address: str) -> User | None:
    """Return the active account that signs in with this address."""
    owned = User.objects.filter(emailaddress__email__iexact=address, emailaddress__verified=True, is_active=True)
    named = User.objects.filter(email__iexact=address, is_active=True)
    return owned.order_by("pk").first() or named.order_by("pk").first()


def is_switched_off(address: str) -> bool:
    """Tell whether an account with this address has been switched off: no other is made in its place."""
    known = Q(emailaddress__email__iexact=address, emailaddress__verified=True) | Q(email__iexact=address)
    return User.objects.filter(known, is_active=False).exists()


def accept_invitations(*, user: User, address: str, now: datetime) -> list[Membership]:
    """Make the account a member wherever its confirmed address is invited; the invitations are used up by it."""
    made = []
    with write_transaction():
        for invitation in open_invitations(address, now).select_related("project").order_by("pk"):
            if not MemberInvitation.objects.filter(pk=invitation.pk).delete()[0]:
                continue  # another request was first
            values = {"role": invitation.role}
            project = invitation.project
            membership, is_new = Membership.objects.get_or_create(project=project, user=user, defaults=values)
            if is_new:
                record_event(project, user, EventVerb.MEMBER_JOINED, now, member=address, role=invitation.role)
            made.append(membership)
    return made


def make_account(*, invitation: MemberInvitation, user: User, password: str, now: datetime) -> list[Membership]:
    """Save the new account, whose address the link confirms, and make it a member. Raises InvitationOver and
    AccountJustMade.

    Of several requests at once, by any of the address's links, one makes the account.
    """
    with write_transaction():
        invited = list(open_invitations(invitation.address, now).select_for_update().order_by("pk"))
        if (invitation.pk, invitation.created_at) not in [(one.pk, one.created_at) for one in invited]:
            raise InvitationOver
        user.set_password(password)
        with refusing_a_name_just_given():
            user.save()
        confirm_address(user, invitation.address)
        return accept_invitations(user=user, address=invitation.address, now=now)


def confirm_address(user: User, address: str) -> None:
    values: dict[str, Any] = {"verified": True, "primary": True}
    EmailAddress.objects.update_or_create(user=user, email=address, defaults=values)
