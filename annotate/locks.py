"""Locks projects and annotators: annotators may write at the same time, whoever changes the project writes alone.

On PostgreSQL by its advisory locks, which are fair: a row lock that annotators shared could keep an owner who wants to
pause waiting for as long as answers come. On SQLite every writer has its turn (annotate/core/transactions.py). Each
lock is a statement of its own, since one that has waited sees other rows as they were before, and holds to the
transaction's end.
"""

from collections.abc import Callable, Collection
from typing import TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from annotate.core.chunks import chunks
from annotate.core.errors import AnnotatorErased, ItemsDeleted
from annotate.core.statements import Given, Statement
from annotate.core.transactions import write_transaction
from annotate.models import Annotator, Item, Project

Result = TypeVar("Result")


def lock_project(project_id: UUID) -> Project:
    """Return the project as stored now; until the transaction ends nobody else writes to it, annotators neither.

    Raises Project.DoesNotExist.
    """
    advisory_lock(project_id)
    found = locked_project(id=project_id)
    if not found:
        raise Project.DoesNotExist
    locked: Project = found[0]
    return locked


locked_project = Statement(lambda: Project.objects.filter(pk=Given("id", Project)))


def lock_item(item: Item) -> None:
    """Read the item as stored now; until the transaction ends nobody else writes to its project.

    Raises Item.DoesNotExist where it has been deleted.
    """
    project = lock_project(item.project_id)
    item.refresh_from_db()
    item.project = project


def check_items_there(project: Project, items: Collection[int]) -> None:
    """Raise ItemsDeleted unless the project has all of these; call while it is locked, before rows that name them."""
    wanted = list(set(items))
    found = sum(Item.objects.filter(project=project, pk__in=chunk).count() for chunk in chunks(wanted))
    if found < len(wanted):
        raise ItemsDeleted


def lock_annotator(annotator: Annotator, *, exclusive: bool = False) -> Annotator:
    """Return the annotator and its project as stored now, for one step: an answer, an undo, a new presentation.

    Until the transaction ends this annotator takes no other step and the project stays as it is. Other annotators take
    theirs meanwhile, unless `exclusive`; so a step counts by conditional UPDATEs, and in one order: one set, its items
    by their key, last the request for a fit. What counts two sets has to be `exclusive`. Raises AnnotatorErased.
    """
    advisory_lock(annotator.project_id, shared=not exclusive)
    found = locked_annotator(id=annotator.pk)
    if not found:
        raise AnnotatorErased
    locked: Annotator = found[0]
    locked.alone = exclusive
    return locked


class AloneNeeded(Exception):
    """A step that others take theirs beside comes to count a further set: two such could wait for each other."""


def check_alone(annotator: Annotator) -> None:
    """Raise AloneNeeded unless the step holds the project alone; call before it counts a further set."""
    if not annotator.alone:
        raise AloneNeeded


def in_step(annotator: Annotator, do: Callable[[Annotator], Result], *, exclusive: bool = False) -> Result:
    """Return what `do` makes of the annotator as lock_annotator returns it, in a transaction of its own.

    Where it raises AloneNeeded nothing is written, and it begins again, alone.
    """
    try:
        with write_transaction():
            return do(lock_annotator(annotator, exclusive=exclusive))
    except AloneNeeded:
        with write_transaction():
            return do(lock_annotator(annotator, exclusive=True))


def annotator_to_lock() -> QuerySet[Annotator]:
    rows = Annotator.objects.select_related("project").defer("project__instructions")
    if connection.features.has_select_for_update_of:
        rows = rows.select_for_update(no_key=True, of=("self",))
    return rows.filter(pk=Given("id", Annotator))


locked_annotator = Statement(annotator_to_lock)


def advisory_lock(project_id: UUID, *, shared: bool = False) -> None:
    """Take the lock until the transaction ends; no effect on SQLite, where writers take turns."""
    if connection.vendor == "postgresql":
        lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {lock}(%s)", [project_id.int >> 65])  # of the 128 bits the 63 that fit
