"""Ways between the pages that annotators see, and the random numbers of those pages."""

import random
from uuid import UUID

from django.http import HttpResponseRedirect
from django.urls import reverse

RNG = random.SystemRandom()


def redirect_to_task(project_id: UUID) -> HttpResponseRedirect:
    """Redirect to the task page, by GET whatever the method was (303)."""
    return HttpResponseRedirect(reverse("label", args=[project_id]), status=303)
