"""Writes the ranking's headline: one plain sentence that claims no more than the fit supports."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.core.cutting import cut_at_word
from annotate.core.numbers import format_integer
from annotate.core.quoting import quoted
from annotate.dashboard.ranking.classes import RankClass
from models_engine.models import Fit

MAX_TITLE_LENGTH = 70


@dataclass(frozen=True)
class Leader:
    """One of the first two items of the largest part; rank_low, rank_high: ends of the 90% interval of its rank."""

    title: str
    rank_low: int
    rank_high: int


@dataclass(frozen=True)
class Totals:
    """n_ranked: items of the largest part; n_thin: items of all parts with few comparisons."""

    n_items: int
    n_ranked: int
    n_thin: int


def quote_title(title: str) -> SafeString:
    """Return an item's title inside a sentence, kept apart from it in either direction of writing."""
    return format_html("<bdi>{}</bdi>", quoted(cut_at_word(title, MAX_TITLE_LENGTH)))


def headline(fit: Fit, classes: Sequence[RankClass], leaders: Sequence[Leader], totals: Totals) -> SafeString:
    """Say who leads. `classes`, `leaders`: the first two of the largest part; no classes where the fit was made without
    them."""
    if fit.converged is False:
        return format_html("{}", _("No result to rely on yet: the calculation did not converge."))
    if len(leaders) < 2:
        return format_html("{}", _("Nothing to rank yet: no two items have been compared."))
    if 2 * totals.n_thin > totals.n_items:
        return format_html(
            _("Too early to say: {} of {} items have fewer than 5 comparisons."),
            format_integer(totals.n_thin),
            format_integer(totals.n_items),
        )
    sentence = lead_sentence(classes, leaders, totals.n_ranked)
    if fit.n_parts > 1:
        return format_html(_("In the largest connected part ({} items): {}"), format_integer(totals.n_ranked), sentence)
    return sentence


def lead_sentence(classes: Sequence[RankClass], leaders: Sequence[Leader], n_ranked: int) -> SafeString:
    first, second = leaders
    if classes and classes[0].size == 2 and classes[0].is_tied:
        return format_html(_("{} and {} are tied for the lead."), quote_title(first.title), quote_title(second.title))
    if first.rank_high >= n_ranked:
        return format_html(_("No leader yet: no clear gap between places 1 and {}."), format_integer(n_ranked))
    if first.rank_high > 1:
        return format_html(
            _("{} leads so far. Its true place is very likely between 1 and {}."),
            quote_title(first.title),
            format_integer(first.rank_high),
        )
    leads = format_html(_("{} leads."), quote_title(first.title))
    after = second_place_sentence(classes, second, n_ranked)
    return format_html("{} {}", leads, after) if after else leads


def second_place_sentence(classes: Sequence[RankClass], second: Leader, n_ranked: int) -> SafeString | str:
    if n_ranked == 2:
        return format_html(_("{} is behind it."), quote_title(second.title))
    if second.rank_low == second.rank_high == 2:
        return format_html(_("{} is clearly second."), quote_title(second.title))
    return classes[1].sentence if len(classes) > 1 and classes[0].size == 1 else ""
