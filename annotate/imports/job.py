"""Carries out imports: checks every row of the file, then writes the valid ones in chunks.

A chunk and the number of rows written are one transaction, conditional on the number before: a worker that is killed
leaves whole chunks, and the next one resumes after the last of them.
"""

import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import override

from annotate.core.errors import ProjectArchived, UserError
from annotate.core.transactions import write_transaction, yielding_write_transaction
from annotate.fitting.scheduling import claimable_projects
from annotate.imports.actions import LEFT_OUT, PAGES, ROWS, discard
from annotate.imports.chunks import CHUNK, Sink
from annotate.imports.prepared import Outcome, chunks, prepare
from annotate.imports.queue import UPLOAD, claim_next, record_failure, release
from annotate.imports.sources import Source, source_of
from annotate.items.actions import KeyTaken
from annotate.jobs.queues import Progress
from annotate.models import ImportJob, Project
from annotate.models.leased_jobs import LeaseLost
from models_engine.errors import Cancelled

State = ImportJob.State
MAX_SLICE_SECONDS = 2.0  # seconds after which pending fits have their turn


def import_now(job: ImportJob) -> None:
    """Do the whole import in this process: for files so small that nobody would wait for a worker."""
    row = claim_next(owner=f"here#{secrets.token_hex(4)}", now=timezone.now(), only=job.pk)
    if row:
        try:
            work(row, progress=lambda *_: True, should_yield=False)
        except LeaseLost:
            pass  # stopped, or a worker was first


def work(row: ImportJob, *, progress: Progress, should_yield: bool = True) -> None:
    """Check and write the claimed import as far as it goes. Raises Cancelled and LeaseLost."""
    if not row.renew(now=timezone.now()):
        raise LeaseLost(str(row.pk))
    with override(row.mapping.get("language", settings.LANGUAGE_CODE)):  # whoever asked reads what is wrong with rows
        try:
            if row.state == State.UPLOADED:
                check_rows(row, progress)
            if row.state == State.RUNNING:
                write_rows(row, progress, should_yield=should_yield)
        except UserError as error:
            record_failure(row, message=str(error), now=timezone.now())
        except IntegrityError:
            record_failure(row, message=str(KeyTaken()), now=timezone.now())


@contextmanager
def open_stored_file(name: str) -> Iterator[IO[bytes]]:
    """Open the stored file so that every reader may seek."""
    with default_storage.open(name) as stored:
        yield stored.file if isinstance(stored, File) and stored.file else stored


def check_rows(row: ImportJob, progress: Progress) -> None:
    """Read all rows into two files: those to write, and those left out with the reason."""

    def keep_lease() -> None:
        if not progress(row.n_rows, 0, 0.0):
            raise Cancelled

    def report(n: int) -> None:
        row.n_rows = n
        keep_lease()
        row.held().update(n_rows=n)

    with tempfile.TemporaryDirectory(prefix="import-") as folder, open_stored_file(f"{row.folder}/{UPLOAD}") as file:
        good, bad, pages = (Path(folder) / name for name in (ROWS, LEFT_OUT, PAGES))
        with source_of(row, file, pages, keep_lease) as source:
            found = prepare(
                source.columns, source.rows(), source.ahead, good=good, bad=bad, progress=report, every=source.every
            )
        if not progress(found.n_rows, 0, 0.0):
            raise Cancelled
        for path in (good, bad, pages):
            default_storage.delete(f"{row.folder}/{path.name}")
            if not path.exists():  # no documents
                continue
            with path.open("rb") as content:
                default_storage.save(f"{row.folder}/{path.name}", File(content))
    record_check(row, found, source)


def record_check(row: ImportJob, found: Outcome, source: Source) -> None:
    goes_on = (found.n_lines or found.n_merged) and (row.leave_out if found.n_bad else row.at_once)
    row.state = State.RUNNING if goes_on else State.CHECKED
    row.n_rows, row.n_bad, row.n_lines = found.n_rows, found.n_bad, found.n_lines
    row.errors, row.first = found.errors, [source.columns, *found.first]
    row.mapping = row.mapping | {"features": source.features, "new_items": found.n_ahead}
    row.mapping |= {"merged": found.n_merged, "weighted": found.n_weighted, "kinds": dict(found.kinds)}
    changes = {name: getattr(row, name) for name in ("n_rows", "n_bad", "n_lines", "errors", "first", "mapping")}
    free = {} if goes_on else ImportJob.FREE | {"attempts": 0}
    if not ImportJob.objects.filter(pk=row.pk, owner=row.owner, state=State.UPLOADED).update(
        state=row.state, **changes, **free
    ):
        raise LeaseLost(str(row.pk))


def write_rows(row: ImportJob, progress: Progress, *, should_yield: bool) -> None:
    sink = Sink(row, lambda name: open_stored_file(f"{row.folder}/{name}"), timezone.now())
    started = time.monotonic()
    with open_stored_file(f"{row.folder}/{ROWS}") as file:
        file.seek(row.place)
        for lines, n_bytes in chunks(file, lambda line: CHUNK[line[0]]):
            if not progress(row.n_written, row.n_lines, 0.0):
                raise Cancelled
            if (
                should_yield
                and time.monotonic() - started > MAX_SLICE_SECONDS
                and claimable_projects(timezone.now()).exists()
            ):
                release(row)
                return
            write_chunk(row, sink, lines, n_bytes)
    complete(row, sink)


def write_chunk(row: ImportJob, sink: Sink, lines: list[Any], n_bytes: int) -> None:
    with yielding_write_transaction():
        marks = {"n_written": row.n_written + len(lines), "place": row.place + n_bytes}
        unchanged = row.held().filter(n_written=row.n_written)
        if not unchanged.update(**marks, **row.lease(row.owner, timezone.now()), attempts=0):
            raise LeaseLost(str(row.pk))
        if Project.objects.filter(pk=row.project_id, archived_at__isnull=False).exists():
            raise ProjectArchived
        sink.write(lines)
    row.n_written, row.place = marks["n_written"], marks["place"]


def complete(row: ImportJob, sink: Sink) -> None:
    with write_transaction():
        row.complete(state=State.DONE, attempts=0, message="", finished_at=timezone.now())
        row.state = State.DONE
        sink.complete()
    discard(row.folder, keep=LEFT_OUT)
