"""Finds the published fit of a criterion."""

from annotate.core.statements import Given, Statement
from annotate.criteria import Criterion
from models_engine.models import Fit

published_fits = Statement(
    lambda: Fit.objects.filter(
        project_id=Given("project_id", Fit), criterion=Given("criterion", Fit), published=True
    ).defer("arrays")
)


def published_fit(criterion: Criterion) -> Fit | None:
    """Return the published fit, by the criterion's published fit without its arrays, None before the first."""
    return next(iter(published_fits(project_id=criterion.project.pk, criterion=criterion.number)), None)
