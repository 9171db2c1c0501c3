"""The steps of a project's set-up, above every page of a draft."""

from typing import Any

from django import template

from annotate.models import Project
from annotate.projects.setup.queries import setup_state

register = template.Library()


@register.inclusion_tag("projects/steps.html")
def setup_steps(project: Project, here: str) -> dict[str, Any]:
    """Show the steps of a project's set-up. here: the name of the page's address."""
    state = setup_state(project)
    return {"project": project, "steps": state.steps, "at": state.at(here), "following": state.after(here)}
