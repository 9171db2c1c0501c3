"""Reads the stored forecast of a project's answers for the Progress page: how many are likely to come, and when."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.formats import date_format
from django.utils.translation import ngettext

from annotate.core.charts import AheadColumn
from annotate.core.time_units import Unit, floor_time
from annotate.fitting.forecast_rows import stored_forecast
from annotate.models import Project

HOURS_OF_A_DAY = 24


@dataclass(frozen=True)
class Likely:
    """Answers likely to come within so many hours: middle and 90% interval."""

    hours: int
    low: int
    middle: int
    high: int

    @property
    def words(self) -> str:
        if self.hours <= HOURS_OF_A_DAY:
            return ngettext("Next hour", "Next %(n)d hours", self.hours) % {"n": self.hours}
        n = self.hours // HOURS_OF_A_DAY
        return ngettext("Next day", "Next %(n)d days", n) % {"n": n}


@dataclass(frozen=True)
class Outlook:
    """columns: the chart's columns ahead, of which the first is the rest of the column that runs.

    is_young: the answers span a day or less, so that nothing beyond six hours is forecast.   left: answers that the
    project still takes, where no more than these may be given within the hours forecast; else None.
    """

    as_of: datetime
    within: list[Likely]
    columns: list[AheadColumn]
    is_young: bool
    left: int | None
    expected: float | None = None  # annotators within the next day, of those who have answered


def outlook(project: Project, unit: Unit, last: datetime | None) -> Outlook | None:
    """Read the forecast from one query; None where there is none, or the project is full. Columns that have passed, or
    of another unit than the chart's, are left out."""
    row = stored_forecast(project)
    if row is None or row.as_of is None or row.figures["left"] == 0:
        return None
    found = row.figures
    begins = floor_time(max(row.as_of, last or row.as_of), unit.length)
    columns = [
        AheadColumn(start, low, middle, high, date_format(start, unit.format))
        for start, low, middle, high in ((datetime.fromisoformat(at), *rest) for at, *rest in found["columns"])
        if found["unit"] == unit.length and start >= begins
    ]
    within = [Likely(int(hours), *values) for hours, values in found["within"].items()]
    is_young = found["history"] <= HOURS_OF_A_DAY
    left = found["left"] if any(one.high == found["left"] for one in within) else None
    return Outlook(row.as_of, within, columns, is_young, left, row.returns.get("expected"))
