"""Dashboard pages: ranking, trust, item, engine; each also answers htmx with the fragment that changes."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from annotate import access
from annotate.criteria import Criterion
from annotate.dashboard.detail import shows_expert
from annotate.dashboard.fits.advice import Advice, estimator_advice
from annotate.dashboard.fits.queries import fits_page
from annotate.dashboard.forms import RankingForm
from annotate.dashboard.item import item_page
from annotate.dashboard.leaderboard.queries import board_headline
from annotate.dashboard.pages import render_page
from annotate.dashboard.project_lookup import requested_criterion
from annotate.dashboard.ranking.forest_plot import forest_plots
from annotate.dashboard.ranking.queries import RankingQuery
from annotate.dashboard.ranking.queries import ranking as ranking_page
from annotate.dashboard.trust.queries import trust as trust_page
from annotate.fitting.published import published_fit
from annotate.fitting.stored_best_worst import best_worst_counts
from annotate.fitting.stored_provisional import newest_answers
from annotate.items.title_changes import title_version
from annotate.models import Item, Project
from models_engine.models import Fit

# The ranking as most watchers see it is drawn once per fit; other orders and searches are drawn for who asks.
CACHED_PAGES = 5
CACHE_SECONDS = 300


@login_required
@require_safe
@gzip_page
def ranking(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    form = RankingForm(criterion.project, request.GET, expert=shows_expert(request))
    query = form.query()
    fit = published_fit(criterion)
    context = {"form": form, "query": query, "fit": fit, "is_plot": form.is_plot, "expert": shows_expert(request)}
    if fit and fit.n_items:
        context["advice"] = advice_for(criterion)
        context["board_headline"] = board_headline(criterion.project, fit)
        context["newest"] = newest_answers(criterion, fit)
        context["table"] = ranking_html(request, criterion, fit, query, context)
    return render_page(request, criterion, "dashboard/ranking", context)


def advice_for(criterion: Criterion) -> Advice | None:
    """Return what to tell about estimators, to who may change them."""
    return estimator_advice(criterion) if criterion.project.role in access.MANAGE else None


def ranking_html(
    request: HttpRequest, criterion: Criterion, fit: Fit, query: RankingQuery, context: dict[str, Any]
) -> SafeString:
    """Render the headline with the table or the plot; the default order comes from the cache."""
    project = criterion.project
    is_common = (
        query == RankingQuery(page=query.page)
        and query.page <= CACHED_PAGES
        and set(request.GET) <= {"page", "criterion"}
    )
    detail = "expert" if context["expert"] else "simple"
    key = f"ranking-{project.pk}-{criterion.number}-{query.page}-{get_language()}-{detail}"
    shown = (
        project.name,
        criterion.question,
        project.more_means,
        project.top_k,
        project.state,
        project.items_shown_by,
        project.has_competitors,
    )
    newest = context["newest"] if query.by_rank and not query.is_filtered else None
    version = (fit.pk, newest and newest.made_at, shown, items_version(project))
    cached = cache.get(key) if is_common else None
    if cached and cached[0] == version:
        return mark_safe(cached[1])  # noqa: S308  (rendered below)
    table = ranking_page(project, fit, query, newest=newest)
    context = {
        **context,
        "project": project,
        "criterion": criterion,
        "ranking": table,
        "forests": forest_plots(table) if context["is_plot"] else [],
    }
    html = render_to_string("dashboard/ranking_figures.html", context, request)
    if is_common:
        # One entry per page, replaced with each fit: a cache keyed by fit would keep every table of the last minutes.
        cache.set(key, (version, html), CACHE_SECONDS)
    return html


def items_version(project: Project) -> tuple[Any, ...]:
    """Change whenever the project's items do. Of changed titles those that something kept may not have seen count."""
    values = project.items.aggregate(n=Count("pk"), last=Max("pk"), retired=Count("retired_at"), when=Max("retired_at"))
    return (*values.values(), title_version(project, timedelta(seconds=2 * CACHE_SECONDS)))


@login_required
@require_safe
def trust(request: HttpRequest, project_id: UUID) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    fit = published_fit(criterion)
    context = {"fit": fit, "trust": trust_page(criterion, fit) if fit and fit.n_items else None}
    return render_page(request, criterion, "dashboard/trust", context)


@login_required
@require_safe
def item(request: HttpRequest, project_id: UUID, item_id: int) -> HttpResponse:
    criterion = requested_criterion(request, project_id)
    project = criterion.project
    found = get_object_or_404(Item, project=project, pk=item_id)
    fit = published_fit(criterion)
    k = fit.settings.get("top_k", project.top_k) if fit else project.top_k
    counts = best_worst_counts(fit).get(found.pk)
    shown = item_page(criterion, found, fit)
    context = {"fit": fit, "page": shown, "k": k, "expert": shows_expert(request), "chosen": counts}
    return render_page(request, criterion, "dashboard/item", context)


@login_required
@require_safe
def engine(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show the engine page, or only the status line where a page's status line fetches it."""
    criterion = requested_criterion(request, project_id)
    if request.htmx.target == "status":  # type: ignore[attr-defined]
        return render_page(request, criterion, "dashboard/status", {})
    context = {"fits": fits_page(criterion), "advice": advice_for(criterion)}
    return render_page(request, criterion, "dashboard/engine", context)
