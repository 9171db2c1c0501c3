"""The queue of comparisons of cohorts, which users request; job.py does the work."""

from django.utils.translation import gettext_noop

from annotate.core.stored_messages import store_message
from annotate.jobs.requested import RequestedJobs
from annotate.models import CohortComparison

DIED = gettext_noop(
    "The engine stopped several times during this comparison. It may have been killed or have run out of memory."
)

QUEUE = RequestedJobs(
    CohortComparison,
    "annotate.annotators.cohorts.job.work",
    lambda _owner: store_message(DIED),
    deferred=("arrays", "boards"),
)
