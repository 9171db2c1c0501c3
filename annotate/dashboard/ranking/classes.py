"""Describes the classes of a ranking: which places have no clear gap between them, and which are tied."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Count, F, Max, Min, Q
from django.utils.translation import gettext as _

from annotate.dashboard.overall.places import Place
from annotate.fitting.stored_provisional import NewestAnswers
from models_engine.models import Estimate, Fit

NextState = Estimate.NextState


@dataclass(frozen=True)
class RankClass:
    """Places first to last of a part: those that may be as good as the first of them (models_engine.analysis.classes).

    n_tied: how many members are tied with the next one inside the class.
    """

    part: int
    number: int
    first: int
    last: int
    n_tied: int
    part_size: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def is_tied(self) -> bool:
        return self.size > 1 and self.n_tied >= self.size - 1

    @property
    def sentence(self) -> str:
        """Return what the class tells; empty for a class of one item: the gaps around it say enough."""
        places = {"first": self.first, "last": self.last}
        if self.size == 1:
            return ""
        if self.is_tied and self.size == 2:
            return _("Places %(first)d and %(last)d are tied.") % places
        if self.is_tied:
            return _("Places %(first)d to %(last)d: each is tied with the next.") % places
        return _("No clear gap between places %(first)d and %(last)d yet.") % places


def classes_of_places(places: Sequence[Place]) -> list[RankClass]:
    """Return the classes of a track, best first."""
    found = []
    for number, group in groupby(places, key=lambda place: place.rank_class or 0):
        members = list(group)
        n_tied = sum(one.next_state == NextState.TIED for one in members)
        found.append(RankClass(0, number, members[0].rank, members[-1].rank, n_tied, len(places)))
    return found


def classes_now(newest: NewestAnswers) -> list[RankClass]:
    """Return the classes of the parts that the newest answers are about, best first."""
    columns = (newest.columns[name] for name in ("part", "rank", "rank_class", "next_state"))
    rows = sorted(zip(*columns, strict=True))
    sizes = {part: rank for part, rank, _number, _state in rows}  # the last rank of each
    found = []
    for (part, number), group in groupby(rows, key=lambda row: (row[0], row[2])):
        members = list(group)
        n_tied = sum(state == NextState.TIED for *_others, state in members)
        found.append(RankClass(part, number, members[0][1], members[-1][1], n_tied, sizes[part]))
    return found


def classes_of(fit: Fit, *, parts: Collection[int], newest: NewestAnswers | None = None) -> list[RankClass]:
    """Return the classes of these parts, best first, from one query; none for a fit that was made without them."""
    if newest:
        own = [one for one in classes_now(newest) if one.part in parts]
        others = classes_of(fit, parts=set(parts) - newest.parts)
        return sorted([*own, *others], key=lambda one: (one.part, one.first))
    groups = list(
        Estimate.objects.filter(fit=fit, part__in=parts, rank_class__isnull=False)
        .order_by()
        .values("part", number=F("rank_class"))
        .annotate(first=Min("rank"), last=Max("rank"), n_tied=Count("pk", filter=Q(next_state=NextState.TIED)))
        .order_by("part", "first")
    )
    sizes: dict[int, int] = {}
    for group in groups:
        sizes[group["part"]] = max(group["last"], sizes.get(group["part"], 0))
    return [
        RankClass(group["part"], group["number"], group["first"], group["last"], group["n_tied"], sizes[group["part"]])
        for group in groups
    ]
