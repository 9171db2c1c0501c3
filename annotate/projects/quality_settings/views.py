"""The owner's page of quality checks: hours, reading time, pauses, skipping."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.projects import actions
from annotate.projects.quality_settings.forms import QualityForm
from annotate.quality.gold.queries import n_sets_by_purpose


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def quality(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = QualityForm(request.POST or None, instance=project)
    if request.method == "POST" and form.is_valid():
        changes = actions.change_project(project=project, actor=request.user, values=form.values(), now=timezone.now())
        if changes:
            messages.success(request, _("The quality checks are saved."))
        else:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        return redirect("quality", project.pk)
    if form.errors:  # checking them has put what was typed into the project
        project = access.project_for(request, project_id, access.MANAGE)
    context = {"project": project, "form": form, "zone": settings.TIME_ZONE, "counts": n_sets_by_purpose(project)}
    return render(request, "projects/quality.html", context, status=400 if form.errors else 200)
