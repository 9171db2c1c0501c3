"""The page of given questions: the list with answers so far, withdrawing, priorities, the order, drawing again."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.labelling.plan import given
from annotate.labelling.plan.queries import plan_progress
from annotate.models import Project
from annotate.questions.forms import FilterForm, ManyForm, OrderForm
from annotate.questions.queries import MAX_CONNECTED, PAGE_SIZE, STATES, connection_of, filtered_questions, with_items


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def questions(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """List the given questions; POST withdraws those ticked, asks them again or gives them another priority."""
    project = access.project_for(request, project_id, access.MANAGE)
    form = ManyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        messages.success(request, carry_out(request, project, form))
        return redirect(request.get_full_path())
    return list_page(request, project, form)


def list_page(request: SignedInRequest, project: Project, form: ManyForm) -> HttpResponse:
    chosen = FilterForm(request.GET)
    wanted = chosen.cleaned_data if chosen.is_valid() else {"state": "", "item": ""}
    page = Paginator(filtered_questions(project, **wanted), PAGE_SIZE).get_page(request.GET.get("page"))
    has_any = bool(project.given_order) and (page.paginator.count > 0 or given.questions_of(project).exists())
    plan = plan_progress(project)
    context = {
        "project": project,
        "form": form,
        "problems": [problem for errors in form.errors.values() for problem in errors],
        "filter": chosen,
        "wanted": wanted,
        "states": STATES.items(),
        "page": page,
        "rows": with_items(project, list(page)),
        "plan": plan,
        "connection": connection_of(project) if has_any and plan.n_sets <= MAX_CONNECTED else None,
        "has_any": has_any,
        "order_form": OrderForm(initial={"order": project.given_order}),
    }
    return render(request, "questions/questions.html", context, status=400 if form.errors else 200)


def carry_out(request: SignedInRequest, project: Project, form: ManyForm) -> str:
    """Return what was done, in words."""
    values, now = form.cleaned_data, timezone.now()
    what = {"project": project, "actor": request.user, "numbers": values["number"], "now": now}
    if values["action"] == "withdraw":
        n = given.withdraw_questions(**what)
        text = ngettext("%(n)d question is asked no more.", "%(n)d questions are asked no more.", n)
    elif values["action"] == "ask":
        n = given.ask_again(**what)
        text = ngettext("%(n)d question is asked again.", "%(n)d questions are asked again.", n)
    else:
        n = given.change_priority(**what, priority=values["priority"])
        text = ngettext("%(n)d question has another priority now.", "%(n)d questions have another priority now.", n)
    return text % {"n": n}


@login_required
@require_POST
def order(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Asks the given questions in another order, or draws questions again."""
    project = access.project_for(request, project_id, access.MANAGE)
    now = timezone.now()
    try:
        if request.POST.get("action") == "draw":
            n = given.draw_again(project=project, actor=request.user, now=now)
            text = ngettext(
                "%(n)d question is withdrawn. Questions are drawn again.",
                "%(n)d questions are withdrawn. Questions are drawn again.",
                n,
            )
            messages.success(request, text % {"n": n})
        else:
            form = OrderForm(request.POST)
            if not form.is_valid():
                return list_page(request, project, ManyForm())
            given.change_order(project=project, actor=request.user, order=form.cleaned_data["order"], now=now)
            messages.success(request, _("The order is saved."))
    except UserError as refusal:
        messages.error(request, str(refusal))
    return redirect("questions", project.pk)
