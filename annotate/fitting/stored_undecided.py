"""Reads who is undecided how often, which a published fit keeps, for pages and exports; needs numpy alone."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer, format_number
from annotate.fitting.stored_columns import site_columns
from models_engine.models import Fit


@dataclass(frozen=True)
class Times:
    """How many times as often as on average, with its 90% interval; undecided answers of n."""

    value: float
    low: float
    high: float
    n_undecided: int
    n: int

    @property
    def words(self) -> str:
        return _("%(times)s times as often as on average (%(low)s to %(high)s): %(undecided)s of %(n)s answers") % {
            "times": format_number(self.value),
            "low": format_number(self.low),
            "high": format_number(self.high),
            "undecided": format_integer(self.n_undecided),
            "n": format_integer(self.n),
        }


def stored_undecided(fit: Fit | None, side: str) -> dict[int, Times]:
    """Return the figures of every item or annotator (`side`) with answers enough, of the published fit with them."""
    names = (f"undecided_{side}", f"undecided_times_{side}", f"undecided_counts_{side}")
    columns = site_columns(fit.arrays if fit else None, *names) or []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {key: Times(*times, *counts) for key, times, counts in rows}


def often_undecided(fit: Fit | None, side: str) -> dict[int, Times]:
    """Return the items or annotators for which it is more often than chance explains, the worst first."""
    kept = ((fit.diagnostics.get("undecided") or {}) if fit else {}).get(side) or {}
    return {key: Times(*row) for key, *row in kept.get("worst", [])}


def undecided_figures(times: Times | None) -> list[float | None]:
    """Return what the columns of exports hold."""
    return [times.value, times.low, times.high] if times else [None, None, None]
