"""Puts the places within a track into a ranking that is filtered by its tag."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.dashboard.overall.places import Place, track_places
from annotate.dashboard.overall.podium import podium
from annotate.dashboard.ranking.headline import quote_title
from annotate.models import Item, Project
from models_engine.models import Estimate, Fit

WITHIN = ("rank", "rank_low", "rank_high", "p_top", "rank_class", "highest_class", "next_state")


@dataclass(frozen=True)
class Track:
    """places: all of the track, the best first."""

    name: str
    places: Sequence[Place]

    def restrict(self, estimates: QuerySet[Estimate]) -> QuerySet[Estimate]:
        """Return the estimates of the track's items."""
        return estimates.filter(item_id__in=[place.item_id for place in self.places])

    def replace_places(self, estimates: Iterable[Estimate]) -> None:
        """Replace, in estimates that are not stored again, places among all items by those within the track."""
        own = {place.item_id: place for place in self.places}
        for estimate in estimates:
            place = own[estimate.item_id]
            for name in WITHIN:
                setattr(estimate, name, getattr(place, name))
            estimate.p_first = place.p_first  # type: ignore[attr-defined]

    def headline(self, shown_by: str) -> SafeString:
        """Say who leads in the track, with items named by `shown_by`, a value of ItemsShownBy."""
        items = Item.objects.in_bulk([one.item_id for one in self.places[:20]])
        titles = {pk: item.shown_as(shown_by) for pk, item in items.items()}
        found = podium(self.places, titles)
        sentence = found.sentence if found else SafeString("")
        return format_html(_("Within {}: {}"), quote_title(self.name), sentence)


def track_of(project: Project, fit: Fit, tag: str, q: str) -> Track | None:
    """Return the track that a filter by one tag alone shows; None where the fit has not ranked it."""
    places = track_places(project, fit.criterion, tag, fit.number) if tag and not q else []
    return Track(tag, places) if places else None


def by_place(query: Any) -> Any:
    """Return the query with P(top) replaced by the place: within a track they go together, among all they do not."""
    if getattr(query, "sort", "") != "p_top_k":
        return query
    return replace(query, sort="rank", descending=not query.descending)
