"""Page of the taste map."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from annotate.annotators.tastes.forms import TastesForm
from annotate.annotators.tastes.queries import taste_map_view
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit
from annotate.fitting.scheduling import n_fitted_elsewhere


@login_required
@require_safe
@gzip_page
def tastes(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    form = TastesForm(request.GET)
    across, up = form.axes()
    found = taste_map_view(criterion, across, up, form.cleaned().get("page", 1))
    fit = published_fit(criterion)
    context: dict[str, Any] = {"form": form, "fit": fit, "map": found}
    if found is None:
        context["n_others"] = n_fitted_elsewhere(criterion.project, timezone.now())
    return render_page(request, criterion, "annotators/tastes", context)
