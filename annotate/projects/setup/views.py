"""Making a project: what to start from, the question and its answers, and the list of what is still to be done."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.models import Policy
from annotate.models.goals import Goal
from annotate.projects import actions
from annotate.projects.forms import ProjectForm
from annotate.projects.setup.estimates import describe_preset, describe_presets
from annotate.projects.setup.forms import chosen_start, size_form
from annotate.projects.setup.presets import BLANK, PRESETS, Preset
from annotate.projects.setup.queries import setup_state as setup_of


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: SignedInRequest) -> HttpResponse:
    """Offer what to start from, or the form of one of these; POST makes the project, starts from another, or says
    what the settings chosen so far give.
    """
    asked = request.POST if request.method == "POST" else request.GET
    if request.method != "POST" and "start" not in asked:
        return render(request, "projects/starts.html", {"starts": describe_presets()})
    start = PRESETS.get(asked.get("start", ""), BLANK)
    if "other" in request.POST:
        other = PRESETS.get(request.POST["other"], BLANK)
        return render_form(request, ProjectForm(initial=other.values | initial_values(request, start)), other)
    form = ProjectForm(request.POST or None, initial=start.values)
    if "figures" in request.POST:
        return render_figures(request, form, start)
    if request.method == "POST" and form.is_valid():
        values = form.values() | start.goal | start.checks | start.participants | start.policy
        project = actions.create_project(owner=request.user, values=values, now=timezone.now())
        messages.success(request, _("The project is created. Now add the items to compare."))
        return redirect("items-import", project.pk)
    return render_form(request, form, start)


def render_form(
    request: SignedInRequest, form: ProjectForm, start: Preset, figures: dict[str, Any] | None = None
) -> HttpResponse:
    others = [one for one in PRESETS.values() if one != start]
    goal = Goal(start.goal["goal"]).label
    policy = Policy(start.policy["policy"]).label if start.policy else ""
    shown = figures or {"size": size_form(start), "gives": describe_preset(start)}
    context = {"form": form, "start": start, "goal": goal, "policy": policy, "others": others, **shown}
    return render(request, "projects/create.html", context, status=400 if form.errors else 200)


def render_figures(request: SignedInRequest, form: ProjectForm, start: Preset) -> HttpResponse:
    """Say what the settings give: htmx gets that sentence, others the page with all that was typed."""
    size = size_form(start, request.POST)
    figures = {"size": size, "gives": describe_preset(chosen_start(start, form, size))}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "projects/gives.html", figures)
    return render_form(request, ProjectForm(initial=start.values | initial_values(request, start)), start, figures)


def initial_values(request: SignedInRequest, start: Preset) -> dict[str, Any]:
    """Return what was written or chosen otherwise than this start has it: another start leaves that as it is."""
    form = ProjectForm(request.POST, initial=start.values)
    return {name: form[name].data for name in form.changed_data}


@login_required
@require_safe
def setup(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = access.project_for(request, project_id, access.MANAGE)
    state = setup_of(project)
    context = {"project": project, "setup": state, "n_items": state.n_items, "min_items": project.k}
    return render(request, "projects/setup.html", context)
