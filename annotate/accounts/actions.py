"""Making, using and revoking access tokens; the secret itself is never stored."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.models import ApiToken, Event, EventVerb, Membership, Project, User
from annotate.models.api_tokens import SHOWN, digest_of, new_api_secret

MANAGING = [Membership.Role.OWNER, Membership.Role.MANAGER]
MOST_TOKENS = 50  # that a person may have in use
NOTED_EVERY = timedelta(minutes=1)


class TooManyTokens(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("You already have %(n)d tokens, which is the limit. Revoke one that you no longer use.") % {"n": n}
        )


def create_token(
    *, user: User, name: str, scopes: list[str], project: Project | None, expires_at: datetime | None, now: datetime
) -> tuple[ApiToken, str]:
    """Return the token and its secret, which nobody can read again. Raises TooManyTokens."""
    secret = new_api_secret()
    with write_transaction():
        User.objects.select_for_update(no_key=True).only("pk").get(pk=user.pk)
        n = ApiToken.objects.filter(user=user, revoked_at=None).count()
        if n >= MOST_TOKENS:
            raise TooManyTokens(n)
        token = ApiToken.objects.create(
            user=user,
            project=project,
            name=name,
            prefix=secret[:SHOWN],
            digest=digest_of(secret),
            scopes=scopes,
            created_at=now,
            expires_at=expires_at,
        )
        record_token_event(token, EventVerb.ACCESS_TOKEN_MADE, now)
    return token, secret


def revoke_token(*, token: ApiToken, now: datetime) -> bool:
    """Return False if it was revoked already."""
    with write_transaction():
        if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
            return False
        record_token_event(token, EventVerb.ACCESS_TOKEN_REVOKED, now)
    return True


def record_token_event(token: ApiToken, verb: EventVerb, now: datetime) -> None:
    """Record the token's name, never itself, in the history of each project that it reaches and its user may change."""
    reached = Membership.objects.filter(user=token.user_id, role__in=MANAGING)
    if token.project_id:
        reached = reached.filter(project=token.project_id)
    details = {"name": token.name, "scopes": ", ".join(token.scopes), "one_project": token.project_id is not None}
    Event.objects.bulk_create(
        Event(project_id=project, actor_id=token.user_id, verb=verb, details=details, at=now)
        for project in reached.values_list("project_id", flat=True)
    )


def record_token_use(*, token: ApiToken, now: datetime) -> None:
    """Remembers that the token was used; written at most once a minute."""
    if token.last_used_at is None or token.last_used_at < now - NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
