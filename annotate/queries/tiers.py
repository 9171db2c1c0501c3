"""Tiers in words: which places are told apart, which are tied, and which only lack data."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext as _

from models_engine.models import Estimate, Fit

NextState = Estimate.NextState


@dataclass(frozen=True)
class Tier:
    """Places first to last of a part, of which every item above is separated from every one below.

    `overlapping`: each member's rank interval covers the whole tier.   `n_tied`, `n_not_enough`: how many members are
    tied with the one below inside the tier, and for how many the data do not say.
    """

    part: int
    number: int
    first: int
    last: int
    n_tied: int
    n_not_enough: int
    overlapping: bool
    part_size: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def tied(self) -> bool:
        return self.size > 1 and self.n_tied == self.size - 1

    def words(self) -> str:
        if self.size == 1:
            return single_words(self)
        if self.tied and self.size == 2:
            return _("Places %(first)d and %(last)d are tied") % self.places()
        if self.tied:
            return _("Places %(first)d to %(last)d: each is tied with the next") % self.places()
        if self.size == 2:
            return _("Places %(first)d and %(last)d can't be told apart yet") % self.places()
        if self.overlapping:
            return _("Places %(first)d to %(last)d can't be told apart yet") % self.places()
        return _("Places %(first)d to %(last)d run into each other: no clear break yet") % self.places()

    def places(self) -> dict[str, int]:
        return {"first": self.first, "last": self.last}


def single_words(tier: Tier) -> str:
    if tier.part_size == 1:
        return ""
    if tier.first == 1:
        return _("Place 1 is ahead of all others")
    if tier.first == tier.part_size:
        return _("Place %(n)d is behind all others") % {"n": tier.first}
    return _("Place %(n)d is told apart from all others") % {"n": tier.first}


def tiers_of(fit: Fit, *, parts: Collection[int]) -> list[Tier]:
    """The tiers of these parts, best first, from one query."""
    groups = list(
        Estimate.objects.filter(fit=fit, part__in=parts)
        .values("part", "tier")
        .annotate(
            first=Min("rank"),
            last=Max("rank"),
            n_tied=Count("pk", filter=Q(next_state=NextState.TIED)),
            n_not_enough=Count("pk", filter=Q(next_state=NextState.NOT_ENOUGH)),
            best=Max("rank_low"),
            worst=Min("rank_high"),
        )
        .order_by("part", "first")
    )
    sizes: dict[int, int] = {}
    for group in groups:
        sizes[group["part"]] = max(group["last"], sizes.get(group["part"], 0))
    return [
        Tier(
            part=group["part"],
            number=group["tier"],
            first=group["first"],
            last=group["last"],
            n_tied=group["n_tied"],
            n_not_enough=group["n_not_enough"],
            overlapping=group["best"] <= group["first"] and group["worst"] >= group["last"],
            part_size=sizes[group["part"]],
        )
        for group in groups
    ]
