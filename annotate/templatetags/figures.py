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

from annotate.core.folders import COMMAND
from annotate.core.numbers import format_number, format_percent, format_probability, is_unknown
from annotate.core.stored_messages import render_message
from annotate.models import Project

register = template.Library()
register.filter(render_message)
register.filter("share", format_probability)


@register.simple_tag
def command() -> str:
    """Say how this installation's commands are given: manage.py or crowdrank."""
    return COMMAND


# Seconds up to which, seconds of one unit, the phrase; static/js/ago.js counts on in the same ones.
AGO = {
    "s": (60, 1, gettext_lazy("%(n)d s ago")),
    "min": (3600, 60, gettext_lazy("%(n)d min ago")),
    "h": (2 * 86_400, 3600, gettext_lazy("%(n)d h ago")),
    "days": (math.inf, 86_400, gettext_lazy("%(n)d days ago")),
}


def ago_words(seconds: float) -> str:
    seconds = max(0, int(seconds))
    name, unit = next((name, unit) for name, (most, unit, _phrase) in AGO.items() if seconds < most)
    return ago_phrase(name) % {"n": seconds // unit}


@register.simple_tag
def ago_phrase(unit: str) -> str:
    """Return the phrase whose %(n)d is to be replaced; the number and its unit stay on one line."""
    return str(AGO[unit][2]).replace("%(n)d ", "%(n)d\N{NO-BREAK SPACE}")


@register.simple_tag
def ago(when: datetime | None, now: datetime) -> SafeString | str:
    """Return a relative time with the exact one in its title; "-" where there is none."""
    if when is None:
        return "-"
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>',
        when.isoformat(),
        date_format(timezone.localtime(when), _("j M Y, H:i:s e")),
        ago_words((now - when).total_seconds()),
    )


@register.simple_tag
def answering_hours(project: Project) -> str:
    """Say from when or until when an open project takes answers, or took them; nothing where it has no hours."""
    now, opens, closes = timezone.now(), project.opens_at, project.closes_at
    if project.state != Project.State.OPEN:
        return ""
    if opens and now < opens:
        return _("takes answers from %(at)s") % {"at": moment(opens)}
    if closes is None:
        return ""
    text = _("took answers until %(at)s") if closes <= now else _("takes answers until %(at)s")
    return text % {"at": moment(closes)}


def moment(when: datetime) -> str:
    return date_format(timezone.localtime(when), _("j M Y, H:i e"))


@register.filter
def fixed(value: Any, decimals: int = 2) -> str:
    """Return a number with so many decimals, "-" where it is not known."""
    return "-" if is_unknown(value) else format_number(value, decimals)


@register.filter
def percent(value: Any) -> str:
    """Return a share of 1 in whole percent."""
    return "-" if is_unknown(value) else format_percent(value)


@register.filter
def seconds(milliseconds: Any) -> str:
    """Return a response time: 2.4 s, 35 s, 3 min."""
    if is_unknown(milliseconds):
        return "-"
    value = milliseconds / 1000
    if value < 9.95:
        return _("%(n)s s") % {"n": format_number(value, 1)}
    if value < 120:
        return _("%(n)s s") % {"n": f"{value:.0f}"}
    return _("%(n)s min") % {"n": f"{value / 60:.0f}"}
