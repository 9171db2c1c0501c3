"""The ranking in one plain sentence, saying no more than the fit can carry."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.charts import grouped
from annotate.queries.tiers import Tier
from models_engine.models import Fit

LONGEST_NAME = 70


@dataclass(frozen=True)
class Leader:
    title: str
    rank_high: int


def quoted(title: str) -> SafeString:
    """An item's title inside a sentence, kept apart from it in either direction of writing."""
    short = title if len(title) <= LONGEST_NAME else title[: LONGEST_NAME - 1].rstrip() + "…"
    return format_html("<bdi>“{}”</bdi>", short)


def verdict(fit: Fit, tiers: Sequence[Tier], leaders: Sequence[Leader], *, n_items: int, n_thin: int) -> SafeString:
    """`tiers`, `leaders`: the first two of the largest part; `n_thin`: how many items have few comparisons."""
    if fit.converged is False:
        return format_html(_("No verdict: fit {} did not converge, so its figures may be off."), fit.number)
    if not tiers or tiers[0].part_size < 2:
        return format_html("{}", _("Nothing to rank yet: no two items have been compared."))
    if 2 * n_thin > n_items:
        return format_html(
            _("Too early to say: {} of {} items have fewer than 5 comparisons."), grouped(n_thin), grouped(n_items)
        )
    sentence = leading(tiers, leaders)
    if fit.n_parts > 1:
        return format_html(_("In the largest part, of {} items: {}"), grouped(tiers[0].part_size), sentence)
    return sentence


def leading(tiers: Sequence[Tier], leaders: Sequence[Leader]) -> SafeString:
    first, titles = tiers[0], [leader.title for leader in leaders]
    if first.size == 1:
        return format_html("{} {}", format_html(_("{} leads."), quoted(titles[0])), second_place(tiers[1], titles[1]))
    if first.tied and first.size == 2:
        return format_html(_("{} and {} are tied for the lead."), quoted(titles[0]), quoted(titles[1]))
    if first.overlapping or first.tied or first.size == 2:
        if first.size == first.part_size:
            return format_html(_("No leader yet: {}."), lowered(first.words()))
        return format_html("{}.", first.words())
    return format_html(
        _("{} is ahead for now, but not clearly: its place is only known to be between 1 and {} (90%)."),
        quoted(titles[0]),
        grouped(leaders[0].rank_high),
    )


def second_place(second: Tier, title: str) -> SafeString:
    if second.size > 1:
        return format_html("{}.", second.words())
    if second.last == second.part_size:
        return format_html(_("{} is behind it."), quoted(title))
    return format_html(_("{} is clearly second."), quoted(title))


def lowered(words: str) -> str:
    return words[:1].lower() + words[1:]
