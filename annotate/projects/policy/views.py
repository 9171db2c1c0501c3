"""Page where owners choose which questions are asked."""

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
from annotate.projects.actions import change_project
from annotate.projects.policy.expected import expectations_of
from annotate.projects.policy.forms import PolicyForm
from annotate.projects.policy.queries import asked


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = PolicyForm(request.POST or None, instance=project)
    if request.method == "POST" and form.is_valid():
        changes = change_project(project=project, actor=request.user, values=form.values(), now=timezone.now())
        if changes:
            messages.success(request, _("Saved. It holds from the next question on."))
        else:
            messages.info(request, _("Nothing was different, so nothing was saved."))
        return redirect("policy", project.pk)
    if form.errors:  # checking them has put what was typed into the project
        project = access.project_for(request, project_id, access.MANAGE)
    context = {"project": project, "form": form, "asked": asked(project), "outlook": expectations_of(project)}
    return render(request, "projects/policy.html", context, status=400 if form.errors else 200)
