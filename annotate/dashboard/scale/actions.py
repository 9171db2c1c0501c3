"""Keeps the scale of a project's ranking: anchors of fixed value, which every later fit is linked to."""

from datetime import datetime

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion
from annotate.dashboard.scale.queries import Anchors
from annotate.locks import lock_project
from annotate.models import EventVerb, User


def keep_anchors(*, criterion: Criterion, actor: User, anchors: Anchors, now: datetime) -> bool:
    """Keep these anchors for the criterion, none to forget its scale; False if they were the same before."""
    number, rows = str(criterion.number), [list(anchor) for anchor in anchors]
    with write_transaction():
        project = lock_project(criterion.project.pk)
        before = project.anchors.get(number, [])
        if rows == before:
            return False
        others = {name: kept for name, kept in project.anchors.items() if name != number}
        project.anchors = others | ({number: rows} if rows else {})
        project.save(update_fields=["anchors"])
        record_event(project, actor, EventVerb.SETTINGS_CHANGED, now, anchors=[len(before), len(rows)])
    criterion.project.anchors = project.anchors
    return True
