"""Page of the grades: boundaries, P(grade) of each item, and the form that sets them."""

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
from annotate.dashboard.grades.forms import GradesForm
from annotate.dashboard.grades.queries import grades_of
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit
from annotate.models.grades import GradesBy
from annotate.projects.actions import change_project


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def grades(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE if request.method == "POST" else access.SEE)
    project = criterion.project
    form = GradesForm(project, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if change_project(project=project, actor=request.user, values=form.values(), now=timezone.now()):
            messages.success(request, _("The grades are saved."))
        else:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        return redirect(reverse("grades", args=[project.pk]) + criterion.query)
    fit = published_fit(criterion)
    context = {
        "fit": fit,
        "form": form,
        "grades": grades_of(project, fit, request.GET.get("page", "1")),
        "may_drag": project.grades_by == GradesBy.SCORE and not project.archived_at,
    }
    response = render_page(request, criterion, "dashboard/grades", context)
    response.status_code = 400 if form.errors else 200
    return response
