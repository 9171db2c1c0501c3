"""Renders a dashboard page or the fragment that changed."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from annotate.criteria import Criterion
from annotate.dashboard.heading import page_heading


def render_page(request: HttpRequest, criterion: Criterion, name: str, context: dict[str, Any]) -> HttpResponse:
    """Render the template `name`.html, or for htmx `name`_fragment.html, the part that changes.

    Both come from one address, so caches must tell them apart.
    """
    now = timezone.now()
    heading = page_heading(criterion, now)
    # The latest fit by any criterion, which is what watchers are told of; none where one came out between two reads.
    is_latest = context.get("fit", heading.engine.fit) == heading.engine.fit
    is_fragment = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    context = {
        **context,
        "project": criterion.project,
        "criterion": criterion,
        "heading": heading,
        "drawn_at": heading.engine.revision["fit"] if is_latest else None,
        "now": now,
        "is_fragment": bool(is_fragment),
    }
    template = f"{name}_fragment.html" if is_fragment else f"{name}.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request", "HX-Target", "Cookie"])
    return response
