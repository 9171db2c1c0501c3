"""Makes and revokes results links, which publish a project's ranking."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import EventVerb, Project, ResultsLink, User

MAX_LINKS = 20  # of one project, in use at a time


class TooManyLinks(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("This project already has %(n)d results links, which is the limit. Revoke one first.") % {"n": n}
        )


def make_link(
    *, project: Project, actor: User, criterion: int, expires_at: datetime | None, now: datetime, **live: Any
) -> ResultsLink:
    """Make a link; live: other columns of ResultsLink, such as track and invites. Raises TooManyLinks."""
    with write_transaction():
        lock_project(project.pk)
        n = sum(not link.is_over(now) for link in project.results_links.filter(revoked_at=None))
        if n >= MAX_LINKS:
            raise TooManyLinks(n)
        link = ResultsLink.objects.create(
            project=project, criterion=criterion, made_at=now, expires_at=expires_at, **live
        )
        ends = expires_at.isoformat() if expires_at else ""
        about: dict[str, Any] = {
            "link": token_excerpt(link),
            "criterion": criterion,
            "ends": ends,
            "shows_groups": link.shows_groups,
            "shows_leaderboard": link.shows_leaderboard,
            "invites": link.invites,
        }
        record_event(project, actor, EventVerb.RESULTS_LINK_MADE, now, **about)
    return link


def revoke_link(*, link: ResultsLink, actor: User, now: datetime) -> bool:
    """Return False if it was revoked already."""
    with write_transaction():
        if not ResultsLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=now):
            return False
        record_event(link.project, actor, EventVerb.RESULTS_LINK_REVOKED, now, link=token_excerpt(link))
    return True


def set_names(*, link: ResultsLink, actor: User, shown: bool, now: datetime) -> bool:
    """Reveals the names of the items, or hides them; returns False if nothing changed."""
    values = {"revealed_at": now} if shown else {"revealed_at": None, "hides_names": True}
    with write_transaction():
        link = ResultsLink.objects.select_for_update(of=("self",)).select_related("project").get(pk=link.pk)
        if link.shows_names == shown:
            return False
        ResultsLink.objects.filter(pk=link.pk).update(**values)
        verb = EventVerb.RESULTS_NAMES_REVEALED if shown else EventVerb.RESULTS_NAMES_HIDDEN
        record_event(link.project, actor, verb, now, link=token_excerpt(link))
    return True


def set_deadline(*, link: ResultsLink, actor: User, deadline: datetime | None, now: datetime) -> bool:
    """Set what the projector view counts down to, or nothing; return False if nothing changed."""
    with write_transaction():
        link = ResultsLink.objects.select_for_update(of=("self",)).select_related("project").get(pk=link.pk)
        if link.deadline == deadline:
            return False
        ResultsLink.objects.filter(pk=link.pk).update(deadline=deadline)
        text = deadline.isoformat() if deadline else ""
        record_event(link.project, actor, EventVerb.RESULTS_DEADLINE_SET, now, link=token_excerpt(link), deadline=text)
    return True


def token_excerpt(link: ResultsLink) -> str:
    """Return what tells one link from another in the log, where its address must not stand."""
    return link.pk.hex[:8]
