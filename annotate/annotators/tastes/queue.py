"""Claims taste maps while no fit is pending."""

from django.db.models import Exists, OuterRef, QuerySet

from annotate.jobs.idle import IdleJobs
from annotate.models import TasteMap
from models_engine.models import Fit

MAX_SHORT_SECONDS = 5.0  # seconds: what takes longer always yields to a fit


def outdated_fits() -> QuerySet[Fit]:
    """Return published fits with components of taste that have no taste map yet."""
    has_one = TasteMap.objects.filter(
        project_id=OuterRef("project_id"), criterion=OuterRef("criterion"), fit_number=OuterRef("number")
    )
    fits = Fit.objects.filter(published=True, components__kind="tastes", n_labels__gt=0)
    return fits.exclude(Exists(has_one)).defer("arrays", "diagnostics").order_by("finished_at")


def is_long(row: TasteMap) -> bool:
    return row.seconds > MAX_SHORT_SECONDS


QUEUE = IdleJobs(TasteMap, outdated_fits, "annotate.annotators.tastes.job.work", is_long)
