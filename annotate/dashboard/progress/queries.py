"""Reads how far a project is: labels over time, outcomes, voided labels, coverage of the items."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import CharField, Count, Func, Q
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from annotate.core import charts
from annotate.core.caching import cached_if_slow
from annotate.core.time_units import Unit, stamps_between, unit_of
from annotate.criteria import Criterion
from annotate.dashboard.progress.forecast import Outlook, outlook
from annotate.dashboard.ranking.queries import MIN_COMPARISONS
from annotate.labelling.label_rows import labels_by_criterion
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import Event, EventVerb, Label, Project
from models_engine.models import Estimate, Fit

HEIGHT = 160.0  # of the chart of labels over time, in pixels
# Comparisons of an item, from and to.
SHOWN_IMPORTS, SHOWN_REFUSALS = 10, 50
COVERAGE = [(0, 0), (1, 4), (5, 9), (10, 19), (20, 49), (50, 10**9)]


class Stamp(Func):
    """The first characters of a moment in UTC, "2026-11-20 14:05": 16 give the minute, 15 ten of them, 13 the hour, 10
    the day, 7 the month.

    Text, because Django's Trunc calls Python for every row on SQLite.
    """

    template = "SUBSTR(%(expressions)s, 1, %(length)d)"
    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "SUBSTR(TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), 1, %(length)d)"
        return self.as_sql(compiler, connection, template=template, **context)


@dataclass(frozen=True)
class Counted:
    """A kind of label and how many there are of it; `share` of all that were counted together."""

    name: str | Promise
    n: int
    share: float

    @property
    def width(self) -> str:
        return charts.percent(self.share)


@dataclass(frozen=True)
class Import:
    """An import of comparisons: how many of its rows became labels, and the first refused ones as (row, reason)."""

    source: str
    at: datetime
    n_rows: int
    n_refused: int
    refusals: list[tuple[int, str]]


@dataclass(frozen=True)
class Progress:
    """`n_counting`: answers that the ranking is made of; `n_aside`: neither void nor of use to it."""

    n_given: int
    n_counting: int
    n_aside: int
    first: datetime | None
    last: datetime | None
    unit: str
    chart: charts.Columns
    # At the chart's foot: the words under its first and last column, and of its fullest.
    starts: str
    ends: str
    fullest: str
    outlook: Outlook | None
    outcomes: list[Counted]
    voided: list[Counted]
    coverage: list[Counted]
    n_items: int
    n_thin: int
    imports: list[Import]

    @property
    def n_voided(self) -> int:
        return self.n_given - self.n_counting - self.n_aside

    @property
    def n_kept(self) -> int:
        return self.n_counting + self.n_aside


def progress(criterion: Criterion, fit: Fit | None) -> Progress:
    """Read the progress from seven queries, whatever the number of labels."""
    project = criterion.project
    times = Label.objects.filter(project=project).order_by("created_at").values_list("created_at", flat=True)
    # Not Min and Max together: each end alone is one step into the index.
    span = {"first": times.first(), "last": times.last()}
    unit = unit_of(span["first"], span["last"])
    counts = cached_if_slow(
        f"labels-by-{unit.length}-{project.pk}-{criterion.number}", partial(count_labels, criterion, unit)
    )
    ahead = outlook(project, unit, span["last"])
    stamps = stamps_between(span["first"], ahead.columns[0].start if ahead and ahead.columns else span["last"], unit)
    names = [date_format(start, unit.format) for _stamp, start in stamps]
    values = [counts["stamp"][stamp] for stamp, _start in stamps]
    n_counting = counts["counting"].total()
    fullest = max(range(len(values)), key=values.__getitem__, default=None)
    coverage, n_items, n_thin = coverage_of(fit)
    return Progress(
        n_given=counts["outcome"].total() + counts["void_reason"].total(),
        n_counting=n_counting,
        n_aside=counts["outcome"].total() - n_counting,
        first=span["first"],
        last=span["last"],
        unit=unit.word,
        chart=charts.columns(values, names, height=HEIGHT, ahead=ahead.columns if ahead else ()),
        starts=names[0] if names else "",
        ends=ahead.columns[-1].label if ahead and ahead.columns else names[-1] if names else "",
        fullest="" if fullest is None else names[fullest],
        outlook=ahead,
        outcomes=count_by_value(Label.Outcome, counts["outcome"]),
        voided=count_by_value(Label.VoidReason, counts["void_reason"]),
        coverage=coverage,
        n_items=n_items,
        n_thin=n_thin,
        imports=imports(project),
    )


def count_labels(criterion: Criterion, unit: Unit) -> dict[str, Counter[str]]:
    """Return how many labels have which void_reason, of the others which outcome and stamp; from one query.

    "counting": the outcomes of those that the ranking is made of (fitting.reading.counted_label_filter).
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("stamp", "outcome", "void_reason", "counting")}
    outcome = "further__outcome" if criterion.number > 1 else "outcome"
    labels = labels_by_criterion(criterion, Label.objects.filter(project=criterion.project)).order_by()
    purpose, counted = "presentation__purpose", criterion.project.counted_purposes
    groups = labels.values(outcome, purpose, "void_reason", stamp=Stamp("created_at", length=unit.length))
    for group in groups.annotate(n=Count("pk")):
        if group["void_reason"]:
            counts["void_reason"][group["void_reason"]] += group["n"]
            continue
        counts["outcome"][group[outcome]] += group["n"]
        counts["stamp"][group["stamp"]] += group["n"]
        if group[outcome] in INFORMATIVE and group[purpose] in counted:
            counts["counting"][group[outcome]] += group["n"]
    return counts


def count_by_value(kinds: Any, counts: Counter[str]) -> list[Counted]:
    total = counts.total() or 1
    return [Counted(kind.label, counts[kind.value], counts[kind.value] / total) for kind in kinds if counts[kind.value]]


def coverage_of(fit: Fit | None) -> tuple[list[Counted], int, int]:
    """Return how many items have how many comparisons in the published fit; none without one."""
    if fit is None:
        return [], 0, 0
    counts = Estimate.objects.filter(fit=fit).aggregate(
        n=Count("pk"),
        thin=Count("pk", filter=Q(n_comparisons__lt=MIN_COMPARISONS)),
        **{
            f"from_{low}": Count("pk", filter=Q(n_comparisons__gte=low, n_comparisons__lte=high))
            for low, high in COVERAGE
        },
    )
    n_items = counts["n"]
    bins = [
        Counted(range_words(low, high), counts[f"from_{low}"], counts[f"from_{low}"] / (n_items or 1))
        for low, high in COVERAGE
    ]
    return bins, n_items, counts["thin"]


def imports(project: Project) -> list[Import]:
    events = Event.objects.filter(project=project, verb=EventVerb.COMPARISONS_IMPORTED).order_by("-at")[:SHOWN_IMPORTS]
    return [
        Import(
            source=event.details["source"],
            at=event.at,
            n_rows=event.details["rows"],
            n_refused=event.details["refused"],
            refusals=[(row, reason) for row, reason in event.details["refusals"][:SHOWN_REFUSALS]],
        )
        for event in events
    ]


def range_words(low: int, high: int) -> str:
    if low == 0:
        return _("none")
    if high == COVERAGE[-1][1]:
        return _("%(low)d or more") % {"low": low}
    return _("%(low)d to %(high)d") % {"low": low, "high": high}
