"""The page of machines: who they are, whether they count, and the report that holds them against people."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.machines import actions
from annotate.annotators.machines.forms import MachineForm
from annotate.annotators.machines.queries import machines_page
from annotate.annotators.machines.report import report_view
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def machines(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Show the machines; POST adds one, which only an owner may."""
    criterion = requested_criterion(request, project_id, access.OWN if request.method == "POST" else access.SEE)
    form = MachineForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            actions.add_machine(project=criterion.project, actor=request.user, now=timezone.now(), **form.values())
        except UserError as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("The machine was added. Now let it answer by the client or the API."))
            return back_to(criterion)
    response = shown(request, criterion, form)
    response.status_code = 400 if form.is_bound else 200
    return response


def shown(request: HttpRequest, criterion: Criterion, form: MachineForm) -> HttpResponse:
    fit = published_fit(criterion)
    page = machines_page(criterion, fit)
    row = page.report.report if page.report else None
    context = {"form": form, "fit": fit, "page": page, "report": report_view(criterion, row) if row else None}
    return render_page(request, criterion, "annotators/machines", context)


def back_to(criterion: Criterion) -> HttpResponse:
    return redirect(reverse("machines", args=[criterion.project.pk]) + criterion.query)


@login_required
@require_POST
def change(request: SignedInRequest, project_id: UUID, machine_key: UUID) -> HttpResponse:
    """Exclude, readmit or remove one machine."""
    criterion = requested_criterion(request, project_id, access.OWN)
    machine = get_object_or_404(actions.machines_of(criterion.project), annotator__key=machine_key)
    what, now, name = request.POST.get("action"), timezone.now(), machine.annotator.pseudonym
    if what == "remove":
        n = actions.remove_machine(machine=machine, actor=request.user, now=now)
        text = ngettext("%(name)s is removed, with %(n)d answer.", "%(name)s is removed, with %(n)d answers.", n)
        messages.success(request, text % {"name": name, "n": n})
    elif what in ("exclude", "readmit"):
        actions.set_excluded(machine=machine, actor=request.user, on=what == "exclude", now=now)
        text = _("%(name)s is excluded.") if what == "exclude" else _("%(name)s is readmitted.")
        messages.success(request, text % {"name": name})
    return back_to(criterion)


@login_required
@require_POST
def count(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Switch on or off that the ranking counts machines."""
    criterion = requested_criterion(request, project_id, access.OWN)
    on = request.POST.get("count") == "yes"
    if actions.set_counting(project=criterion.project, actor=request.user, on=on, now=timezone.now()):
        text = (
            _("The next ranking counts machines' answers.")
            if on
            else _("The next ranking counts people's answers alone.")
        )
        messages.success(request, text)
    return back_to(criterion)


@login_required
@require_POST
def report(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE)
    check_rate_limit(request, "export")
    try:
        actions.request_report(criterion=criterion, actor=request.user, now=timezone.now())
    except UserError as refusal:
        messages.error(request, str(refusal))
    return back_to(criterion)
