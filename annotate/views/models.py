"""Models: publishing another estimator, and two fits compared item by item."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.actions.projects import change_project
from annotate.forms.models import CompareForm, UseForm
from annotate.queries.comparing import around, compare, fits_to_compare
from annotate.queries.project import heading
from annotate.requests import SignedInRequest
from annotate.views.looking import looked_at


@login_required
@require_POST
def use(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """The next fit, and those after it, by the estimator named."""
    project = looked_at(request, project_id, access.MANAGE)
    form = UseForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("That is not an estimator of this site. Use one of the buttons in the table."))
        return redirect(reverse("engine", args=[project.pk]) + project.criterion_query)
    values = {"estimator": form.cleaned_data["estimator"]}
    changes = change_project(project=project, actor=request.user, values=values, now=timezone.now())
    if changes:
        messages.success(
            request, _("%(name)s is published as soon as its fit is done.") % {"name": values["estimator"]}
        )
    else:
        messages.info(request, _("%(name)s is chosen already.") % {"name": values["estimator"]})
    return redirect(reverse("engine", args=[project.pk]) + project.criterion_query)


@login_required
@require_safe
def compare_fits(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    fits, now = fits_to_compare(project), timezone.now()
    happened = around(project, event=request.GET.get("event", ""), annotator=request.GET.get("annotator", ""))
    if happened:
        numbers = (happened.before.number, happened.after.number) if happened.before and happened.after else None
        form = CompareForm(fits, dict(zip("ab", numbers or (), strict=False)))
    else:
        form = CompareForm(fits, request.GET)
        numbers = form.numbers()
    context = {
        "project": project,
        "heading": heading(project, project.role, now),  # type: ignore[attr-defined]
        "now": now,
        "form": form,
        "around": happened,
        "fits": fits,
        "compared": compare(project, numbers, request.GET.get("page")) if numbers else None,
    }
    return render(request, "dashboard/compare.html", context)
