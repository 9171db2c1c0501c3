"""Page of the leaderboard, and the form of what it holds equal."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.dashboard.detail import shows_expert
from annotate.dashboard.leaderboard.forms import StyleForm
from annotate.dashboard.leaderboard.queries import leaderboard_page
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit
from annotate.projects.actions import change_project


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def leaderboard(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE if request.method == "POST" else access.SEE)
    project = criterion.project
    form = StyleForm(project, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        values = {"style_features": form.cleaned_data["features"]}
        if change_project(project=project, actor=request.user, values=values, now=timezone.now()):
            messages.success(request, _("Saved. The board with these held equal comes with the next update."))
        else:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        return redirect(reverse("leaderboard", args=[project.pk]) + criterion.query)
    fit = published_fit(criterion)
    context = {
        "fit": fit,
        "form": form,
        "page": leaderboard_page(fit, request.GET.dict()),
        "expert": shows_expert(request),
    }
    response = render_page(request, criterion, "dashboard/leaderboard", context)
    response.status_code = 400 if form.errors else 200
    return response
