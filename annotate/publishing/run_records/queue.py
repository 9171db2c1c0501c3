"""The queue of run records, which users request; job.py does the work."""

from annotate.jobs.leases import worker_died
from annotate.jobs.requested import RequestedJobs
from annotate.models import RunRecord

QUEUE = RequestedJobs(RunRecord, "annotate.publishing.run_records.job.work", worker_died)
