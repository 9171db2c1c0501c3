"""The projector view of a results link: for anybody who has it, and for its owner with the buttons."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.rate_limits import check_rate_limit
from annotate.models import ResultsLink
from annotate.publishing.results_links.actions import set_deadline, set_names
from annotate.publishing.results_links.forms import LiveForm
from annotate.publishing.results_links.live import current_version, live_context
from annotate.publishing.results_links.views import keep_unlisted

UNCHANGED = 204  # htmx leaves the page as it is


@never_cache
@keep_unlisted
@require_safe
def results_live(request: HttpRequest, token: str) -> HttpResponse:
    """Show the view, or what changed to a page that asks again."""
    check_rate_limit(request, "results-live")
    return render_live(request, access.results_link(token, timezone.now()))


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def owner_live(request: SignedInRequest, project_id: UUID, link_id: UUID) -> HttpResponse:
    """Show the view with the owner's buttons; reveal, hide, set the deadline."""
    project = access.project_for(request, project_id, access.OWN)
    link = get_object_or_404(project.results_links.select_related("project"), pk=link_id)
    if link.is_over(timezone.now()):
        raise Http404
    if request.method != "POST":
        return render_live(request, link, {"form": LiveForm(initial={"deadline": link.deadline})})
    form = LiveForm(request.POST)
    if not form.is_valid():
        return render_live(request, link, {"form": form}, status=400)
    now, action = timezone.now(), form.cleaned_data["action"]
    if action == "deadline":
        set_deadline(link=link, actor=request.user, deadline=form.cleaned_data["deadline"], now=now)
        messages.success(request, _("The deadline is saved."))
    else:
        set_names(link=link, actor=request.user, shown=action == "reveal", now=now)
    return redirect("results-link-live", project.pk, link.pk)


def render_live(
    request: HttpRequest, link: ResultsLink, owner: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """Render the page, or for htmx the part that changes; nothing where the page has it already."""
    is_fragment = bool(request.htmx)  # type: ignore[attr-defined]
    if is_fragment and request.GET.get("seen") == current_version(link):
        return HttpResponse(status=UNCHANGED)
    context = {**live_context(link, request.build_absolute_uri("/").rstrip("/")), **(owner or {})}
    context |= {"is_fragment": is_fragment, "is_owner": owner is not None}
    template = "publishing/live_fragment.html" if is_fragment else "publishing/live.html"
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
