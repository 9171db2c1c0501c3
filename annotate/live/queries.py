"""Queries for live pages: what has changed, and who may still watch."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.sessions.models import Session
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from annotate.access import SEE
from annotate.models import Evaluation, FitState, Membership, ProvisionalRanking

# What a page compares to know whether it is up to date.
Revision = dict[str, int | str | None]


@dataclass(frozen=True)
class Viewer:
    """Who opened a socket: a member, signed in with this password, in this session."""

    project_id: UUID
    user_id: int
    password: str
    session_key: str


def fit_states() -> QuerySet[FitState]:
    """Return the rows that `revision` reads, with evaluated_at: when the estimators were last evaluated, and
    newest_at: when answers newer than the published fit were last added in a quick step."""
    made = Evaluation.objects.filter(project=OuterRef("pk")).exclude(made_at=None).order_by("-made_at")
    with_newest = ProvisionalRanking.objects.filter(project=OuterRef("pk")).exclude(made_at=None).order_by("-made_at")
    return FitState.objects.annotate(
        evaluated_at=Subquery(made.values("made_at")[:1]), newest_at=Subquery(with_newest.values("made_at")[:1])
    )


def revision(state: FitState) -> Revision:
    """Return what a page compares to know whether it is up to date.

    `labels` counts changes of the labels, `fit` names the published fit, `engine` changes with what the worker is
    doing, `evaluation` tells when the estimators were last tried on hidden labels, `newest` when the ranking last
    got answers newer than the published fit.
    """
    evaluated_at, newest_at = getattr(state, "evaluated_at", None), getattr(state, "newest_at", None)
    return {
        "fit": state.published_fit,
        "labels": state.wanted,
        "engine": f"{'on' if state.owner else 'off'}-{state.step}-{state.attempts + count_attempts(state)}",
        "evaluation": evaluated_at.isoformat() if evaluated_at else None,
        "newest": newest_at.isoformat() if newest_at else None,
    }


def count_attempts(state: FitState) -> int:
    """Count the attempts of its failing criteria."""
    return sum(one["attempts"] for one in state.failing.values())


def revisions(projects: Collection[UUID]) -> dict[UUID, Revision]:
    """Return the revision of each project that has one, from one query."""
    columns = ["published_fit", "wanted", "owner", "step", "attempts", "failing"]
    return {state.project_id: revision(state) for state in fit_states().filter(pk__in=projects).only(*columns)}


def allowed_viewers(viewers: Collection[Viewer]) -> set[Viewer]:
    """Return the viewers still allowed: they may see the project, are active, and have neither signed out nor changed
    their password; two queries, however many there are."""
    members = set(
        Membership.objects.filter(
            project_id__in={viewer.project_id for viewer in viewers},
            user_id__in={viewer.user_id for viewer in viewers},
            role__in=SEE,
            user__is_active=True,
        ).values_list("project_id", "user_id", "user__password")
    )
    keys = {viewer.session_key for viewer in viewers}
    signed_in = set(
        Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now()).values_list(
            "session_key", flat=True
        )
    )
    return {
        viewer
        for viewer in viewers
        if (viewer.project_id, viewer.user_id, viewer.password) in members and viewer.session_key in signed_in
    }
