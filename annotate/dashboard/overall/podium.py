"""Writes the podium: the three first places, and one sentence that claims no more than is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer, format_probability, is_near_one, is_near_zero
from annotate.dashboard.overall.places import Place, may_be_first
from annotate.dashboard.ranking.headline import quote_title

STEPS = 3
SURE = 0.95
MAX_NAMED = 4


@dataclass(frozen=True)
class Step:
    """One step. title: empty while names are hidden."""

    place: Place
    title: str

    @property
    def chance(self) -> str:
        """Return the chance to be first, in words; empty where it is unknown."""
        p = self.place.p_first
        if p is None:
            return ""
        if is_near_one(p):
            return _("chance to be first above %(p)s") % {"p": format_probability(p).removeprefix(">")}
        if is_near_zero(p):
            return _("chance to be first below %(p)s") % {"p": format_probability(p).removeprefix("<")}
        return _("chance to be first %(p)s") % {"p": format_probability(p)}


@dataclass(frozen=True)
class Podium:
    steps: list[Step]
    sentence: SafeString
    is_settled: bool


def podium(
    places: Sequence[Place], titles: Mapping[int, str], *, hidden: bool = False, n_items: int | None = None
) -> Podium | None:
    """Return the podium of a ranking, best first; None for fewer than two items. hidden: nothing names an item.

    places: the first three and all that may be first; n_items: of all, where these are not all.
    """
    if len(places) < 2:
        return None
    steps = [Step(one, "" if hidden else titles.get(one.item_id, "-")) for one in places[:STEPS]]
    rivals = may_be_first(places)
    first = places[0]
    settled = first.rank_high == 1 if first.p_first is None else first.p_first >= SURE
    if hidden:
        return Podium(steps, hidden_sentence(settled, len(rivals)), settled)
    names = {one.item_id: quote_title(titles.get(one.item_id, "-")) for one in [first, *rivals]}
    return Podium(steps, lead_words(first, rivals, names, settled, n_items or len(places)), settled)


def hidden_sentence(settled: bool, n_rivals: int) -> SafeString:
    if settled:
        return format_html("{}", _("One is clearly first."))
    text = _("The first place is still open: {} may have it.")
    return format_html(text, format_integer(n_rivals + 1)) if n_rivals else format_html("{}", _("One leads so far."))


def lead_words(
    first: Place, rivals: Sequence[Place], names: Mapping[int, SafeString], settled: bool, n_items: int
) -> SafeString:
    if settled:
        return first_sentence(first, names)
    if first.rank_high >= n_items:
        return format_html(_("No leader yet: no clear gap between places 1 and {}."), format_integer(n_items))
    if not rivals:
        text = _("{} leads so far. Its true place is very likely between 1 and {}.")
        return format_html(text, names[first.item_id], format_integer(first.rank_high))
    shown = format_html_join(", ", "{}", ((with_chance(one, names),) for one in rivals[:MAX_NAMED]))
    others = len(rivals) - MAX_NAMED
    if others > 0:
        text = _("{} leads so far. The first place can't be told apart yet: {} and {} more may have it, too.")
        return format_html(text, with_chance(first, names), shown, format_integer(others))
    text = _("{} leads so far. The first place can't be told apart yet: {} may have it, too.")
    return format_html(text, with_chance(first, names), shown)


def first_sentence(first: Place, names: Mapping[int, SafeString]) -> SafeString:
    if first.p_first is None:
        return format_html(_("{} leads."), names[first.item_id])
    text = _("{} is first: the chance that none is better is {}.")
    if is_near_one(first.p_first):
        text = _("{} is first: the chance that none is better is above {}.")
    return format_html(text, names[first.item_id], format_probability(first.p_first).removeprefix(">"))


def with_chance(place: Place, names: Mapping[int, SafeString]) -> SafeString:
    """Return the name, and the chance to be first where it is known."""
    if place.p_first is None:
        return names[place.item_id]
    return format_html("{} ({})", names[place.item_id], format_probability(place.p_first))
