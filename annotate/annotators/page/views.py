"""Page about one annotator."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from annotate.annotators.page.forms import AnnotatorForm
from annotate.annotators.page.queries import annotator_page
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.fitting.published import published_fit


@login_required
@require_safe
@gzip_page
def annotator(request: HttpRequest, project_id: UUID, key: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    found = get_object_or_404(criterion.project.annotators, key=key)
    form = AnnotatorForm(request.GET)
    query, fit = form.query(), published_fit(criterion)
    context = {"form": form, "query": query, "fit": fit, "person": annotator_page(criterion, found, fit, query)}
    return render_page(request, criterion, "annotators/annotator", context)
