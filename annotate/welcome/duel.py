"""Shows one question of a real project to visitors, and how everybody else would have answered it."""

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.http import QueryDict
from django.urls import reverse

from annotate.core.charts import percent
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.models import Item, Project
from models_engine.models import Estimate

# Visitors may come in crowds: the ranking is read once a minute.
SECONDS = 60
MAX_ITEMS = 200
MAX_WORDS = 160  # characters of an item that the card shows
N_LEADERS = 5


@dataclass(frozen=True)
class Contestant:
    """An item as the first page shows it, with its place, its score from 0 to 100, and their 90% intervals."""

    pk: int
    text: str
    rank: int
    rank_low: int
    rank_high: int
    score: float
    score_low: float
    score_high: float

    @property
    def line(self) -> dict[str, str]:
        """The score and its interval as positions along a scale."""
        marks = {"low": self.score_low, "middle": self.score, "high": self.score_high}
        return {name: percent(value / 100) for name, value in marks.items()}


@dataclass(frozen=True)
class Shown:
    """A project with its ranking of `n_ranked` items; `contestants`, from the first place on, are the short texts."""

    name: str
    question: str
    is_simulated: bool
    join_address: str
    n_labels: int
    n_annotators: int
    n_ranked: int
    contestants: list[Contestant]

    @property
    def leaders(self) -> list[Contestant]:
        return self.contestants[:N_LEADERS]

    @property
    def is_out_of_order(self) -> bool:
        """Tells whether a score is higher than one before, as where an item divides people."""
        return any(before.score < after.score for before, after in pairwise(self.leaders))


@dataclass(frozen=True)
class Duel:
    """Two contestants; `chosen` and `other` are None until the visitor has chosen."""

    left: Contestant
    right: Contestant
    chosen: Contestant | None = None
    other: Contestant | None = None

    @property
    def agrees(self) -> bool:
        """Tells whether the visitor chose the one that is ahead in the ranking."""
        return bool(self.chosen and self.other and self.chosen.rank < self.other.rank)

    @property
    def is_clear(self) -> bool:
        """Tells whether the intervals of the two places do not overlap."""
        first, second = sorted((self.left, self.right), key=lambda one: one.rank)
        return first.rank_high < second.rank_low


def shown_project() -> Shown | None:
    """Return the project of the setting LANDING_PROJECT with its ranking; None where there is nothing to show yet."""
    if not settings.LANDING_PROJECT:
        return None
    kept = cache.get_or_set("landing", lambda: read_project(settings.LANDING_PROJECT) or "nothing", SECONDS)
    return kept if isinstance(kept, Shown) else None


def read_project(project_id: UUID) -> Shown | None:
    project = Project.objects.filter(pk=project_id, state=Project.State.OPEN, archived_at=None).first()
    fit = published_fit(Criterion(project)) if project else None
    if project is None or fit is None:
        return None
    estimates = Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0, score__isnull=False)
    ordered = list(estimates.order_by("rank")[:MAX_ITEMS])
    n_ranked = len(ordered) if len(ordered) < MAX_ITEMS else estimates.count()
    found = Item.objects.in_bulk([estimate.item_id for estimate in ordered])
    contestants = [
        contestant(found[estimate.item_id], estimate)
        for estimate in ordered
        if estimate.item_id in found and is_short_text(found[estimate.item_id])
    ]
    if len(contestants) < N_LEADERS:
        return None
    return Shown(
        project.name,
        project.question,
        project.simulated,
        reverse("join", args=[project.join_token]),
        fit.n_labels,
        fit.n_annotators,
        n_ranked,
        contestants,
    )


def is_short_text(item: Item) -> bool:
    return item.kind == Item.Kind.TEXT and item.retired_at is None and len(item.body) <= MAX_WORDS


def contestant(item: Item, estimate: Estimate) -> Contestant:
    score, low, high = (value or 0.0 for value in (estimate.score, estimate.score_low, estimate.score_high))
    return Contestant(item.pk, item.body, estimate.rank, estimate.rank_low, estimate.rank_high, score, low, high)


def duel(shown: Shown, query: QueryDict, rng: random.Random) -> Duel:
    """Return the two that the query names, with the visitor's choice, else two at random."""
    by_pk = {str(one.pk): one for one in shown.contestants}
    left, right = by_pk.get(query.get("left", "")), by_pk.get(query.get("right", ""))
    if left is None or right is None or left is right:
        return Duel(*rng.sample(shown.contestants, 2))
    chosen = {"left": (left, right), "right": (right, left)}.get(query.get("chosen", ""))
    return Duel(left, right, *chosen) if chosen else Duel(left, right)


def landing_context(query: QueryDict, rng: random.Random) -> dict[str, Any]:
    shown = shown_project()
    return {"shown": shown, "duel": duel(shown, query, rng) if shown else None}
