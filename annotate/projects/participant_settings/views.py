"""The owner's page of what annotators may add and see."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.projects import actions
from annotate.projects.participant_settings.forms import ParticipantForm


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def participants(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = ParticipantForm(request.POST or None, instance=project)
    if request.method == "POST" and form.is_valid():
        try:
            changes = actions.change_project(
                project=project, actor=request.user, values=form.values(), now=timezone.now()
            )
        except UserError as refusal:
            form.add_error("ideas_open", str(refusal))
        else:
            messages.success(request, _("Saved.") if changes else _("Nothing was different, so nothing was saved."))
            return redirect("settings-participants", project.pk)
    if form.errors:  # checking them has put what was typed into the project
        project = access.project_for(request, project_id, access.MANAGE)
    context = {"project": project, "form": form}
    return render(request, "projects/participants.html", context, status=400 if form.errors else 200)
