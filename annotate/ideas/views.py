"""The page where managers decide about ideas: approve, edit and approve, merge into an item, refuse."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.ideas.actions import approve_idea, approve_ideas, merge_idea, refuse_idea
from annotate.ideas.forms import ApproveForm, DecisionForm, FilterForm
from annotate.ideas.queries import ideas_in, n_waiting, with_similar
from annotate.labelling.navigation import RNG
from annotate.models import Idea, Project

PAGE_SIZE = 20


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ideas(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List ideas, those that wait first; POST approves those ticked."""
    project = access.project_for(request, project_id, access.MANAGE)
    if request.method == "POST":
        form = ApproveForm(request.POST, project=project)
        if not form.is_valid():
            return ideas_page(request, project, problem=str(form.errors["ideas"][0]))
        try:
            made = approve_ideas(
                project=project, actor=request.user, ideas=form.cleaned_data["ideas"], now=timezone.now(), rng=RNG
            )
        except UserError as refusal:
            return ideas_page(request, project, problem=str(refusal))
        text = ngettext("%(n)d idea is an item now.", "%(n)d ideas are items now.", len(made)) % {"n": len(made)}
        messages.success(request, f"{text} {how_asked(project)}")
        return redirect("ideas", project.pk)
    return ideas_page(request, project)


def ideas_page(request: SignedInRequest, project: Project, problem: str = "") -> HttpResponse:
    state = FilterForm(request.GET).asked()
    page = Paginator(ideas_in(project, state), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "state": state,
        "states": Idea.State.choices,
        "page": page,
        "rows": with_similar(project, list(page)),
        "n_waiting": n_waiting(project),
        "problem": problem,
    }
    return render(request, "ideas/ideas.html", context, status=400 if problem else 200)


@login_required
@require_POST
def decide(request: SignedInRequest, project_id: UUID, idea_id: int) -> HttpResponse:
    """Approve one idea, in other words if some are given; merge it into an item; or refuse it."""
    project = access.project_for(request, project_id, access.MANAGE)
    idea = get_object_or_404(Idea.objects.select_related("project", "annotator"), pk=idea_id, project=project)
    form = DecisionForm(request.POST, project=project)
    if not form.is_valid():
        return ideas_page(request, project, problem=form.problem)
    try:
        message = carry_out(request, idea, form)
    except UserError as refusal:
        return ideas_page(request, project, problem=str(refusal))
    messages.success(request, message)
    return redirect("ideas", project.pk)


def carry_out(request: SignedInRequest, idea: Idea, form: DecisionForm) -> str:
    """Return what is told of the decision."""
    values, now = form.cleaned_data, timezone.now()
    if values["action"] == "merge":
        merge_idea(idea=idea, actor=request.user, item=values["into"], now=now)
        return _("The idea is merged into “%(item)s”. Its author sees that.") % {"item": values["into"].title}
    if values["action"] == "refuse":
        refuse_idea(idea=idea, actor=request.user, reason=values["reason"], now=now)
        return _("The idea is refused. Its author sees the reason.")
    text = values["text"] if "text" in form.data else None
    item = approve_idea(idea=idea, actor=request.user, text=text, now=now, rng=RNG)
    return _("“%(item)s” is an item now.") % {"item": item.title} + " " + how_asked(idea.project)


def how_asked(project: Project) -> str:
    """Return when people are asked about a new item."""
    if project.given_order:
        return _("It is asked about once you add questions with it: the questions of this project are given.")
    if project.n_sets is not None:
        return _("It gets its share of those sets of the plan that nobody has yet; it is not asked first.")
    return _("It is asked first until it has been compared as often as the others.")
