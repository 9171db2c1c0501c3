"""Page of the weighted total of a project's criteria."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotate.dashboard.overall.queries import overall_of
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion


@login_required
@require_safe
def overall(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    found = overall_of(criterion.project, request.GET.get("page", "1"), track=request.GET.get("track", "")[:100])
    return render_page(request, criterion, "dashboard/overall", {"overall": found})
