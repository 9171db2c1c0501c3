"""{% load rendering %}: people's texts in templates."""

from django import template
from django.utils.safestring import SafeString

from annotate import links, rendering

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    return rendering.markdown(text)


@register.filter
def formatted(text: str, kind: str) -> SafeString:
    return rendering.formatted(text, kind)


@register.filter
def player(link: str) -> str:
    return links.player_of(link)
