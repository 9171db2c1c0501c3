"""Asking for an import, saying yes to what its check found, stopping it; an engine process does the work
(annotate.imports.job)."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from itertools import chain
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError, format_moment
from annotate.core.transactions import write_transaction
from annotate.imports.evidence import check_evidence
from annotate.imports.pictures import NoPictures, pictures_of
from annotate.imports.prepared import NothingToImport
from annotate.imports.queue import UPLOAD, fit_imported_labels
from annotate.imports.texts import MAX_TEXTS, MIN_TEXTS, NoTexts, TooManyTexts, texts_of
from annotate.models import EventVerb, ImportJob, Project, User

FOLDER = "import-jobs"
State = ImportJob.State
KEYS, ROWS, PAGES, LEFT_OUT = "keys", "rows.jsonl", "pages.zip", "left-out.csv"


class ImportRunning(UserError):
    def __init__(self) -> None:
        super().__init__(_("Another import into this project is under way. Wait until it is done, or stop it."))


class ImportedBefore(UserError):
    def __init__(self, job: ImportJob) -> None:
        at = format_moment(job.finished_at or job.asked_at)
        if job.kind == ImportJob.Kind.COUNTS:
            text = _(
                "These counts were already imported into this project on %(at)s. Nothing was added, because they would "
                "count twice."
            )
            super().__init__(text % {"at": at})
            return
        super().__init__(
            _(
                "These comparisons were already imported into this project on %(at)s. Nothing was added, because "
                "they would count twice."
            )
            % {"at": at}
        )


class NotNow(UserError):
    def __init__(self) -> None:
        super().__init__(_("The import has changed in the meantime. Check its current state."))


def start_import(
    *,
    project: Project,
    actor: User | None,
    kind: str,
    source: str,
    file: File,
    mapping: dict[str, Any],
    now: datetime,
    at_once: bool = False,
    leave_out: bool = False,
    keys: bytes = b"",
) -> ImportJob:
    """Keep the file and let the engine have it. at_once: write if every row is right, without asking again.

    keys: of features, the items' keys in the order of the matrix, a line each, in UTF-8; else that of the import.

    Raises ImportRunning, ImportedBefore for comparisons and counts that are in, and what check_evidence raises.
    """
    check_evidence(project, kind)
    digest = digest_of(chain(file.chunks(), [keys]))
    check_is_new(project, kind, digest)
    folder = f"{FOLDER}/{secrets.token_hex(16)}"
    file.seek(0)
    default_storage.save(f"{folder}/{UPLOAD}", file)
    if keys:
        default_storage.save(f"{folder}/{KEYS}", ContentFile(keys))
    try:
        with write_transaction():
            job = ImportJob.objects.create(
                project=project,
                asked_by=actor,
                asked_at=now,
                kind=kind,
                source=source[:255],
                mapping=mapping | {"language": get_language() or settings.LANGUAGE_CODE},
                digest=digest,
                folder=folder,
                at_once=at_once,
                leave_out=leave_out,
            )
            record_event(project, actor, EventVerb.IMPORT_ASKED_FOR, now, kind=kind, source=source[:255])
    except IntegrityError as error:
        discard(folder)
        raise ImportRunning from error
    return job


def measure_pictures(*, project: Project, actor: User | None, now: datetime) -> ImportJob:
    """Let the engine measure every picture that is not retired and store the figures as features of its item.

    One that can't be read is left out, as the import's page says. Raises NoPictures and ImportRunning.
    """
    n = pictures_of(project).count()
    if not n:
        raise NoPictures
    source = ngettext("%(n)d picture", "%(n)d pictures", n) % {"n": n}
    return start_measuring(project, actor, ImportJob.Kind.MEASURED, source, now)


def measure_texts(*, project: Project, actor: User | None, now: datetime) -> ImportJob:
    """Let the engine measure every text, by the words of all, and store the figures as features of its item.

    One without words is left out, as the import's page says. Raises NoTexts, TooManyTexts and ImportRunning.
    """
    n = texts_of(project).count()
    if n < MIN_TEXTS:
        raise NoTexts
    if n > MAX_TEXTS:
        raise TooManyTexts(n)
    source = ngettext("%(n)d text", "%(n)d texts", n) % {"n": n}
    return start_measuring(project, actor, ImportJob.Kind.MEASURED_TEXTS, source, now)


def start_measuring(project: Project, actor: User | None, kind: str, source: str, now: datetime) -> ImportJob:
    """Request a measurement: what is measured is stored already, so the import has an empty file and asks nothing."""
    return start_import(
        project=project,
        actor=actor,
        kind=kind,
        source=source,
        file=ContentFile(b""),
        mapping={},
        now=now,
        at_once=True,
        leave_out=True,
    )


def digest_of(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def check_is_new(project: Project, kind: str, digest: str) -> None:
    if kind in (ImportJob.Kind.COMPARISONS, ImportJob.Kind.COUNTS):
        started = ImportJob.objects.filter(project=project, kind=kind, digest=digest, n_written__gt=0)
        if earlier := started.first():
            raise ImportedBefore(earlier)
    if kind == ImportJob.Kind.QUESTIONS:
        started = ImportJob.objects.filter(project=project, kind=kind, digest=digest, n_written__gt=0)
        if earlier := next((job for job in started if job.mapping.get("kinds", {}).get("comparison")), None):
            raise ImportedBefore(earlier)


def resume_import(*, job: ImportJob, actor: User, now: datetime) -> None:
    """Import the right rows and leave the others out, or go on where it stopped or failed, as the owner asked.

    Raises NotNow, NothingToImport and ImportRunning.
    """
    waiting = [State.CHECKED, State.CANCELLED, State.FAILED]
    try:
        with write_transaction():
            held = ImportJob.objects.select_for_update().get(pk=job.pk)
            if held.state not in waiting or not held.folder:
                raise NotNow
            if held.state == State.CHECKED and not held.n_lines:
                raise NothingToImport
            # Stopped or failed before all rows were checked, it begins anew.
            held.state = State.RUNNING if held.n_lines else State.UPLOADED
            held.leave_out = held.leave_out or job.state == State.CHECKED
            held.owner, held.lease_until, held.attempts, held.message, held.finished_at = "", None, 0, "", None
            held.save()
            record_event(job.project, actor, EventVerb.IMPORT_WENT_ON, now, source=job.source, left_out=held.n_bad)
    except IntegrityError as error:
        raise ImportRunning from error


def stop_import(*, job: ImportJob, actor: User | None, now: datetime) -> None:
    """Write no row more; what is written stays. Stopped or done already, nothing changes."""
    with write_transaction():
        stoppable = [State.UPLOADED, State.CHECKED, State.RUNNING]
        changes = {"state": State.CANCELLED, "owner": "", "lease_until": None, "finished_at": now}
        if ImportJob.objects.filter(pk=job.pk, state__in=stoppable).update(**changes):
            job.refresh_from_db()
            record_event(job.project, actor, EventVerb.IMPORT_STOPPED, now, source=job.source, written=job.n_written)
            fit_imported_labels(job)


def discard(folder: str, keep: str = "") -> None:
    """Delete the files of an import, but one."""
    for name in (UPLOAD, KEYS, ROWS, PAGES, LEFT_OUT):
        if name != keep:
            default_storage.delete(f"{folder}/{name}")


def empty_imports(project: Project) -> None:
    """Upload and rows left out may name whom they must not any more: all of the project's go, but of one under way.

    What such an import wrote stays; one that was stopped can't go on.
    """
    resting = ImportJob.objects.filter(project=project).exclude(state__in=[State.UPLOADED, State.RUNNING])
    folders = list(resting.exclude(folder="").values_list("folder", flat=True))
    resting.update(folder="", errors=[], first=[], message="")
    transaction.on_commit(lambda: discard_all(folders))


def discard_all(folders: Iterable[str]) -> None:
    for folder in folders:
        discard(folder)
