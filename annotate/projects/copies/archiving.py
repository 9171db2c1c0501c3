"""Putting a project away for good or for a while: it can be looked at and exported, and nothing in it changes."""

from datetime import datetime
from typing import Any

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.labelling.label_rows import require_labels
from annotate.locks import lock_project
from annotate.models import EventVerb, Project, User, Webhook
from annotate.webhooks.actions import enqueue_event

State = Project.State


def archive_project(*, project: Project, actor: User, now: datetime) -> bool:
    """Archive, and close first what is open or paused; False if it was archived already."""
    with write_transaction():
        project = lock_project(project.pk)
        if project.archived_at:
            return False
        before, project.archived_at = project.state, now
        if before != State.DRAFT:
            project.state = State.CLOSED
        project.save(update_fields=["state", "archived_at"])
        closed: dict[str, Any] = {"state": [before, project.state]} if before != project.state else {}
        record_event(project, actor, EventVerb.PROJECT_ARCHIVED, now, archived=[False, True], **closed)
        if closed:
            enqueue_event(
                project_id=project.pk, event=Webhook.Event.STATE_CHANGED, data={"state": project.state}, now=now
            )
    return True


def unarchive_project(*, project: Project, actor: User, now: datetime) -> bool:
    """Brings the project back, a draft or closed as it is; False if it was not archived. Raises LabelsArchived."""
    with write_transaction():
        require_labels(lock_project(project.pk))
        if not Project.objects.filter(pk=project.pk, archived_at__isnull=False).update(archived_at=None):
            return False
        record_event(project, actor, EventVerb.PROJECT_BROUGHT_BACK, now, archived=[True, False])
    return True
