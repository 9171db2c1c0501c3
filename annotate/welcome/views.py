"""The first page, help, the tour, and an example for newcomers."""

import random
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate.access import SignedInRequest
from annotate.core.rate_limits import check_rate_limit
from annotate.projects.queries import latest_project
from annotate.projects.views import list_projects
from annotate.welcome import actions, documentation
from annotate.welcome.duel import landing_context

MAX_QUERY = 100


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show visitors what this is, and people with an account their projects."""
    if request.user.is_authenticated:
        return list_projects(cast(SignedInRequest, request))
    context = landing_context(request.GET, random.SystemRandom())
    return render(request, "welcome/landing.html", context)


@require_safe
def help_index(request: HttpRequest) -> HttpResponse:
    """List the help pages, or the sections that hold the words asked for."""
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    found = [(one, documentation.marked(one.excerpt, query)) for one in documentation.search(query)]
    pages = [(documentation.read_page(name), about) for name, (_file, about) in documentation.PAGES.items()]
    return render(request, "welcome/help.html", {"query": query, "found": found, "pages": pages})


@require_safe
def help_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page of the documentation; a part of "using" leads to the parts before and after it."""
    if name not in documentation.FILES:
        raise Http404
    is_part, index = name in documentation.PARTS, documentation.read_page(documentation.INDEX)
    before, after = documentation.neighbours(name)
    context = {"help_page": documentation.read_page(name), "index": index if is_part else None}
    return render(request, "welcome/help_page.html", context | {"before": before, "after": after})


@require_safe
def tour(request: HttpRequest) -> HttpResponse:
    """Say what each group of a project's pages is for, and lead through those of one's latest project."""
    return render(request, "welcome/tour.html", {"project": latest_project(request.user)})


@login_required
@require_POST
def make_example(request: SignedInRequest) -> HttpResponse:
    """Make the newcomer's own example project, filled with simulated answers."""
    check_rate_limit(request, "example", str(request.user.pk))
    project, is_new = actions.make_example(request.user, timezone.now())
    if is_new:
        messages.success(
            request, _("Your example is ready. A program gave its answers; the first ranking follows within seconds.")
        )
    return redirect("ranking", project.pk)
