"""Putting a project away for good or for a while: it can be looked at and exported, and nothing in it changes."""

from datetime import datetime

from annotate.actions.events import note
from annotate.actions.webhooks import tell
from annotate.locking import alone
from annotate.models import Project, User, Webhook
from annotate.writing import writing

State = Project.State


def archive_project(*, project: Project, actor: User, now: datetime) -> bool:
    """Archives, and closes first what is open or paused; False if it was archived already."""
    with writing():
        project = alone(project.pk)
        if project.archived_at:
            return False
        before, project.archived_at = project.state, now
        if before != State.DRAFT:
            project.state = State.CLOSED
        project.save(update_fields=["state", "archived_at"])
        note(project, actor, "project archived", now, archived=[False, True], state=[before, project.state])
        if before != project.state:
            tell(project_id=project.pk, event=Webhook.Event.STATE_CHANGED, data={"state": project.state}, now=now)
    return True


def unarchive_project(*, project: Project, actor: User, now: datetime) -> bool:
    """Brings the project back, a draft or closed as it is; False if it was not archived."""
    with writing():
        if not Project.objects.filter(pk=project.pk, archived_at__isnull=False).update(archived_at=None):
            return False
        note(project, actor, "project brought back", now, archived=[True, False])
    return True
