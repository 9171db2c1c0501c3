"""{% load rendering %}: people's texts in templates."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from annotate.core import chat, embeds, sanitizing
from annotate.core.cutting import cut_at_word
from annotate.core.languages import direction
from annotate.files.row_errors import GroupedErrors, grouped
from annotate.models import Item, Project

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    return sanitizing.render_markdown(text)


@register.filter
def formatted(text: str, kind: str) -> SafeString:
    return chat.render_chat(text) if kind == Item.Kind.CHAT else sanitizing.render_text(text, kind)


@register.filter
def player(link: str) -> str:
    return embeds.player_url(link)


@register.filter
def named(item: Item, project: Project) -> str:
    """Name the item as the project's results do: by its title, its first words or both."""
    return item.shown_as(project.items_shown_by)


@register.filter
def named_in_sentence(item: Item, project: Project) -> str:
    """Name the item without the full stop of its text, for a sentence that ends with its own."""
    name = named(item, project)
    return name if name.endswith("..") else name.removesuffix(".")


@register.filter
def at_word(text: str, limit: int) -> str:
    """Cut a longer text at the end of a word, with an ellipsis."""
    return cut_at_word(str(text), limit)


@register.filter
def by_message(errors: Iterable[tuple[int, str]]) -> GroupedErrors:
    return grouped(errors)


@register.simple_tag
def language_attributes(language: str = "") -> SafeString:
    """Return lang and dir of an element whose text is in this language; where it is not known, dir=auto."""
    if not language:
        return mark_safe('dir="auto"')
    return format_html('lang="{}" dir="{}"', language, direction(language))
