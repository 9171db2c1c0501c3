"""Erasing an account with everything of its person, in every project, in sessions and in the records of sign-ins."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from allauth.account.models import EmailAddress
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q
from django.utils.translation import ngettext

from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.imports.uploads import discard_all_of
from annotate.locks import advisory_lock
from annotate.models import Annotator, Event, MemberInvitation, Membership, Project, User
from annotate.privacy.erasure.actions import BY_ACCOUNT, _erase
from annotate.privacy.erasure.redaction import (
    NamesToRedact,
    clear_event_details,
    names_in_lower_case,
    redact_events,
    redact_stored_responses,
)

Role = Membership.Role


class StillOwner(UserError):
    """projects: those that nobody else owns."""

    def __init__(self, projects: list[Project]) -> None:
        self.projects = projects
        super().__init__(
            ngettext(
                "You are the only owner of %(n)d project. Make somebody else its owner or delete it first; nothing was "
                "erased.",
                "You are the only owner of %(n)d projects. Make others their owners or delete them first; nothing was "
                "erased.",
                len(projects),
            )
            % {"n": len(projects)}
        )


def projects_owned_alone(user: User) -> list[Project]:
    """Return the projects that would be left without an owner."""
    others = Membership.objects.filter(role=Role.OWNER).exclude(user=user)
    mine = Project.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    return list(mine.exclude(pk__in=others.values("project")).only("pk", "name").order_by("name", "pk"))


def erase_account(*, user: User, by: str = BY_ACCOUNT, now: datetime) -> int:
    """Delete the account and everything of its person; the number of labels that were. Raises StillOwner."""
    with write_transaction():
        of_user = Q(memberships__user=user) | Q(annotators__user=user)
        keys = set(Project.objects.filter(of_user).values_list("pk", flat=True))
        for key in sorted(keys):
            advisory_lock(key)
        if left := projects_owned_alone(user):
            raise StillOwner(left)
        mine = Annotator.objects.select_related("project").filter(user=user).order_by("project", "pk")
        n_labels = sum(_erase(annotator, by, None, now) for annotator in mine)
        erase_account_traces(user)
        transaction.on_commit(partial(discard_all_of, user.pk))
        user.delete()
    return n_labels


def erase_account_traces(user: User) -> None:
    """Erase what names the account outside the rows that go with it."""
    known = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    addresses = names_in_lower_case([user.email, *known])
    redact_events(Event.objects.all(), NamesToRedact(addresses))
    redact_stored_responses(NamesToRedact(addresses))
    clear_event_details(Event.objects.filter(actor=user, verb__startswith="access token"))
    MemberInvitation.objects.filter(address__in=addresses).delete()
    for name in {*addresses, user.get_username()}:
        for model in (AccessAttempt, AccessFailureLog, AccessLog):
            model.objects.filter(username__iexact=name).delete()
        AccessAttempt.objects.filter(Q(post_data__icontains=name) | Q(get_data__icontains=name)).delete()
    of_users = ContentType.objects.get_for_model(User)
    LogEntry.objects.filter(Q(user=user) | Q(content_type=of_users, object_id=str(user.pk))).delete()
    Session.objects.filter(pk__in=list(sessions_of(user))).delete()


def sessions_of(user: User) -> Iterator[str]:
    """Yield every session of the account: signed data, so all have to be looked at."""
    for session in Session.objects.iterator(1000):
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            yield session.pk
