"""The queue of reports on machines, which users request; job.py does the work."""

from django.utils.translation import gettext_noop

from annotate.core.stored_messages import store_message
from annotate.jobs.requested import RequestedJobs
from annotate.models import MachineReport

DIED = gettext_noop(
    "The engine stopped several times during this report. It may have been killed or have run out of memory."
)

QUEUE = RequestedJobs(MachineReport, "annotate.annotators.machines.job.work", lambda _owner: store_message(DIED))
