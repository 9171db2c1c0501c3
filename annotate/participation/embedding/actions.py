"""Sets which sites may show a project's vote and results."""

from datetime import datetime

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import EventVerb, Project, User


def set_sites(*, project: Project, actor: User, origins: list[str], now: datetime) -> bool:
    """Set the list; return False if it was the same before."""
    with write_transaction():
        project = lock_project(project.pk)
        before = project.embed_origins
        if before == origins:
            return False
        project.embed_origins = origins
        project.save(update_fields=["embed_origins"])
        change = [", ".join(before), ", ".join(origins)]
        record_event(project, actor, EventVerb.SITES_CHANGED, now, origins=change)
    return True
