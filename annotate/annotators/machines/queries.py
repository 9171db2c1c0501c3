"""Reads machines: who they are and what they answered, the pairs that one is still to be asked, the latest report."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Sum
from django.utils.translation import gettext as _

from annotate.annotators.machines.actions import machines_of
from annotate.core.errors import UserError
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting.machines import ITEMS_JUDGED, counts_machines
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import Item, Label, Machine, MachineAnswer, MachineReport, Presentation, Project
from models_engine.models import Fit

SETS = ("answered", "plan", "all")
MAX_ITEMS_IN_ALL = 1_000  # of which every pair may be asked for: half a million
CHUNK = 300
# Estimators that learn how reliable each annotator is; the others know a machine by its share alone.
WITH_RELIABILITY = frozenset({"CrowdBT"})


class TooManyPairs(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _(
                "All pairs of %(n)d items are too many: the limit is %(limit)d items. Ask for the pairs that people "
                "answered."
            )
            % {"n": n, "limit": MAX_ITEMS_IN_ALL}
        )


@dataclass(frozen=True)
class MachineRow:
    """in_fit: what the published fit learned of it (annotate.fitting.machines), None where it does not count."""

    machine: Machine
    n_answers: int
    n_tokens: int
    cost: Decimal | None
    last_at: datetime | None
    in_fit: dict[str, Any] | None

    @property
    def annotator(self) -> Any:
        return self.machine.annotator


@dataclass(frozen=True)
class MachinesPage:
    rows: list[MachineRow]
    counts: bool  # whether the ranking counts machines
    judges_pairs: bool
    learns_reliability: bool  # whether the estimator of the published fit does
    report: "ReportStatus | None"


@dataclass(frozen=True)
class ReportStatus:
    report: MachineReport

    @property
    def is_waiting(self) -> bool:
        return self.report.status in (MachineReport.Status.ASKED, MachineReport.Status.RUNNING)

    @property
    def why(self) -> str:
        return render_message(self.report.message)


@dataclass(frozen=True)
class AskedPair:
    """Two items, and the orders in which the machine is still to be shown them: (0, 1), (1, 0) or both."""

    items: tuple[Item, Item]
    orders: list[tuple[int, int]]


def machine_rows(criterion: Criterion, fit: Fit | None) -> list[MachineRow]:
    """Return the project's machines in the order in which they were added; answers are counted by all criteria."""
    counted = machines_of(criterion.project).annotate(
        n=Count("answers"),
        n_in=Sum("answers__tokens_in"),
        n_out=Sum("answers__tokens_out"),
        spent=Sum("answers__cost"),
        last=Max("answers__created_at"),
    )
    learned = {one["annotator"]: one for one in (fit.diagnostics.get("machines", []) if fit else [])}
    return [
        MachineRow(one, one.n, (one.n_in or 0) + (one.n_out or 0), one.spent, one.last, learned.get(one.pk))
        for one in counted.order_by("pk")
    ]


def machines_page(criterion: Criterion, fit: Fit | None) -> MachinesPage:
    project = criterion.project
    report = MachineReport.objects.filter(project=project, criterion=criterion.number).first()
    return MachinesPage(
        rows=machine_rows(criterion, fit),
        counts=counts_machines(project),
        judges_pairs=project.k == ITEMS_JUDGED,
        learns_reliability=fit is None or fit.estimator in WITH_RELIABILITY,
        report=ReportStatus(report) if report else None,
    )


def pairs_to_judge(
    machine: Machine, criterion: Criterion, sets: str, after: str, limit: int
) -> tuple[list[AskedPair], str | None]:
    """Return up to `limit` pairs that the machine is still to be asked, and where the next call goes on; None at the
    end. sets: one of SETS. Raises TooManyPairs."""
    found: list[AskedPair] = []
    source = every_pair(criterion.project, after) if sets == "all" else kept_pairs(criterion.project, sets, after)
    for chunk in chunks_of(source):
        done = answered_orders(machine, criterion, {pk for _place, pair in chunk for pk in pair})
        items = Item.objects.select_related("context").in_bulk({pk for _place, pair in chunk for pk in pair})
        for place, (first, second) in chunk:
            orders = [one for one in ((0, 1), (1, 0)) if ((first, second)[one[0]], (first, second)[one[1]]) not in done]
            if orders and first in items and second in items:
                found.append(AskedPair((items[first], items[second]), orders))
                if len(found) == limit:
                    return found, place
    return found, None


def answered_orders(machine: Machine, criterion: Criterion, items: set[int]) -> set[tuple[int, int]]:
    answers = MachineAnswer.objects.filter(machine=machine, criterion=criterion.number)
    return set(answers.filter(first__in=items, second__in=items).values_list("first_id", "second_id"))


def chunks_of(pairs: Iterable[tuple[str, tuple[int, int]]]) -> Iterator[list[tuple[str, tuple[int, int]]]]:
    chunk: list[tuple[str, tuple[int, int]]] = []
    for one in pairs:
        chunk.append(one)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def kept_pairs(project: Project, sets: str, after: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield (place, pair) of the sets that people have answered, or of the plan."""
    rows = project.item_sets.filter(pk__gt=int(after) if after.isdigit() else 0).order_by("pk")
    if sets == "plan":
        rows = rows.filter(place__isnull=False)
    else:
        said = Label.objects.filter(presentation=OuterRef("pk"), voided_at=None, outcome__in=INFORMATIVE)
        counted = Presentation.objects.filter(purpose__in=project.counted_purposes, item_set=OuterRef("pk"))
        rows = rows.filter(Exists(counted.filter(Exists(said))))
    for pk, key in rows.values_list("pk", "key").iterator(2000):
        items = items_of_key(key)
        if len(items) == ITEMS_JUDGED:
            yield str(pk), (items[0], items[1])


def every_pair(project: Project, after: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield (place, pair) of all active items that share a context. Raises TooManyPairs."""
    active = project.items.filter(retired_at=None)
    n = active.count()
    if n > MAX_ITEMS_IN_ALL:
        raise TooManyPairs(n)
    rows = active.order_by(F("context").asc(nulls_first=True), "pk").values_list("pk", "context")
    start = int(after) if after.isdigit() else -1
    groups: dict[int | None, list[int]] = {}
    for pk, context in rows:
        groups.setdefault(context, []).append(pk)
    place = 0
    for group in groups.values():
        for pair in combinations(group, 2):
            if place > start:
                yield str(place), pair
            place += 1
