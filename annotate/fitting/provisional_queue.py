"""Claims quick steps of the newest answers (provisional_job.py)."""

from datetime import datetime, timedelta

from django.db.models import F, Q

from annotate.jobs.queues import Progress, load_work
from annotate.models import ProvisionalRanking

RETRY_PAUSE = timedelta(minutes=1)


class ProvisionalQueue:
    """The rows of projects whose labels have changed since their last step."""

    run = "annotate.fitting.provisional_job.work"

    def claim_next(self, *, owner: str, now: datetime) -> ProvisionalRanking | None:
        claimable = ProvisionalRanking.is_free(now) & (Q(not_before=None) | Q(not_before__lte=now))
        behind = ProvisionalRanking.objects.filter(
            claimable, project__engine_state__wanted__gt=F("version"), project__archived_at=None
        )
        for row in behind.order_by(F("made_at").asc(nulls_first=True), "pk").defer("rows")[:5]:
            if row.claim(claimable, owner=owner, now=now):
                return row
        return None

    def work(self, row: ProvisionalRanking, *, progress: Progress) -> None:
        load_work(self.run)(row, progress)

    def release(self, row: ProvisionalRanking) -> None:
        row.release()

    def record_failure(self, row: ProvisionalRanking, *, message: str, now: datetime) -> None:
        row.retry(at=now + RETRY_PAUSE, message=message)

    def record_crossing(self, row: ProvisionalRanking, *, message: str, now: datetime, killed: bool) -> bool:
        """Leaves the row alone until the next fit."""
        row.delete()
        return True

    def n_rows(self, row: ProvisionalRanking) -> int:
        return 0

    def may_yield(self, row: ProvisionalRanking) -> bool:
        return False


QUEUE = ProvisionalQueue()
