"""{% load wording %}: the language in which a page shows what the owner wrote, and the choice of others."""

from dataclasses import dataclass

from django import template
from django.template.context import RequestContext

from annotate.labelling.wording import LanguageChoice, Wording, language_choices, requested_wording

register = template.Library()


@dataclass(frozen=True)
class PageWording:
    wording: Wording
    choices: list[LanguageChoice]


@register.simple_tag(takes_context=True)
def page_wording(context: RequestContext) -> PageWording | None:
    """Return the wording of the page's project, the view's own where it made one; None on pages without a project."""
    project, request = context.get("project"), context.get("request")
    if project is None or request is None:
        return None
    wording = context.get("wording") or getattr(request, "page_wording", None) or requested_wording(request, project)
    request.page_wording = wording
    return PageWording(wording, language_choices(wording.project, wording.language))
