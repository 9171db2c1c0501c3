"""The navigation of a project's pages."""

from typing import Any

from django import template

from annotate.access import MANAGE
from annotate.ideas.queries import n_waiting
from annotate.models import Project
from annotate.projects.navigation import navigation

register = template.Library()


@register.inclusion_tag("projects/tabs.html", takes_context=True)
def project_tabs(context: dict[str, Any], project: Project, role: str) -> dict[str, Any]:
    match = context["request"].resolver_match
    here = match.url_name if match else ""
    waiting = {"ideas": n_waiting(project)} if project.ideas_open and role in MANAGE else {}
    found = navigation(project, role, here, context.get("criterion"), waiting)
    return {"navigation": found, "touring": "tour" in context["request"].GET}
