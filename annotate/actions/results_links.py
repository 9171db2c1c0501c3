"""Publishing a project's ranking by a link, and taking the link back."""

from datetime import datetime

from django.utils.translation import gettext as _

from annotate.actions.events import note
from annotate.errors import Refusal
from annotate.locking import alone
from annotate.models import Project, ResultsLink, User
from annotate.writing import writing

MOST_LINKS = 20  # of one project, in use at a time


class TooManyLinks(Refusal):
    def __init__(self, n: int) -> None:
        super().__init__(_("This project has %(n)d results links, as many as it may have. Revoke one.") % {"n": n})


def make_link(
    *, project: Project, actor: User, criterion: int, expires_at: datetime | None, now: datetime
) -> ResultsLink:
    """Raises TooManyLinks."""
    with writing():
        alone(project.pk)
        n = sum(not link.is_over(now) for link in project.results_links.filter(revoked_at=None))
        if n >= MOST_LINKS:
            raise TooManyLinks(n)
        link = ResultsLink.objects.create(project=project, criterion=criterion, made_at=now, expires_at=expires_at)
        ends = expires_at.isoformat() if expires_at else ""
        note(project, actor, "results link made", now, link=short(link), criterion=criterion, ends=ends)
    return link


def revoke_link(*, link: ResultsLink, actor: User, now: datetime) -> bool:
    """False if it was revoked already."""
    with writing():
        if not ResultsLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=now):
            return False
        note(link.project, actor, "results link revoked", now, link=short(link))
    return True


def short(link: ResultsLink) -> str:
    """By what people tell one link from another in the log, where its address must not stand."""
    return link.pk.hex[:8]
