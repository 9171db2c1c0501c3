"""Claims measurements of what a policy saves, while no fit is pending."""

from django.db.models import Exists, OuterRef, QuerySet

from annotate.jobs.idle import IdleJobs, has_many_labels
from annotate.models import MeasuredSaving, Policy, Project
from models_engine.models import Fit

MIN_LABELS = 50  # of the control arm, and of the others, below which nothing is compared
GROWTH = 1.3  # a new measurement is worth its time when the labels are so many times as many


def outdated_fits() -> QuerySet[Fit]:
    """Return published fits of projects with a policy whose labels have grown much since they were compared."""
    adaptive = Project.objects.filter(pk=OuterRef("project_id"), n_sets=None, given_order="")
    adaptive = adaptive.exclude(policy=Policy.BALANCED)
    own = MeasuredSaving.objects.filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
    current = own.filter(n_labels__gt=OuterRef("n_labels") / GROWTH)
    fits = Fit.objects.filter(Exists(adaptive), published=True, n_labels__gte=2 * MIN_LABELS)
    return fits.exclude(Exists(current)).defer("arrays", "diagnostics").order_by("finished_at")


QUEUE = IdleJobs(MeasuredSaving, outdated_fits, "annotate.fitting.savings_job.work", has_many_labels)
