"""Who may write about a project at the same time: annotators together, whoever changes the project itself alone.

On PostgreSQL by its advisory locks, which are fair: a row lock that annotators shared could keep an owner who wants to
pause waiting for as long as answers come. On SQLite every writer has its turn (annotate/writing.py). Each lock is a
statement of its own, since one that has waited sees other rows as they were before, and holds to the transaction's end.
"""

from uuid import UUID

from django.db import connection

from annotate.errors import Erased
from annotate.models import Annotator, Project


def alone(project_id: UUID) -> Project:
    """The project as stored now; until the transaction ends nobody else writes about it, annotators neither."""
    hold(project_id)
    return Project.objects.get(pk=project_id)


def step_of(annotator: Annotator, *, by_itself: bool = False) -> Annotator:
    """The annotator and its project as stored now, for one step of theirs: an answer, an undoing, a new presentation.

    Until the transaction ends this annotator takes no other step and the project stays as it is. Other annotators take
    theirs meanwhile, unless it is to be `by_itself`; so a step counts by conditional UPDATEs, and in one order: sets,
    items by their key, last what the engine is told. Raises Erased.
    """
    hold(annotator.project_id, shared=not by_itself)
    rows = Annotator.objects.select_related("project").defer("project__instructions")
    if connection.features.has_select_for_update_of:
        rows = rows.select_for_update(no_key=True, of=("self",))
    found = rows.filter(pk=annotator.pk).first()
    if found is None:
        raise Erased
    return found


def hold(project_id: UUID, *, shared: bool = False) -> None:
    if connection.vendor == "postgresql":
        lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {lock}(%s)", [project_id.int >> 65])  # of the 128 bits the 63 that fit
