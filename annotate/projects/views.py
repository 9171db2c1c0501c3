"""A person's projects, and the owner's pages of one: its settings, its state, its end."""

import logging
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.audit_log.sentences import recent_events
from annotate.core.errors import UserError
from annotate.fitting.stored_gain import list_gains
from annotate.models import Project
from annotate.projects import actions
from annotate.projects.forms import DeleteForm, OverlapForm, ProjectForm, StateForm
from annotate.projects.queries import projects_of

State = Project.State
SECTION_PAGES = {
    "question": "project-settings",
    "answers": "settings-answers",
    "amount": "settings-amount",
    "ranking": "settings-ranking",
}
log = logging.getLogger(__name__)


def list_projects(request: SignedInRequest) -> HttpResponse:
    """List the projects of whoever is signed in; the first page shows them."""
    archived = request.GET.get("archived") == "1"
    page, lines = projects_of(request.user, request.GET.get("page"), archived=archived)
    n_others = request.user.memberships.filter(project__archived_at__isnull=archived).count()
    context = {"page": page, "lines": lines, "archived": archived, "n_others": n_others, "now": timezone.now()}
    return render(request, "projects/list.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_settings(request: SignedInRequest, project_id: UUID, section: str) -> HttpResponse:
    """Show and change the settings of one section: a page of its own."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = ProjectForm(request.POST or None, instance=project, has_labels=project.labels.exists(), section=section)
    if request.method == "POST" and form.is_valid():
        changes = actions.change_project(project=project, actor=request.user, values=form.values(), now=timezone.now())
        show_changes(request, changes)
        return redirect(SECTION_PAGES[section], project.pk)
    if form.errors:  # checking them has put what was typed into the project
        project = access.project_for(request, project_id, access.MANAGE)
    template = f"projects/settings_{section}.html"
    context = {"project": project, "form": form, "section": section, "section_template": template}
    context["gains"] = list_gains(project) if section == "ranking" else []
    return render(request, "projects/settings.html", context, status=400 if form.errors else 200)


def show_changes(request: SignedInRequest, changes: dict[str, list]) -> None:
    if not changes:
        messages.info(request, _("Nothing was different, so nothing was saved."))
        return
    messages.success(request, _("The settings are saved."))
    before, after = changes.get("overlap", [0, 0])
    if after < before:
        messages.info(
            request,
            _("Sets that have more than %(n)d annotators already keep all their labels.") % {"n": after},
        )


@login_required
@require_safe
def manage(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Show the project's state, recent activity, and the ways to duplicate, archive or delete it."""
    project = access.project_for(request, project_id, access.MANAGE)
    context = {
        "project": project,
        "n_items": project.items.filter(retired_at=None).count(),
        "min_items": project.k,
        "events": recent_events(project),
        "now": timezone.now(),
    }
    return render(request, "projects/manage.html", context)


@login_required
@require_POST
def set_state(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    form = StateForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("That is not a state a project can be in. Use one of the buttons below."))
        return redirect("share", project.pk)
    state = State(form.cleaned_data["state"])
    try:
        changed = actions.set_state(project=project, actor=request.user, state=state, now=timezone.now())
    except UserError as refusal:
        messages.error(request, str(refusal))
    else:
        tell = messages.success if changed else messages.info
        tell(request, state_message(state))
    return redirect("share", project.pk)


@login_required
@require_POST
def raise_overlap(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Let more annotators answer each set of a project that is full."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = OverlapForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("That is not a number of annotators per set. Nothing was changed."))
        return redirect("share", project.pk)
    to = form.cleaned_data["overlap"]
    if actions.raise_overlap(project=project, actor=request.user, to=to, now=timezone.now()):
        messages.success(request, _("Each set now takes %(n)d annotators: people can go on.") % {"n": to})
    else:
        messages.info(
            request, _("Each set already takes %(n)d annotators or more, so nothing was changed.") % {"n": to}
        )
    return redirect(form.cleaned_data["page"], project.pk)


def state_message(state: State) -> str:
    return {
        State.DRAFT: _("The project is a draft."),
        State.OPEN: _("The project is open: anyone with the join link can answer."),
        State.PAUSED: _("The project is paused: nobody can answer until you resume it."),
        State.CLOSED: _("The project is closed: nobody can answer any more."),
    }[state]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    form = DeleteForm(request.POST if request.method == "POST" else None, project=project)
    n_labels = project.labels.count()
    if form.is_valid():
        actions.delete_project(project=project)
        # The project's own history went with it.
        log.info("Project %s and its %d labels deleted by user %s", project.pk, n_labels, request.user.pk)
        messages.success(
            request,
            ngettext(
                "The project “%(name)s” is deleted, and %(n)d label with it.",
                "The project “%(name)s” is deleted, and %(n)d labels with it.",
                n_labels,
            )
            % {"name": project.name, "n": n_labels},
        )
        return redirect("home")
    context = {"project": project, "form": form, "n_labels": n_labels, "n_items": project.items.count()}
    return render(request, "projects/delete.html", context, status=400 if form.errors else 200)
