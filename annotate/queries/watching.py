"""What the relay of live pages asks the database: what has changed, and who may still watch."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.sessions.models import Session
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from annotate.access import SEE
from annotate.models import EngineState, Evaluation, Membership

# What a page compares to know whether it is up to date.
Revision = dict[str, int | str | None]


@dataclass(frozen=True)
class Ticket:
    """By what right a socket was opened: a member, signed in with this password, in this session."""

    project_id: UUID
    user_id: int
    password: str
    session_key: str


def states() -> QuerySet[EngineState]:
    """What `revision` tells of; evaluated_at: when the estimators were last evaluated."""
    made = Evaluation.objects.filter(project=OuterRef("pk")).exclude(made_at=None).order_by("-made_at")
    return EngineState.objects.annotate(evaluated_at=Subquery(made.values("made_at")[:1]))


def revision(state: EngineState) -> Revision:
    """`labels` counts changes of the labels, `fit` names the published fit, `engine` changes with what it is doing,
    `evaluation` tells when the estimators were last tried on hidden labels.
    """
    evaluated_at = getattr(state, "evaluated_at", None)
    return {
        "fit": state.published_fit,
        "labels": state.wanted,
        "engine": f"{'on' if state.owner else 'off'}-{state.step}-{state.attempts + tries(state)}",
        "evaluation": evaluated_at.isoformat() if evaluated_at else None,
    }


def tries(state: EngineState) -> int:
    """How often its failing criteria have been tried."""
    return sum(one["attempts"] for one in state.failing.values())


def revisions(projects: Collection[UUID]) -> dict[UUID, Revision]:
    """The revision of each project that has one, from one query."""
    columns = ["published_fit", "wanted", "owner", "step", "attempts", "failing"]
    return {state.project_id: revision(state) for state in states().filter(pk__in=projects).only(*columns)}


def still_allowed(tickets: Collection[Ticket]) -> set[Ticket]:
    """The tickets that still hold: the member may see the project, is active, has neither signed out nor changed the
    password; two queries, however many there are."""
    members = set(
        Membership.objects.filter(
            project_id__in={ticket.project_id for ticket in tickets},
            user_id__in={ticket.user_id for ticket in tickets},
            role__in=SEE,
            user__is_active=True,
        ).values_list("project_id", "user_id", "user__password")
    )
    keys = {ticket.session_key for ticket in tickets}
    signed_in = set(
        Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now()).values_list(
            "session_key", flat=True
        )
    )
    return {
        ticket
        for ticket in tickets
        if (ticket.project_id, ticket.user_id, ticket.password) in members and ticket.session_key in signed_in
    }
