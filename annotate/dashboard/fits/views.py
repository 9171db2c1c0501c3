"""Views that publish another estimator and compare two fits."""

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
from annotate.access import SignedInRequest
from annotate.dashboard.detail import shows_expert
from annotate.dashboard.fits.advice import keep_estimator
from annotate.dashboard.fits.comparison import compare_two_fits, fits_around_event, fits_to_compare
from annotate.dashboard.fits.forms import CompareForm, PublishEstimatorForm
from annotate.dashboard.heading import page_heading
from annotate.dashboard.project_lookup import requested_criterion
from annotate.projects.actions import change_project


@login_required
@require_POST
def use(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Make the project's next fits use the estimator that was sent; the one in use is kept, whatever was advised."""
    criterion = requested_criterion(request, project_id, access.MANAGE)
    project = criterion.project
    form = PublishEstimatorForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("This site does not offer that estimator. Use one of the buttons in the table."))
        return redirect(reverse("engine", args=[project.pk]) + criterion.query)
    values = {"estimator": form.cleaned_data["estimator"]}
    changes = change_project(project=project, actor=request.user, values=values, now=timezone.now())
    if changes and request.POST.get("next") == "tastes":
        messages.success(request, _("Groups are turned on. The map appears after the next update of the ranking."))
    elif changes:
        messages.success(
            request,
            _("%(name)s is now in use. Its ranking appears as soon as it is computed.") % {"name": values["estimator"]},
        )
    elif keep_estimator(project, timezone.now()):
        text = _("%(name)s stays in use. You are told of a better estimator only if a newer test finds one.")
        messages.success(request, text % {"name": values["estimator"]})
    else:
        messages.info(request, _("%(name)s is already in use.") % {"name": values["estimator"]})
    page = request.POST["next"] if request.POST.get("next") in ("tastes", "ranking") else "engine"
    return redirect(reverse(page, args=[project.pk]) + criterion.query)


@login_required
@require_safe
def compare_fits(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    fits, now = fits_to_compare(criterion), timezone.now()
    happened = fits_around_event(
        criterion, event=request.GET.get("event", ""), annotator=request.GET.get("annotator", "")
    )
    if happened:
        numbers = (happened.before.number, happened.after.number) if happened.before and happened.after else None
        form = CompareForm(fits, dict(zip("ab", numbers or (), strict=False)))
    else:
        form = CompareForm(fits, request.GET)
        numbers = form.numbers()
    context = {
        "project": criterion.project,
        "criterion": criterion,
        "heading": page_heading(criterion, now),
        "now": now,
        "expert": shows_expert(request),
        "form": form,
        "around": happened,
        "fits": fits,
        "compared": compare_two_fits(criterion, numbers, request.GET.get("page")) if numbers else None,
    }
    return render(request, "dashboard/compare.html", context)
