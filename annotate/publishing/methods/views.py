"""The methods page of a project, for its members."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotate.dashboard.heading import page_heading
from annotate.dashboard.project_lookup import requested_criterion
from annotate.publishing.methods.counts import void_reasons
from annotate.publishing.methods.queries import methods_of


@login_required
@require_safe
def methods(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    found, now = methods_of(criterion), timezone.now()
    context = {
        "project": criterion.project,
        "criterion": criterion,
        "heading": page_heading(criterion, now),
        "now": now,
        "methods": found,
        "voided": void_reasons(found.counts) if found else [],
    }
    return render(request, "publishing/methods.html", context)
