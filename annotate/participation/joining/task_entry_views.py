"""The address of a project's tasks: leads each visitor to the task, the consent or the join page."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.core import rate_limits
from annotate.labelling.views import show_next_task, task_page
from annotate.participation.joining.views import join_page


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limits.limit_concurrency
def label(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show the open task, or what there is instead of one; POST opens the next."""
    annotator = access.annotator_for(request, project_id)
    if annotator is None:
        return unknown_visitor(request, project_id)
    if request.method == "POST":
        rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
        return show_next_task(request, annotator)
    return task_page(request, annotator)


def unknown_visitor(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Offer a member to become an annotator; tell others how to join."""
    if not request.user.is_authenticated:
        return render(request, "participation/unknown.html", status=403)
    project = access.project_for(request, project_id, access.ANNOTATE, in_archive=True)
    return join_page(request, project, user=request.user)
