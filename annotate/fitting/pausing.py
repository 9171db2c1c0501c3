"""Pauses a project whose goal is met, once for each goal, where its owner asked for that."""

import logging
from datetime import datetime
from typing import Any

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.criteria import list_criteria
from annotate.locks import lock_project
from annotate.models import Event, EventVerb, Membership, Project, Webhook
from annotate.models.goals import Goal
from annotate.webhooks.actions import enqueue_event
from models_engine.models import Fit

logger = logging.getLogger("annotate.worker")
# A goal that is estimated must be met by every fit over so many answers: of many looks one is lucky.
MIN_LABELS_CONFIRMING = 50
COUNTED = (Goal.PLAN, Goal.COMPARISONS)  # these are counted, not estimated
GOAL_FIELDS = [
    *("goal", "goal_width", "goal_comparisons", "goal_reliability", "goal_places", "top_k", "grades", "overlap"),
    "pause_at_goal",
]


def met_since(goal: dict[str, Any], former: Fit | None, n_labels: int) -> int:
    """Returns at how many labels the goal was first met by a fit, if every later fit met it, too.

    goal: what the new fit, of so many labels, says of its goal, which it meets.   former: the fit before.
    """
    before = (former.diagnostics.get("goal") or {}) if former else {}
    same = all(before.get(name) == goal[name] for name in ("kind", "value", "met"))
    return min(int(before.get("since", n_labels)), n_labels) if same else n_labels


def is_confirmed(fit: Fit, project: Project) -> bool:
    """Tells whether the fit, and where the goal is estimated all fits over the last answers, met the present goal."""
    goal = fit.diagnostics.get("goal") or {}
    if not goal.get("met") or (goal["kind"], goal["value"]) != (project.goal, project.goal_value):
        return False
    return project.goal in COUNTED or fit.n_labels - goal.get("since", fit.n_labels) >= MIN_LABELS_CONFIRMING


def pause_at_goal(fit: Fit, now: datetime) -> bool:
    """Pauses the open project of a published fit whose goal is met by each criterion, and tells its owners; else False.

    Once for each goal: who resumes the project meant it.
    """
    asked = Project.objects.filter(pk=fit.project_id, state=Project.State.OPEN, pause_at_goal=True).exclude(goal="")
    if not asked.exists():
        return False
    with write_transaction():
        project = lock_project(fit.project_id)
        if not (project.state == Project.State.OPEN and project.pause_at_goal and is_due(project)):
            return False
        project.state = Project.State.PAUSED
        project.save(update_fields=["state"])
        record_event(
            project,
            None,
            EventVerb.PROJECT_PAUSED_AT_GOAL,
            now,
            state=[Project.State.OPEN, Project.State.PAUSED],
            goal=project.goal,
            labels=fit.n_labels,
        )
        enqueue_event(project_id=project.pk, event=Webhook.Event.STATE_CHANGED, data={"state": "paused"}, now=now)
    tell_owners(project, fit)
    return True


def is_due(project: Project) -> bool:
    fits = {one.criterion: one for one in Fit.objects.filter(project_id=project.pk, published=True).defer("arrays")}
    criteria = list_criteria(project)
    if not all(one.number in fits and is_confirmed(fits[one.number], project) for one in criteria):
        return False
    events = Event.objects.filter(project=project).order_by("-pk")
    paused = events.filter(verb=EventVerb.PROJECT_PAUSED_AT_GOAL).first()
    if paused is None:
        return True
    changed = events.filter(verb=EventVerb.SETTINGS_CHANGED, details__has_any_keys=GOAL_FIELDS)
    return changed.filter(pk__gt=paused.pk).exists()


def tell_owners(project: Project, fit: Fit) -> None:
    """Writes to each owner who has an address; a message that cannot be sent is left out, and logged."""
    owners = project.memberships.filter(role=Membership.Role.OWNER).exclude(user__email="")
    body = render_to_string("fitting/goal_met.txt", {"project": project, "n_labels": fit.n_labels})
    for address in owners.values_list("user__email", flat=True):
        try:
            EmailMessage(subject=_("Your goal is met: the project is paused"), body=body, to=[address]).send()
        except Exception:
            logger.exception("The message that project %s is paused could not be sent.", project.pk)
