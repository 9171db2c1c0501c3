"""What answers say of neighbours in a ranking: how many pairs they settle, and whether the column is worth showing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number

RELIABLE = 0.7  # from which the ranking as a whole is called reliable


@dataclass(frozen=True)
class Neighbours:
    """Pairs of neighbours in rank. n_settled: one is clearly ahead, or both are tied.   n_open: neither is known, for
    want of data.   reliability: of the ranking as a whole, None where it is not known.
    """

    n_settled: int
    n_open: int
    reliability: float | None = None

    @property
    def are_shown(self) -> bool:
        """Return whether some row has something to say of its neighbour."""
        return self.n_settled > 0

    @property
    def sentence(self) -> str:
        """Return what is open, said once and not in every row; empty where all pairs are settled."""
        if not self.n_open:
            return ""
        n = self.n_settled + self.n_open
        values = {"n": format_integer(n), "open": format_integer(self.n_open)}
        if self.n_settled:
            counted = (
                ngettext(
                    "For %(open)s of %(n)s pair of neighbours there is not enough data to say which is ahead.",
                    "For %(open)s of %(n)s pairs of neighbours there is not enough data to say which is ahead.",
                    n,
                )
                % values
            )
        else:
            counted = _("There is not enough data yet to say which of two neighbours is ahead.")
        # xgettext:no-python-format
        rest = _("Each item's 90% places show where it may truly stand.")
        return " ".join(filter(None, (counted, rest, self.whole)))

    @property
    def whole(self) -> str:
        if self.reliability is None or self.reliability < RELIABLE:
            return ""
        return _(
            "The ranking as a whole is reliable all the same (reliability %(value)s): items some places apart are "
            "mostly in the right order."
        ) % {"value": format_number(self.reliability)}


def reliability_in(diagnostics: Mapping[str, Any]) -> float | None:
    """Return the reliability that was computed with a fit."""
    value = (diagnostics.get("reliability") or {}).get("value")
    return None if value is None else float(value)
