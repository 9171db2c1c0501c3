"""Pages about the people: one annotator, the taste map, cohorts side by side."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe

from annotate import access
from annotate.actions.cohorts import ask_for_comparison
from annotate.errors import Refusal
from annotate.forms.people import CohortsForm, CompareCohortsForm, PersonForm, TastesForm
from annotate.limits import limit
from annotate.queries.cohorts import cohorts as cohorts_page
from annotate.queries.cohorts import tags_of
from annotate.queries.person import person
from annotate.queries.project import published_fit
from annotate.queries.tastes import taste_map
from annotate.requests import SignedInRequest
from annotate.views.dashboard import answer
from annotate.views.looking import looked_at


@login_required
@require_safe
@gzip_page
def annotator(request: HttpRequest, project_id: UUID, key: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    found = get_object_or_404(project.annotators, key=key)
    form = PersonForm(request.GET)
    wish, fit = form.wish(), published_fit(project)
    context = {"form": form, "wish": wish, "fit": fit, "person": person(project, found, fit, wish)}
    return answer(request, project, "annotator", context)


@login_required
@require_safe
@gzip_page
def tastes(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    form = TastesForm(request.GET)
    across, up = form.axes()
    found = taste_map(project, across, up, form.cleaned().get("page", 1))
    return answer(request, project, "tastes", {"form": form, "fit": published_fit(project), "map": found})


@login_required
@require_safe
@gzip_page
def cohorts(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    form = CohortsForm(tags_of(project), request.GET)
    wish = form.wish()
    context = {"form": form, "wish": wish, "fit": published_fit(project), "cohorts": cohorts_page(project, wish)}
    return answer(request, project, "cohorts", context)


@login_required
@require_POST
def compare_cohorts(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id, access.MANAGE)
    page = reverse("cohorts", args=[project.pk]) + project.criterion_query
    limit(request, "export")
    form = CompareCohortsForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose two cohorts of the lists."))
        return redirect(page)
    by, first, second = form.cohorts()
    try:
        row = ask_for_comparison(
            project=project, actor=request.user, by=by, first=first, second=second, now=timezone.now()
        )
    except Refusal as refusal:
        messages.error(request, str(refusal))
        return redirect(page)
    return redirect(f"{page}{'&' if project.criterion_query else '?'}show={row.pk}")
