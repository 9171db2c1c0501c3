"""Units of time in which labels are counted, from minutes to months, by how long a project has run."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _

# Columns are minutes wide while they are at most so many, then ten minutes, hours, days, months.
MOST_MINUTES, MOST_TENS, MOST_HOURS, MOST_DAYS = 60, 60, 72, 120
MONTH, DAY, HOUR, TEN_MINUTES, MINUTE = 7, 10, 13, 15, 16  # characters of a stamp
STEPS = {  # from one column into the next; a month's lands within the next month
    MINUTE: timedelta(minutes=1),
    TEN_MINUTES: timedelta(minutes=10),
    HOUR: timedelta(hours=1),
    DAY: timedelta(days=1),
    MONTH: timedelta(days=32),
}


@dataclass(frozen=True)
class Unit:
    length: int
    word: str
    format: str


def unit_of(first: datetime | None, last: datetime | None) -> Unit:
    span = (last - first) if first and last else timedelta(0)
    if span <= timedelta(minutes=MOST_MINUTES):
        return Unit(MINUTE, _("minute"), _("j M, H:i"))
    if span <= timedelta(minutes=10 * MOST_TENS):
        return Unit(TEN_MINUTES, _("ten minutes"), _("j M, H:i"))
    if span <= timedelta(hours=MOST_HOURS):
        return Unit(HOUR, _("hour"), _("j M, H:00"))
    if span <= timedelta(days=MOST_DAYS):
        return Unit(DAY, _("day"), _("j M Y"))
    return Unit(MONTH, _("month"), "F Y")


def stamps_between(first: datetime | None, last: datetime | None, unit: Unit) -> list[tuple[str, datetime]]:
    """Return every minute, ten minutes, hour, day or month from the first to the last, the empty ones too."""
    if first is None or last is None:
        return []
    at, end = floor_time(first.astimezone(UTC), unit.length), last.astimezone(UTC)
    stamps = []
    while at <= end:
        stamps.append((at.isoformat(sep=" ")[: unit.length], at))
        at = next_time(at, unit.length)
    return stamps


def next_time(start: datetime, length: int) -> datetime:
    """Return the beginning of the unit after the one that begins there."""
    return floor_time(start + STEPS[length], length)


def floor_time(moment: datetime, length: int) -> datetime:
    moment = moment.replace(second=0, microsecond=0)
    if length == TEN_MINUTES:
        return moment.replace(minute=moment.minute // 10 * 10)
    if length <= HOUR:
        moment = moment.replace(minute=0)
    if length <= DAY:
        moment = moment.replace(hour=0)
    return moment.replace(day=1) if length == MONTH else moment
