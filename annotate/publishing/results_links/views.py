"""Pages of the published ranking behind a results link, and of the links for their owner."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import access
from annotate.access import SignedInRequest
from annotate.core.framing import allow_framing
from annotate.core.languages import is_language_tag, language_name
from annotate.core.page_language import NO_COOKIE
from annotate.core.paging import PAGE_SIZE
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.dashboard.leaderboard.queries import leaderboard_page
from annotate.dashboard.overall.queries import overall_of
from annotate.dashboard.ranking.forest_plot import forest_plots
from annotate.dashboard.ranking.queries import Ranking, RankingQuery, ranking
from annotate.dashboard.report import cautions
from annotate.fitting.published import published_fit
from annotate.items.media.delivery import send_media
from annotate.labelling.wording import LanguageChoice, Wording, language_choices, requested_wording
from annotate.models import OVERALL, Item, Project, ResultsLink
from annotate.publishing.methods.counts import void_reasons
from annotate.publishing.methods.queries import methods_of
from annotate.publishing.results_links.actions import make_link, revoke_link
from annotate.publishing.results_links.card import MAX_ROWS, Card, cached_card
from annotate.publishing.results_links.forms import ResultsLinkForm
from annotate.publishing.results_links.groups import public_groups
from annotate.publishing.results_links.public_page import PublicRanking, invitation_token, public_ranking
from annotate.publishing.results_links.queries import links_of
from models_engine.models import Estimate, Fit


def keep_unlisted(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Keep the page out of search engines, its address out of the Referer header, and cookies out of the browser."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        setattr(request, NO_COOKIE, True)
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
    if not link.shows_names:
        return redirect("results-live", token)
    wording = results_wording(request, link)
    project = wording.project
    allow_framing(request, project.embed_origins)
    if link.criterion == OVERALL:
        return overall_results(request, link, wording)
    criterion = Criterion(project, link.criterion)
    fit = published_fit(criterion)
    query = RankingQuery(tag=link.track, page=page_number(request), language=wording.language)
    found = published_ranking(link, fit, query)
    view = request.GET.get("view", "")
    public = public_ranking(project, fit, found) if fit and found else None
    context = {
        "project": project,
        "criterion": criterion,
        "link": link,
        "fit": fit,
        "ranking": found,
        "board": leaderboard_page(fit, request.GET.dict()) if shows_board(link, project) else None,
        "query": query,
        "view": view if view in ("plot", "details") else "",
        "public": public,
        "groups": public_groups(criterion, wording.language, link.track) if found and link.shows_groups else [],
        "wording": wording,
        "languages": results_languages(project, wording.language),
        "join_token": invitation_token(project, now) if link.invites else "",
        "forests": forest_plots(found) if found and view == "plot" else [],
        "cautions": cautions(project, fit, found) if fit and found else [],
        "card": card_of(criterion, public),
        "card_address": card_address(request, token),
        "address": request.build_absolute_uri(request.path) + language_query(request),
        "now": now,
    }
    return render(request, "publishing/results.html", context)


def shows_board(link: ResultsLink, project: Project) -> bool:
    return link.shows_leaderboard and project.has_competitors and not link.track


def published_ranking(link: ResultsLink, fit: Fit | None, query: RankingQuery, size: int = PAGE_SIZE) -> Ranking | None:
    """Return the ranking that the link is of; None before the first one, and before the first of its track."""
    if fit is None or not fit.n_items:
        return None
    found = replace(ranking(link.project, fit, query, size=size), shows_divisiveness=False)
    return None if link.track and not found.track else found


def overall_results(request: HttpRequest, link: ResultsLink, wording: Wording) -> HttpResponse:
    """Show the weighted total of all criteria."""
    found = overall_of(link.project, request.GET.get("page", "1"), track=link.track)
    found = replace(found, tracks=(), leaderboard=found.leaderboard if shows_board(link, link.project) else None)
    context = {
        "project": wording.project,
        "link": link,
        "overall": found,
        "wording": wording,
        "languages": results_languages(link.project, wording.language),
        "join_token": invitation_token(link.project, timezone.now()) if link.invites else "",
        "now": timezone.now(),
    }
    return render(request, "publishing/results_overall.html", context)


@never_cache
@keep_unlisted
@require_safe
def results_methods(request: HttpRequest, token: str) -> HttpResponse:
    """Show how the ranking was computed, where the owner of the link shows it."""
    check_rate_limit(request, "results")
    link = access.results_link(token, timezone.now())
    if not link.shows_methods:
        raise Http404
    criterion = Criterion(link.project, link.criterion or 1)  # of the overall ranking: those of the first
    found = methods_of(criterion)
    context = {
        "project": criterion.project,
        "criterion": criterion,
        "link": link,
        "methods": found,
        "voided": void_reasons(found.counts) if found else [],
    }
    return render(request, "publishing/results_methods.html", context)


def results_wording(request: HttpRequest, link: ResultsLink) -> Wording:
    """Return the project's words in the language that the address or the browser asks for."""
    return requested_wording(request, link.project)


def results_languages(project: Project, current: str) -> list[LanguageChoice]:
    """Return the languages of the page: the project's, and those of the site's own words."""
    choices = language_choices(project, current)
    known = {one.code for one in choices}
    here = get_language()
    others = [code for code, _name in settings.LANGUAGES if code not in known]
    return choices + [LanguageChoice(code, language_name(code), not choices and code == here) for code in others]


def language_query(request: HttpRequest) -> str:
    """Return the language that the address asks for, so that a shared address keeps it."""
    asked = request.GET.get("lang", "")
    return f"?lang={asked}" if is_language_tag(asked) else ""


def card_address(request: HttpRequest, token: str) -> str:
    return request.build_absolute_uri(reverse("results-card", args=[token])) + language_query(request)


def page_number(request: HttpRequest) -> int:
    page = request.GET.get("page", "")
    return int(page) if page.isdecimal() and len(page) < 9 else 1


def card_of(criterion: Criterion, public: PublicRanking | None) -> Card:
    rows = public.sections[0].rows if public and public.sections else []
    return Card.of_rows(criterion.project.name, criterion.question, rows)


@never_cache
@keep_unlisted
@require_safe
def results_card(request: HttpRequest, token: str) -> HttpResponse:
    """Send the picture of the first places that other sites show beside the link."""
    check_rate_limit(request, "results")
    link = access.results_link(token, timezone.now())
    if not link.shows_names or link.criterion == OVERALL:
        raise Http404
    wording = results_wording(request, link)
    criterion = Criterion(wording.project, link.criterion)
    fit = published_fit(criterion)
    query = RankingQuery(tag=link.track, language=wording.language)
    found = published_ranking(link, fit, query, size=MAX_ROWS)
    public = public_ranking(link.project, fit, found) if fit and found else None
    return HttpResponse(cached_card(card_of(criterion, public)), content_type="image/png")


@keep_unlisted
@require_safe
def results_media(request: HttpRequest, token: str, item_id: int) -> HttpResponseBase:
    """Send the picture of an item that the ranking behind the link shows."""
    check_rate_limit(request, "results-media")
    link = access.results_link(token, timezone.now())
    fit = published_fit(Criterion(link.project, link.criterion)) if link.criterion != OVERALL else None
    if not link.shows_names:
        raise Http404
    items = link.project.items.filter(tags__name=link.track) if link.track else link.project.items
    item = get_object_or_404(items, pk=item_id, kind=Item.Kind.IMAGE)
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
            shows_methods=form.cleaned_data["shows_methods"],
            now=now,
            shows_groups=form.cleaned_data["shows_groups"],
            shows_leaderboard=form.cleaned_data.get("shows_leaderboard", False),
            invites=form.cleaned_data["invites"],
            **form.live,
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
