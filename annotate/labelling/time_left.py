"""How much is left for an annotator and how long it may take.

Their own median time for an answer is measured and kept by their browser, which sends it along; it is only shown back.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MAX_MEDIAN_MS = 3_600_000
MAX_TOTAL = 1_000_000


@dataclass(frozen=True)
class ClientTiming:
    """median_ms: of the annotator's latest answers; total: answers that there could be at most where no cap says it."""

    median_ms: int | None = None
    total: int | None = None


def parse_client_timing(data: Mapping[str, str]) -> ClientTiming:
    """Hints out of bounds are none."""
    return ClientTiming(
        parse_positive(data.get("median_ms"), MAX_MEDIAN_MS), parse_positive(data.get("total"), MAX_TOTAL)
    )


def parse_positive(text: str | None, most: int) -> int | None:
    value = int(text) if text and text.isdecimal() and len(text) < 10 else 0
    return value if 0 < value <= most else None


def describe_time_left(n: int, median_ms: int | None) -> str:
    """Say roughly how long n answers will take; nothing where too little is known."""
    if not median_ms or n < 1:
        return ""
    minutes = n * median_ms / 60_000
    if minutes < 0.75:
        return _("less than a minute left")
    if minutes < 90:
        count = round(minutes)
        if count > 20:
            count = 5 * round(count / 5)
        return ngettext("about %(n)d minute left", "about %(n)d minutes left", count) % {"n": count}
    hours = round(minutes / 60)
    return ngettext("about %(n)d hour left", "about %(n)d hours left", hours) % {"n": hours}
