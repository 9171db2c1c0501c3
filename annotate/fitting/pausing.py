"""Pauses a project whose goal is met, once for each goal, where its owner asked for that."""

from datetime import datetime

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.criteria import list_criteria
from annotate.fitting.owner_mails import mail_owners
from annotate.locks import lock_project
from annotate.models import Event, EventVerb, Project, Webhook
from annotate.webhooks.actions import enqueue_event
from models_engine.models import Fit

GOAL_FIELDS = [
    *("goal", "goal_width", "goal_comparisons", "goal_reliability", "goal_places", "top_k", "grades", "overlap"),
    "pause_at_goal",
]


def is_met(fit: Fit, project: Project) -> bool:
    """Tells whether by this fit "you can stop" is said of the present goal."""
    goal = fit.diagnostics.get("goal") or {}
    return bool(goal.get("met")) and (goal["kind"], goal["value"]) == (project.goal, project.goal_value)


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
    mail_goal_met(project, fit)
    return True


def is_due(project: Project) -> bool:
    fits = {one.criterion: one for one in Fit.objects.filter(project_id=project.pk, published=True).defer("arrays")}
    criteria = list_criteria(project)
    if not all(one.number in fits and is_met(fits[one.number], project) for one in criteria):
        return False
    events = Event.objects.filter(project=project).order_by("-pk")
    paused = events.filter(verb=EventVerb.PROJECT_PAUSED_AT_GOAL).first()
    if paused is None:
        return True
    changed = events.filter(verb=EventVerb.SETTINGS_CHANGED, details__has_any_keys=GOAL_FIELDS)
    return changed.filter(pk__gt=paused.pk).exists()


def mail_goal_met(project: Project, fit: Fit) -> None:
    body = render_to_string("fitting/goal_met.txt", {"project": project, "n_labels": fit.n_labels})
    mail_owners(project, _("Your goal is met: the project is paused"), body)
