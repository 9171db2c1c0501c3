"""{% load rendering %}: people's texts in templates."""

from django import template
from django.utils.safestring import SafeString

from annotate.core import embeds, sanitizing

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    return sanitizing.render_markdown(text)


@register.filter
def formatted(text: str, kind: str) -> SafeString:
    return sanitizing.render_text(text, kind)


@register.filter
def player(link: str) -> str:
    return embeds.player_url(link)
