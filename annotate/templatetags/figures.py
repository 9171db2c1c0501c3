"""Template tags for figures: how long ago, how long, numbers that are not known."""

import math
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.charts import figure, in_percent
from annotate.stored_words import in_words

register = template.Library()
register.filter(in_words)


# Seconds up to which, seconds of one unit, the phrase; static/js/ago.js counts on in the same ones.
AGO = {
    "s": (60, 1, gettext_lazy("%(n)d s ago")),
    "min": (3600, 60, gettext_lazy("%(n)d min ago")),
    "h": (2 * 86_400, 3600, gettext_lazy("%(n)d h ago")),
    "days": (math.inf, 86_400, gettext_lazy("%(n)d days ago")),
}


def ago_words(seconds: float) -> str:
    seconds = max(0, int(seconds))
    unit, phrase = next((unit, phrase) for most, unit, phrase in AGO.values() if seconds < most)
    return str(phrase) % {"n": seconds // unit}


@register.simple_tag
def ago_phrase(unit: str) -> str:
    return str(AGO[unit][2])


@register.simple_tag
def ago(when: datetime | None, now: datetime) -> SafeString | str:
    """A relative time with the exact one in its title; "-" where there is none."""
    if when is None:
        return "-"
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>',
        when.isoformat(),
        date_format(timezone.localtime(when), _("j M Y, H:i:s e")),
        ago_words((now - when).total_seconds()),
    )


def unknown(value: Any) -> bool:
    """None, or the empty text that templates make of an attribute of None."""
    return value is None or value == ""


@register.filter
def fixed(value: Any, decimals: int = 2) -> str:
    """A number with so many decimals, "-" where it is not known."""
    return "-" if unknown(value) else figure(value, decimals)


@register.filter
def share(value: Any) -> str:
    """A probability as people write it: .98, or 0,98 in German.

    Draws that all agree prove no certainty, so 0 and 1 are never said.
    """
    if unknown(value):
        return "-"
    if value < 0.005:
        return "<" + below_one(0.01)
    if value >= 0.995:
        return ">" + below_one(0.99)
    return below_one(value)


def below_one(value: float) -> str:
    """Where a decimal point is written, no zero stands before it; before a comma it does."""
    text = figure(value)
    return text.removeprefix("0") if text.startswith("0.") else text


@register.filter
def percent(value: Any) -> str:
    """A share of 1 in whole percent."""
    return "-" if unknown(value) else in_percent(value)


@register.filter
def seconds(milliseconds: Any) -> str:
    """A response time: 2.4 s, 35 s, 3 min."""
    if unknown(milliseconds):
        return "-"
    value = milliseconds / 1000
    if value < 9.95:
        return _("%(n)s s") % {"n": figure(value, 1)}
    if value < 120:
        return _("%(n)s s") % {"n": f"{value:.0f}"}
    return _("%(n)s min") % {"n": f"{value / 60:.0f}"}
