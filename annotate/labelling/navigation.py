"""Ways between the pages that annotators see, and the random numbers of those pages."""

import random
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import get_script_prefix, reverse

from annotate.models import Annotator

RNG = random.SystemRandom()


@dataclass(frozen=True)
class TaskAddresses:
    """Where the links and forms of a task page lead, but for those that a presentation's token is part of."""

    label: str
    ahead: str
    undo: str
    done: str


def task_addresses(project_id: UUID) -> TaskAddresses:
    return addresses_under(get_script_prefix(), project_id)


@lru_cache(maxsize=1000)
def addresses_under(prefix: str, project_id: UUID) -> TaskAddresses:
    """Return a project's addresses. prefix: what they begin with, by which they are remembered."""
    return TaskAddresses(*(reverse(name, args=[project_id]) for name in ("label", "ahead", "undo", "done")))


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
