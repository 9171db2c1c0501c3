"""Carries out imports: checks every row of the file, then writes the right ones in chunks that say how far it came.

A chunk and the mark behind it are one transaction, held to the mark before it: an engine that is killed leaves whole
chunks, and whoever takes over goes on behind the last of them.
"""

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import IntegrityError
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import override

from annotate.actions.import_chunks import CHUNK, Sink
from annotate.actions.imports import LEFT_OUT, ROWS, UPLOAD, discard, settle_labels
from annotate.actions.items import KeyTaken
from annotate.errors import Archived, Refusal
from annotate.importing.prepared import Outcome, chunks, prepare
from annotate.importing.sources import Source, source_of
from annotate.models import ImportJob, Project
from annotate.reconciler import LostClaim, died, due, lease
from annotate.writing import room_for_others, writing
from models_engine.errors import Cancelled

State = ImportJob.State
Progress = Callable[[int, int, float], bool]
MOST_ATTEMPTS = 3
SLICE = 2.0  # seconds after which fits that wait have their turn
FREE: dict[str, Any] = {"owner": "", "lease_until": None}


def owed(now: datetime) -> QuerySet[ImportJob]:
    """Imports that are not at rest and that nobody is at."""
    return ImportJob.objects.filter(claimable(now), project__archived_at=None).order_by("asked_at", "pk")


def claimable(now: datetime) -> Q:
    """Of the row alone, as reconciler.claimable says why."""
    free = Q(owner="") | Q(lease_until=None) | Q(lease_until__lt=now)
    return free & Q(state__in=[State.UPLOADED, State.RUNNING])


def claim_next(*, owner: str, now: datetime, only: int | None = None) -> ImportJob | None:
    """The import asked for first, now this owner's. One that has ended three engines is given up."""
    waiting = owed(now) if only is None else owed(now).filter(pk=only)
    for job in waiting.select_related("project", "asked_by")[:5]:
        mine = ImportJob.objects.filter(claimable(now), pk=job.pk, attempts=job.attempts, owner=job.owner)
        if job.attempts >= MOST_ATTEMPTS:
            if mine.update(**FREE, state=State.FAILED, message=died(job.owner), finished_at=now):
                settle_labels(job)
        elif mine.update(owner=owner, lease_until=now + lease(), attempts=job.attempts + 1):
            job.refresh_from_db()
            return job
    return None


def held(row: ImportJob) -> QuerySet[ImportJob]:
    return ImportJob.objects.filter(pk=row.pk, owner=row.owner, state__in=[State.UPLOADED, State.RUNNING])


def renew(row: ImportJob, *, now: datetime) -> bool:
    """Extends the lease; False where the import was stopped, or another has taken over."""
    return bool(held(row).update(lease_until=now + lease()))


def give_back(row: ImportJob) -> None:
    """Lets another engine go on: this one is asked to stop, or has other work. It was no failure."""
    held(row).update(**FREE, attempts=0)


def record_failure(row: ImportJob, *, message: str, now: datetime) -> None:
    with writing():
        if held(row).update(**FREE, state=State.FAILED, message=message, finished_at=now):
            row.refresh_from_db()
            settle_labels(row)


def run_here(job: ImportJob) -> None:
    """The whole import in this process: for files so small that nobody would wait for an engine."""
    row = claim_next(owner=f"here#{secrets.token_hex(4)}", now=timezone.now(), only=job.pk)
    if row:
        try:
            make(row, progress=lambda *_: True, gives_way=False)
        except LostClaim:
            pass  # stopped, or an engine was first


def make(row: ImportJob, *, progress: Progress, gives_way: bool = True) -> None:
    """Checks and writes the claimed import as far as it goes. Raises Cancelled and LostClaim."""
    if not renew(row, now=timezone.now()):
        raise LostClaim(str(row.pk))
    with override(row.mapping.get("language", settings.LANGUAGE_CODE)):  # whoever asked reads what is wrong with rows
        try:
            if row.state == State.UPLOADED:
                check(row, progress)
            if row.state == State.RUNNING:
                write(row, progress, gives_way=gives_way)
        except Refusal as refusal:
            record_failure(row, message=str(refusal), now=timezone.now())
        except IntegrityError:
            record_failure(row, message=str(KeyTaken()), now=timezone.now())


@contextmanager
def local(name: str) -> Iterator[IO[bytes]]:
    """The stored file, where every reader may seek."""
    with default_storage.open(name) as stored:
        yield stored.file if isinstance(stored, File) and stored.file else stored


def check(row: ImportJob, progress: Progress) -> None:
    """Reads all rows into two files: those to write, and those left out with the reason."""

    def told(n: int) -> None:
        if not progress(n, 0, 0.0):
            raise Cancelled
        held(row).update(n_rows=n)

    with tempfile.TemporaryDirectory(prefix="import-") as folder, local(f"{row.folder}/{UPLOAD}") as file:
        good, bad = Path(folder) / ROWS, Path(folder) / LEFT_OUT
        with source_of(row, file) as source:
            found = prepare(
                source.columns, source.rows(), source.ahead, good=good, bad=bad, progress=told, every=source.every
            )
        if not progress(found.n_rows, 0, 0.0):
            raise Cancelled
        for path in (good, bad):
            default_storage.delete(f"{row.folder}/{path.name}")
            with path.open("rb") as content:
                default_storage.save(f"{row.folder}/{path.name}", File(content))
    keep(row, found, source)


def keep(row: ImportJob, found: Outcome, source: Source) -> None:
    goes_on = found.n_lines and (row.leave_out if found.n_bad else row.at_once)
    row.state = State.RUNNING if goes_on else State.CHECKED
    row.n_rows, row.n_bad, row.n_lines = found.n_rows, found.n_bad, found.n_lines
    row.errors, row.first = found.errors, [source.columns, *found.first]
    row.mapping = row.mapping | {"features": source.features, "new_items": found.n_ahead}
    changes = {name: getattr(row, name) for name in ("n_rows", "n_bad", "n_lines", "errors", "first", "mapping")}
    free = {} if goes_on else FREE | {"attempts": 0}
    if not ImportJob.objects.filter(pk=row.pk, owner=row.owner, state=State.UPLOADED).update(
        state=row.state, **changes, **free
    ):
        raise LostClaim(str(row.pk))


def write(row: ImportJob, progress: Progress, *, gives_way: bool) -> None:
    sink = Sink(row, lambda: local(f"{row.folder}/{UPLOAD}"), timezone.now())
    started = time.monotonic()
    with local(f"{row.folder}/{ROWS}") as file:
        file.seek(row.place)
        for lines, n_bytes in chunks(file, lambda line: CHUNK[line[0]]):
            if not progress(row.n_written, row.n_lines, 0.0):
                raise Cancelled
            if gives_way and time.monotonic() - started > SLICE and due(timezone.now()).exists():
                give_back(row)
                return
            write_chunk(row, sink, lines, n_bytes)
    settle(row, sink)


def write_chunk(row: ImportJob, sink: Sink, lines: list[Any], n_bytes: int) -> None:
    with room_for_others():
        marks = {"n_written": row.n_written + len(lines), "place": row.place + n_bytes}
        before = held(row).filter(n_written=row.n_written)
        if not before.update(**marks, attempts=0, lease_until=timezone.now() + lease()):
            raise LostClaim(str(row.pk))
        if Project.objects.filter(pk=row.project_id, archived_at__isnull=False).exists():
            raise Archived
        sink.write(lines)
    row.n_written, row.place = marks["n_written"], marks["place"]


def settle(row: ImportJob, sink: Sink) -> None:
    with writing():
        row.state = State.DONE
        if not held(row).update(**FREE, state=State.DONE, attempts=0, message="", finished_at=timezone.now()):
            raise LostClaim(str(row.pk))
        sink.settle()
    discard(row.folder, keep=LEFT_OUT)
