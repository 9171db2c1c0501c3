"""Says whether questions about items never compared start from their predicted places."""

from annotate.models import Policy, Project
from models_engine.models import Fit

# The policies under which they do; under the others such an item is first shown a few times by the balanced rule, as
# without features.
STARTED = (Policy.BEST, Policy.CLASSES)


def uses_predictions(project: Project, fit: Fit) -> bool:
    """Return whether questions are chosen by what this fit predicted."""
    return project.predict_unseen and project.policy in STARTED and "predicted" in fit.diagnostics


def predicts_anywhere(project: Project) -> bool:
    """Return whether questions are chosen by predictions of any criterion's fit."""
    fits = Fit.objects.filter(project_id=project.pk, published=True, diagnostics__has_key="predicted")
    return project.predict_unseen and project.policy in STARTED and fits.exists()
