"""What somebody who would join is told while nobody may answer."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotate import access
from annotate.core.errors import ProjectNotOpen
from annotate.labelling.eligibility import check_open
from annotate.labelling.stop_pages import stop_page
from annotate.models import Project


def not_open_page(request: HttpRequest, project: Project) -> HttpResponse | None:
    """Return the page that says why the project takes no answers now; None if it takes them."""
    try:
        check_open(project, timezone.now())
    except ProjectNotOpen as refusal:
        status = ProjectNotOpen.status if request.method == "POST" else 200
        is_outside_hours = refusal.state in ("early", "over")
        manages = not is_outside_hours and access.role_in(request.user, project.pk) in access.MANAGE
        context = {"project": project, "stop": stop_page(refusal, n_done=0), "manages": manages}
        return render(request, "labelling/not_open.html", context, status=status)
    return None
