"""The navigation of a project's pages."""

from typing import Any

from django import template

from annotate.models import Project
from annotate.projects.navigation import navigation

register = template.Library()


@register.inclusion_tag("projects/tabs.html", takes_context=True)
def project_tabs(context: dict[str, Any], project: Project, role: str) -> dict[str, Any]:
    match = context["request"].resolver_match
    return {"navigation": navigation(project, role, match.url_name if match else "", context.get("criterion"))}
