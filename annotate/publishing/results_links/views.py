"""Pages of the published ranking behind a results link, and of the links for their owner."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.queries import leaderboard_page
from annotate.dashboard.ranking.forest_plot import forest_plot
from annotate.dashboard.ranking.queries import RankingQuery, ranking
from annotate.dashboard.report import cautions
from annotate.fitting.published import published_fit
from annotate.items.media.delivery import send_media
from annotate.models import Item
from annotate.publishing.results_links.actions import make_link, revoke_link
from annotate.publishing.results_links.forms import ResultsLinkForm
from annotate.publishing.results_links.queries import links_of
from models_engine.models import Estimate


def keep_unlisted(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Keep the page out of search engines and its address out of the Referer header."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response["X-Robots-Tag"] = "noindex, nofollow"
        response["Referrer-Policy"] = "no-referrer"
        return response

    return answer


@never_cache
@keep_unlisted
@require_safe
@gzip_page
def results(request: HttpRequest, token: str) -> HttpResponse:
    check_rate_limit(request, "results")
    now = timezone.now()
    link = access.results_link(token, now)
    criterion = Criterion(link.project, link.criterion)
    project = criterion.project
    fit = published_fit(criterion)
    page = request.GET.get("page", "")
    query = RankingQuery(page=int(page) if page.isdecimal() and len(page) < 9 else 1)
    found = replace(ranking(project, fit, query), shows_divisiveness=False) if fit and fit.n_items else None
    is_plot = request.GET.get("view") == "plot"
    context = {
        "project": project,
        "criterion": criterion,
        "link": link,
        "fit": fit,
        "ranking": found,
        "board": leaderboard_page(fit, request.GET.dict()) if project.has_competitors else None,
        "query": query,
        "is_plot": is_plot,
        "forest": forest_plot(found) if found and is_plot else None,
        "cautions": cautions(project, fit, found) if fit and found else [],
        "now": now,
    }
    return render(request, "publishing/results.html", context)


@keep_unlisted
@require_safe
def results_media(request: HttpRequest, token: str, item_id: int) -> HttpResponseBase:
    """Send the picture of an item that the ranking behind the link shows."""
    check_rate_limit(request, "results-media")
    link = access.results_link(token, timezone.now())
    fit = published_fit(Criterion(link.project, link.criterion))
    item = get_object_or_404(Item, pk=item_id, project=link.project, kind=Item.Kind.IMAGE)
    if fit is None or not Estimate.objects.filter(fit=fit, item_id=item.pk).exists():
        raise Http404
    return send_media(request, item)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def results_links(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project, now = access.project_for(request, project_id, access.OWN), timezone.now()
    form = ResultsLinkForm(request.POST if request.method == "POST" else None, project=project)
    if form.is_valid():
        make_link(
            project=project,
            actor=request.user,
            criterion=form.criterion_chosen,
            expires_at=form.expires_at(now),
            now=now,
        )
        messages.success(request, _("The link is created. Anyone who has it can see the ranking."))
        return redirect("results-links", project.pk)
    lines = links_of(project, now)
    base = request.build_absolute_uri("/").rstrip("/")
    context = {
        "project": project,
        "form": form,
        "n_in_use": sum(not line.is_over for line in lines),
        "lines": [(line, base + reverse("results", args=[line.link.token])) for line in lines],
        "now": now,
    }
    return render(request, "publishing/results_links.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def revoke(request: SignedInRequest, project_id: UUID, link_id: UUID) -> HttpResponse:
    """Revoke a link, in the archive too: a published ranking can always be withdrawn."""
    project = access.project_for(request, project_id, access.OWN, in_archive=True)
    link = get_object_or_404(project.results_links.select_related("project"), pk=link_id)
    if revoke_link(link=link, actor=request.user, now=timezone.now()):
        messages.success(request, _("The link is revoked and no longer works."))
    return redirect("results-links", project.pk)
