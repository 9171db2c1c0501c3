"""The owner's dashboard: ranking, annotators, progress, engine; each page is also the fragment that it fetches."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from annotate.forms.dashboard import AnnotatorsForm, RankingForm
from annotate.models import Item, Project
from annotate.queries.annotators import annotators as annotators_page
from annotate.queries.coverage import heat_map
from annotate.queries.fits import fits_page
from annotate.queries.forest import forest
from annotate.queries.goal import cost_of, goal_of
from annotate.queries.item import item_page
from annotate.queries.paces import paces
from annotate.queries.plan import plan_of
from annotate.queries.progress import progress as progress_page
from annotate.queries.project import heading, published_fit
from annotate.queries.ranking import Wish
from annotate.queries.ranking import ranking as ranking_page
from annotate.queries.trust import trust as trust_page
from annotate.views.looking import looked_at
from models_engine.models import Fit

# The ranking as most watchers see it is drawn once per fit; other orders and searches are drawn for who asks.
CACHED_PAGES = 5
CACHE_SECONDS = 300


@login_required
@require_safe
@gzip_page
def ranking(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    form = RankingForm(project, request.GET)
    wish = form.wish()
    fit = published_fit(project)
    context = {"form": form, "wish": wish, "fit": fit, "is_plot": form.is_plot}
    if fit and fit.n_items:
        context["table"] = ranking_html(request, project, fit, wish, context)
    return answer(request, project, "ranking", context)


def ranking_html(request: HttpRequest, project: Project, fit: Fit, wish: Wish, context: dict[str, Any]) -> SafeString:
    """The verdict and the table, or the plot; from the cache where everybody watches the same."""
    plain = wish == Wish(page=wish.page) and wish.page <= CACHED_PAGES and set(request.GET) <= {"page", "criterion"}
    key = f"ranking-{project.pk}-{project.criterion}-{wish.page}-{get_language()}"
    told = (project.name, project.question_asked, project.more_means, project.top_k, project.state)
    version = (fit.pk, told, items_version(project))
    kept = cache.get(key) if plain else None
    if kept and kept[0] == version:
        return mark_safe(kept[1])  # noqa: S308  (rendered below)
    table = ranking_page(project, fit, wish)
    context = {**context, "project": project, "ranking": table, "forest": forest(table) if context["is_plot"] else None}
    html = render_to_string("dashboard/ranking_figures.html", context, request)
    if plain:
        # One entry per page, replaced with each fit: a cache keyed by fit would keep every table of the last minutes.
        cache.set(key, (version, html), CACHE_SECONDS)
    return html


def items_version(project: Project) -> tuple[Any, ...]:
    """Changes whenever the project's items do."""
    values = project.items.aggregate(n=Count("pk"), last=Max("pk"), retired=Count("retired_at"), when=Max("retired_at"))
    return tuple(values.values())


@login_required
@require_safe
def trust(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    fit = published_fit(project)
    context = {"fit": fit, "trust": trust_page(project, fit) if fit and fit.n_items else None}
    return answer(request, project, "trust", context)


@login_required
@require_safe
def item(request: HttpRequest, project_id: UUID, item_id: int) -> HttpResponse:
    project = looked_at(request, project_id)
    found = get_object_or_404(Item, project=project, pk=item_id)
    fit = published_fit(project)
    k = fit.settings.get("top_k", project.top_k) if fit else project.top_k
    return answer(request, project, "item", {"fit": fit, "page": item_page(project, found, fit), "k": k})


@login_required
@require_safe
@gzip_page
def annotators(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    form = AnnotatorsForm(request.GET)
    wish = form.wish()
    fit = published_fit(project)
    context = {"form": form, "wish": wish, "fit": fit, "annotators": annotators_page(project, fit, wish)}
    return answer(request, project, "annotators", context)


@login_required
@require_safe
def progress(request: HttpRequest, project_id: UUID) -> HttpResponse:
    project = looked_at(request, project_id)
    fit, now = published_fit(project), timezone.now()
    found = progress_page(project, fit)
    goal = goal_of(project, fit, now)
    context = {
        "fit": fit,
        "progress": found,
        "goal": goal,
        "cost": cost_of(project, goal.needed if goal else None),
        "plan": plan_of(project),
        "heat": heat_map(fit),
        "paces": paces(project, now),
    }
    return answer(request, project, "progress", context)


@login_required
@require_safe
def engine(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """The engine's page; asked for by the status line of any page, that line alone."""
    project = looked_at(request, project_id)
    if request.htmx.target == "status":  # type: ignore[attr-defined]
        return answer(request, project, "status", {})
    return answer(request, project, "engine", {"fits": fits_page(project)})


def answer(request: HttpRequest, project: Project, name: str, context: dict[str, Any]) -> HttpResponse:
    """The page, or to htmx its changing part alone; both come from one address, so caches must tell them apart."""
    now = timezone.now()
    told = heading(project, project.role, now)  # type: ignore[attr-defined]
    # The latest fit by any criterion, which is what watchers are told of; none where one came out between two reads.
    is_latest = context.get("fit", told.engine.fit) == told.engine.fit
    is_fragment = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    context = {
        **context,
        "project": project,
        "heading": told,
        "drawn_at": told.engine.revision["fit"] if is_latest else None,
        "now": now,
        "is_fragment": bool(is_fragment),
    }
    template = f"dashboard/{name}_fragment.html" if is_fragment else f"dashboard/{name}.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request", "HX-Target", "Cookie"])
    return response
