"""Reads a project's results links for its owner."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from annotate.models import OVERALL, Project, ResultsLink

MAX_SHOWN = 50


@dataclass(frozen=True)
class LinkRow:
    """`is_over`: it ended or was revoked, so that it shows nothing any more."""

    link: ResultsLink
    criterion: str
    is_over: bool


def label(names: dict[int, str], link: ResultsLink) -> str:
    """Return what the link is of: its criterion and its track, where there are several."""
    return " · ".join(filter(None, [names.get(link.criterion, ""), link.track]))


def links_of(project: Project, now: datetime) -> list[LinkRow]:
    """Return those in use first, then the others, the latest first."""
    names = {number: one["name"] for number, one in enumerate(project.criteria, 1)}
    names[OVERALL] = gettext("Overall")
    links = project.results_links.order_by("-made_at", "-pk")[:MAX_SHOWN]
    lines = [LinkRow(link, label(names, link), link.is_over(now)) for link in links]
    return sorted(lines, key=lambda line: line.is_over)
