"""Finds the published fit of a criterion."""

from annotate.criteria import Criterion
from models_engine.models import Fit


def published_fit(criterion: Criterion) -> Fit | None:
    """Return the published fit, by the criterion's published fit without its arrays, None before the first."""
    fits = Fit.objects.filter(project_id=criterion.project.pk, criterion=criterion.number, published=True)
    return fits.defer("arrays").first()
