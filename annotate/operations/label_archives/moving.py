"""Moves a project's labels into a file and back, piece by piece; stopped at any moment, it goes on where it was.

Nothing leaves the database before the same rows have been read from the stored file and compared.
"""

import tempfile
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import Sum

from annotate.core.transactions import write_transaction, yielding_write_transaction
from annotate.labelling.item_sets import TAKEN_STATES
from annotate.labelling.voiding import count_taken
from annotate.locks import lock_project
from annotate.models import (
    AnswerNotice,
    ConflictOfInterest,
    CriterionAnswer,
    ItemComment,
    Label,
    LabelArchive,
    Presentation,
    PresentedItem,
    Project,
    Purpose,
)
from annotate.operations.label_archives.errors import LabelArchiveError
from annotate.operations.label_archives.files import hash_of, opened_pieces, store, write_pieces
from annotate.operations.label_archives.layout import schema_of
from annotate.operations.label_archives.redaction import redact_file
from annotate.operations.label_archives.rows import presentation_chunks, read_piece, write_piece

State = LabelArchive.State
Report = Callable[[str, int, int], None]


def archive_labels(project: Project, now: datetime, report: Report) -> LabelArchive:
    """Move the labels of an archived project into a file. report(what, done, total) is called now and then.

    Raises LabelArchiveError, with nothing changed.
    """
    archive = LabelArchive.objects.filter(project=project).first()
    if archive is None:
        archive = write_archive(project, now, report)
    if archive.state == State.RESTORING:
        raise LabelArchiveError("The labels are being brought back. Finish that first: manage.py restore_labels.")
    if archive.state == State.REMOVING:
        remove_rows(archive, report)
    return archive


def check_may_archive(project: Project) -> None:
    """Raise LabelArchiveError unless nothing can change the project's labels, and nobody waits for one of them."""
    if not project.archived_at:
        raise LabelArchiveError(
            f"The project “{project.name}” is not archived. Archive it first, in its settings: then nobody answers in "
            "it and it gets no fits."
        )
    if n := AnswerNotice.objects.filter(project=project).count():
        raise LabelArchiveError(f"Webhooks have not been told of {n:,} answers yet. Let a worker run, and try again.")


def write_archive(project: Project, now: datetime, report: Report) -> LabelArchive:
    """Write the file and note it; the rows stay."""
    check_may_archive(project)
    total = Presentation.objects.filter(project=project).count()
    schema = schema_of(project.pk, settings.VERSION)

    def pieces() -> Any:
        done = 0
        for first, last in presentation_chunks(project):
            piece = read_piece(project, schema, first, last)
            done += piece.num_rows
            report("written", done, total)
            yield piece

    with tempfile.TemporaryFile() as file:
        counts = write_pieces(file, schema, pieces())
        name, sha256 = store(file, project.pk), hash_of(file)
    try:
        with write_transaction():
            check_may_archive(lock_project(project.pk))
            if LabelArchive.objects.filter(project=project).exists():
                raise LabelArchiveError("Another command has begun to move these labels. Nothing was changed.")
            labels = Label.objects.filter(project=project)
            found = (total, labels.count(), labels.filter(voided_at=None).count())
            if found != (counts.n_presentations, counts.n_labels, counts.n_unvoided):
                raise LabelArchiveError(
                    "The labels have changed while they were written. Nothing was changed; try again."
                )
            return LabelArchive.objects.create(
                project=project,
                file=name,
                sha256=sha256,
                made_at=now,
                n_presentations=counts.n_presentations,
                n_labels=counts.n_labels,
                n_unvoided=counts.n_unvoided,
            )
    except BaseException:
        default_storage.delete(name)
        raise


def remove_rows(archive: LabelArchive, report: Report) -> None:
    """Delete from the database what the stored file holds in the same words, the last rows first."""
    project, done = archive.project, 0
    with opened_pieces(archive, backwards=True) as (schema, pieces):
        for piece in pieces:
            keys = piece.column("id")
            first, last = keys[0].as_py(), keys[-1].as_py()
            with yielding_write_transaction():
                lock_project(project.pk)
                archive.refresh_from_db()
                there = read_piece(project, schema, first, last)
                if there.num_rows and not archive.is_outdated:
                    check_same(piece, there)
                if not archive.is_outdated:
                    delete_rows(project, first, last)
            if archive.is_outdated:  # somebody was erased meanwhile
                break
            done += piece.num_rows
            report("removed", done, archive.n_presentations)
    if archive.is_outdated:
        redact_file(archive)
        remove_rows(archive, report)
        return
    with write_transaction():
        check_may_archive(lock_project(project.pk))
        LabelArchive.objects.filter(pk=archive.pk).update(state=State.ARCHIVED)
    archive.state = State.ARCHIVED


def check_same(piece: Any, there: Any) -> None:
    """Raise LabelArchiveError where the file does not say what the database does."""
    if not piece.replace_schema_metadata(None).equals(there.replace_schema_metadata(None)):
        keys = there.column("id")
        raise LabelArchiveError(
            f"The file and the database differ between the presentations {keys[0]} and {keys[-1]}. Nothing of these "
            "was removed. Bring back what was with manage.py restore_labels, and tell us."
        )


def delete_rows(project: Project, first: int, last: int) -> None:
    """Delete the presentations of these keys with all that hangs on them, the leaves first."""
    within = {"presentation__project": project, "presentation__pk__range": (first, last)}
    of_label = {f"label__{name}": value for name, value in within.items()}
    ConflictOfInterest.objects.filter(declared_in__project=project, declared_in__pk__range=(first, last)).update(
        declared_in=None
    )
    for rows in (
        CriterionAnswer.objects.filter(**of_label),
        ItemComment.objects.filter(**of_label),
        Label.objects.filter(**within),
        PresentedItem.objects.filter(**within),
        Presentation.objects.filter(project=project, pk__range=(first, last)),
    ):
        rows._raw_delete(rows.db)


def restore_labels(archive: LabelArchive, report: Report) -> int:
    """Bring the rows back and delete the file; return how many presentations there are. Raises LabelArchiveError."""
    project = archive.project
    with write_transaction():
        lock_project(project.pk)
        LabelArchive.objects.filter(pk=archive.pk).update(state=State.RESTORING)
    archive.refresh_from_db()
    if archive.is_outdated:
        redact_file(archive)
    done = 0
    with opened_pieces(archive) as (_schema, pieces):
        for piece in pieces:
            with yielding_write_transaction():
                lock_project(project.pk)
                write_piece(project, piece)
                archive.refresh_from_db()
            if archive.drops_texts:
                break
            done += piece.num_rows
            report("brought back", done, archive.n_presentations)
    if archive.drops_texts:  # while rows were coming back: those are done, the others are not
        return restore_labels(archive, report)
    return finish_restoring(archive)


def count_anew(project: Project) -> None:
    """Count what each set and item has taken where people were erased while their answers were in the file: what the
    database did not hold then was not subtracted. The caller's transaction holds the project alone.
    """
    presentations = Presentation.objects.filter(project=project)
    taken = presentations.filter(state__in=TAKEN_STATES, purpose=Purpose.ORDINARY)
    if (project.item_sets.aggregate(n=Sum("n_taken"))["n"] or 0) != taken.count():
        project.item_sets.update(n_taken=0)
        project.items.update(n_taken=0)
        count_taken(presentations, +1)


def finish_restoring(archive: LabelArchive) -> int:
    """Check that everything is there again and forget the archive."""
    project, name = archive.project, archive.file.name
    with write_transaction():
        lock_project(project.pk)
        archive.refresh_from_db()
        labels = Label.objects.filter(project=project)
        found = (Presentation.objects.filter(project=project).count(), labels.count())
        if found != (archive.n_presentations, archive.n_labels) and not archive.drops_people:
            raise LabelArchiveError(
                f"{found[0]:,} presentations and {found[1]:,} labels are there, and the file has "
                f"{archive.n_presentations:,} and {archive.n_labels:,}. The file stays; nothing else was changed."
            )
        count_anew(project)
        archive.delete()
    if name:
        default_storage.delete(name)
    return found[0]
