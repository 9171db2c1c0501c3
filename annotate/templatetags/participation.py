"""{% load participation %}: the code that an annotator has earned, shown before they press Finish."""

from typing import Any

from django import template
from django.utils import timezone

from annotate.models import Annotator
from annotate.participation.completion.actions import earned_code
from annotate.participation.completion.codes import return_link
from annotate.participation.rules import participation_rules

register = template.Library()


@register.inclusion_tag("participation/earned_code.html")
def earned(annotator: Annotator) -> dict[str, Any]:
    """Show the code and the way back; nothing where there is no code yet."""
    code = earned_code(annotator, timezone.now())
    link = return_link(participation_rules(annotator.project), code, annotator.platform_id) if code else ""
    return {"code": code, "link": link}
