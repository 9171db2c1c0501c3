"""Projects as wholes: putting one away and bringing it back, making one like another."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.projects.copies.archiving import archive_project, unarchive_project
from annotate.projects.copies.cloning import RNG, clone_project
from annotate.projects.forms import ArchiveForm, CloneForm


@login_required
@require_POST
def archive(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE, in_archive=True)
    form = ArchiveForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose whether to archive or restore the project, using the buttons below."))
    elif form.cleaned_data["to"] == "archive":
        archive_project(project=project, actor=request.user, now=timezone.now())
        messages.success(request, _("The project is archived: you can view and export it, but not change it."))
    else:
        unarchive_project(project=project, actor=request.user, now=timezone.now())
        messages.success(request, _("The project is restored from the archive."))
    return redirect("project-manage", project.pk)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def clone(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Duplicate a project, an archived one too: nothing in that one changes."""
    project = access.project_for(request, project_id, access.MANAGE, in_archive=True)
    form = CloneForm(request.POST if request.method == "POST" else None, project=project)
    if form.is_valid():
        made = clone_project(
            source=project,
            actor=request.user,
            name=form.cleaned_data["name"],
            with_items=form.cleaned_data["with_items"],
            now=timezone.now(),
            rng=RNG,
        )
        messages.success(
            request, _("The project “%(name)s” is created as a draft. You are its owner.") % {"name": made.name}
        )
        return redirect("setup", made.pk)
    context = {"project": project, "form": form, "n_items": project.items.count()}
    return render(request, "projects/clone.html", context, status=400 if form.errors else 200)
