"""Ways between the pages that annotators see, and the random numbers of those pages."""

import random
from uuid import UUID

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import get_script_prefix, reverse

from annotate.models import Annotator

RNG = random.SystemRandom()


def redirect_to_task(project_id: UUID) -> HttpResponseRedirect:
    """Redirect to the task page, by GET whatever the method was (303)."""
    return HttpResponseRedirect(reverse("label", args=[project_id]), status=303)


def own_link(request: HttpRequest, annotator: Annotator) -> str:
    """Return the personal link; from a vote inside another site's page it leads out of it."""
    return link_outside(request, reverse("resume", args=[annotator.resume_token]))


def link_outside(request: HttpRequest, address: str) -> str:
    """Return the whole address; from a vote inside another site's page it leads out of it."""
    path = address.removeprefix(get_script_prefix())
    return request.build_absolute_uri(
        f"/{path}" if getattr(request, "is_embedded", False) else get_script_prefix() + path
    )
