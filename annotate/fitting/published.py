"""Finds the published fit of a project."""

from annotate.models import Project
from models_engine.models import Fit


def published_fit(project: Project) -> Fit | None:
    """Return the published fit, by the criterion that the project is looked at by, without its arrays."""
    fits = Fit.objects.filter(project_id=project.pk, criterion=project.criterion, published=True)
    return fits.defer("arrays").first()
