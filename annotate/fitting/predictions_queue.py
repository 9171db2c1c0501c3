"""Claims measurements of whether features tell where an item stands, while no fit is pending."""

from django.db.models import Exists, OuterRef, QuerySet

from annotate.jobs.idle import IdleJobs, has_many_labels
from annotate.models import FeatureNames, PredictionGain
from models_engine.models import Fit

MIN_LABELS = 50
GROWTH = 1.5


def outdated_fits() -> QuerySet[Fit]:
    """Return published fits of projects with features whose labels, features or estimator have changed since."""
    has_features = FeatureNames.objects.filter(project_id=OuterRef("project_id")).exclude(names=[])
    own = PredictionGain.objects.filter(
        project_id=OuterRef("project_id"), criterion=OuterRef("criterion"), estimator=OuterRef("estimator")
    )
    current = own.filter(n_labels__gt=OuterRef("n_labels") / GROWTH, n_labels__lt=OuterRef("n_labels") * GROWTH)
    fits = Fit.objects.filter(Exists(has_features), published=True, n_labels__gte=MIN_LABELS)
    return fits.exclude(Exists(current)).defer("arrays", "diagnostics").order_by("finished_at")


QUEUE = IdleJobs(PredictionGain, outdated_fits, "annotate.fitting.predictions_job.work", has_many_labels)
