"""The page where annotators add an idea and see what became of theirs."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import access
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.ideas.actions import submit_idea
from annotate.ideas.queries import SimilarItem, own_ideas, similar_items
from annotate.ideas.rules import check_can_add, clean_idea
from annotate.labelling.navigation import RNG
from annotate.labelling.requirements import StepRequired
from annotate.models import Annotator, Idea


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def add_idea(request: HttpRequest, project_id: UUID) -> HttpResponse:
    """Show one's own ideas; POST sends one more, or shows the items that say something similar first."""
    annotator = access.annotator_or_404(request, project_id)
    refusal = refusal_to_add(annotator)
    if isinstance(refusal, StepRequired):
        return redirect(refusal.page, project_id)
    if request.method != "POST":
        return own_page(request, annotator, refusal)
    if refusal:
        return own_page(request, annotator, refusal, status=refusal.status)
    try:
        text = clean_idea(request.POST.get("text", ""), annotator.project.idea_length)
        check_rates(request, annotator)
        similar = [] if "anyway" in request.POST else similar_items(annotator, text)
        if similar:
            return own_page(request, annotator, None, text=text, similar=similar)
        idea = submit_idea(annotator=annotator, text=text, now=timezone.now(), rng=RNG)
    except UserError as problem:
        given = request.POST.get("text", "")
        return own_page(request, annotator, None, text=given, problem=str(problem), status=problem.status)
    if idea.state == Idea.State.APPROVED:
        messages.success(request, _("Thank you! Your idea is in: people are asked about it from now on."))
    else:
        messages.success(request, _("Thank you! Your idea has been sent. Here you see what becomes of it."))
    return redirect("own-ideas", project_id)


def refusal_to_add(annotator: Annotator) -> UserError | None:
    try:
        check_can_add(annotator, timezone.now())
    except UserError as refusal:
        return refusal
    return None


def check_rates(request: HttpRequest, annotator: Annotator) -> None:
    """Count one idea sent, or looked for among the items, of this person and of the project. Raises RateLimited."""
    rate_limits.check_rate_limit(request, "idea", who=str(annotator.pk))
    rate_limits.check_rate_limit(request, "project-ideas", who=str(annotator.project_id))


def own_page(
    request: HttpRequest,
    annotator: Annotator,
    refusal: UserError | None,
    *,
    text: str = "",
    similar: list[SimilarItem] | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "project": annotator.project,
        "annotator": annotator,
        "refusal": refusal,
        "text": text,
        "similar": similar or [],
        "problem": problem,
        "ideas": list(own_ideas(annotator)),
        "now": timezone.now(),
    }
    return render(request, "ideas/own_ideas.html", context, status=status)
