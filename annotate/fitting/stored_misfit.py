"""Reads the misfit that a published fit keeps, for pages and exports; needs numpy alone."""

import math
from dataclasses import dataclass

from annotate.fitting.stored_columns import site_columns
from models_engine.models import Fit


@dataclass(frozen=True)
class Deviation:
    """Infit of one item or annotator: 1 is what chance gives, z its standardised value, n the pairs behind it."""

    key: int
    infit: float
    z: float
    n: int


def flagged_deviations(fit: Fit | None, side: str) -> dict[int, Deviation]:
    """Return the flagged items or annotators by primary key, the worst first."""
    kept = ((fit.diagnostics.get("misfit") or {}) if fit else {}).get(side) or {}
    return {row[0]: Deviation(*row) for row in kept.get("worst", [])}


def stored_misfit(fit: Fit | None, side: str) -> dict[int, tuple[float, float]]:
    """Return infit and its standardised value of every item or annotator (`side`) of the published fit with one."""
    columns = site_columns(fit.arrays if fit else None, side, f"infit_{side}", f"infit_z_{side}") or []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {key: (infit, z) for key, infit, z in rows if math.isfinite(infit)}
