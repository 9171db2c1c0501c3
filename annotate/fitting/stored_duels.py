"""Reads the duels that a published fit keeps (annotate.fitting.duels); needs numpy alone."""

import io
from dataclasses import dataclass

import numpy as np
from django.core.cache import cache

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
    if not arrays:
        return {}
    with np.load(io.BytesIO(bytes(arrays)), allow_pickle=False) as file:
        if "site/duels" not in file.files:
            return {}
        columns = [file[f"site/{name}"].tolist() for name in ("items", "won", "duels")]
    return {item: (won, n) for item, won, n in zip(*columns, strict=True) if n}
