"""Pages that show cohorts side by side."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.annotators.cohorts.actions import request_comparison
from annotate.annotators.cohorts.forms import CohortsForm, CompareCohortsForm
from annotate.annotators.cohorts.queries import cohorts as cohorts_page
from annotate.annotators.cohorts.queries import tags_of
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.dashboard.detail import shows_expert
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit


@login_required
@require_safe
@gzip_page
def cohorts(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    form = CohortsForm(tags_of(criterion.project), request.GET)
    query = form.query()
    context = {"form": form, "query": query, "fit": published_fit(criterion), "cohorts": cohorts_page(criterion, query)}
    context["expert"] = shows_expert(request)
    return render_page(request, criterion, "annotators/cohorts", context)


@login_required
@require_POST
def compare_cohorts(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id, access.MANAGE)
    page = reverse("cohorts", args=[criterion.project.pk]) + criterion.query
    check_rate_limit(request, "export")
    form = CompareCohortsForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose two cohorts from the lists."))
        return redirect(page)
    by, first, second = form.cohorts()
    try:
        row = request_comparison(
            criterion=criterion, actor=request.user, by=by, first=first, second=second, now=timezone.now()
        )
    except UserError as refusal:
        messages.error(request, str(refusal))
        return redirect(page)
    return redirect(f"{page}{'&' if criterion.query else '?'}show={row.pk}")
