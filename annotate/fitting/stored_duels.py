"""Reads the duels that a published fit keeps (annotate.fitting.duels); needs numpy alone."""

from dataclasses import dataclass

from django.core.cache import cache

from annotate.fitting.stored_columns import site_columns
from models_engine.models import Fit

CACHE_SECONDS = 3600  # a fit never changes; its file may take megabytes to read


@dataclass(frozen=True)
class Duels:
    """won: how many of the n duels of an item it won, a tie counting half."""

    won: float
    n: int

    @property
    def share(self) -> float:
        return self.won / self.n


def duels_of(fit: Fit) -> dict[int, Duels]:
    """Return the duels by the item's primary key, of items that were in any; empty for fits that keep none."""
    counts = cache.get_or_set(f"duels:{fit.pk}", lambda: read_counts(fit.pk), CACHE_SECONDS) or {}
    return {item: Duels(won, n) for item, (won, n) in counts.items()}


def read_counts(fit_id: int) -> dict[int, tuple[float, int]]:
    arrays = Fit.objects.filter(pk=fit_id).values_list("arrays", flat=True).first()
    columns = site_columns(arrays, "items", "won", "duels") or []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {item: (won, n) for item, won, n in rows if n}
