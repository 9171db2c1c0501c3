"""Claims imports; job.py carries them out."""

from datetime import datetime

from django.core.files.storage import default_storage
from django.db.models import Q, QuerySet

from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import request_fit
from annotate.jobs.leases import worker_died
from annotate.jobs.queues import Progress, load_work
from annotate.models import ImportJob

State = ImportJob.State
UPLOAD = "upload"  # the file as it came, in the import's folder
MAX_ATTEMPTS = 3


def claimable_imports(now: datetime) -> QuerySet[ImportJob]:
    """Return the imports to be checked or written that no worker holds, oldest first."""
    return ImportJob.objects.filter(ImportJob.is_free(now), project__archived_at=None).order_by("asked_at", "pk")


def claim_next(*, owner: str, now: datetime, only: int | None = None) -> ImportJob | None:
    """Claims the oldest import, or `only` this one. An import that three workers did not survive fails."""
    waiting = claimable_imports(now) if only is None else claimable_imports(now).filter(pk=only)
    for job in waiting.select_related("project", "asked_by")[:5]:
        unchanged = ImportJob.is_free(now) & Q(attempts=job.attempts, owner=job.owner)
        if job.attempts >= MAX_ATTEMPTS:
            mine = ImportJob.objects.filter(unchanged, pk=job.pk)
            if mine.update(**job.FREE, state=State.FAILED, message=worker_died(job.owner), finished_at=now):
                fit_imported_labels(job)
        elif job.claim(unchanged, owner=owner, now=now, attempts=job.attempts + 1):
            claimed = ImportJob.objects.select_related("project", "asked_by").filter(pk=job.pk).first()
            if claimed is not None:  # else its project has just been deleted
                return claimed
    return None


def release(row: ImportJob) -> None:
    """Lets another worker go on with it, because this one is asked to stop or has other work; it was no failure."""
    row.release(attempts=0)


def record_failure(row: ImportJob, *, message: str, now: datetime) -> None:
    with write_transaction():
        if row.release(state=State.FAILED, message=message, finished_at=now):
            row.refresh_from_db()
            fit_imported_labels(row)


def fit_imported_labels(job: ImportJob) -> None:
    """Mark the project for a fit: once the import rests, not after every chunk."""
    if job.n_written and (job.project.labels.exists() or job.project.counts.exists()):
        request_fit(job.project)


class ImportJobs:
    """The queue of imports: pending fits take turns with them, slice by slice."""

    run = "annotate.imports.job.work"
    claim_next = staticmethod(claim_next)
    release = staticmethod(release)
    record_failure = staticmethod(record_failure)

    def work(self, row: ImportJob, *, progress: Progress) -> None:
        load_work(self.run)(row, progress=progress)

    @staticmethod
    def record_crossing(row: ImportJob, *, message: str, now: datetime, killed: bool) -> bool:
        """Fails an import that crossed a limit; one whose process was killed goes on, three times without a chunk."""
        if killed:
            row.held().update(lease_until=None)
        else:
            record_failure(row, message=message, now=now)
        return True

    @staticmethod
    def n_rows(row: ImportJob) -> int:
        """Take a row for 50 bytes: the file is not counted before it is checked."""
        try:
            return max(row.n_rows, default_storage.size(f"{row.folder}/{UPLOAD}") // 50)
        except OSError:
            return row.n_rows

    @staticmethod
    def may_yield(row: ImportJob) -> bool:
        return False  # `work` itself stops between two chunks


QUEUE = ImportJobs()
