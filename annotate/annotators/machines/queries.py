"""Reads machines: who they are, what they answered, and the latest report."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max, Sum

from annotate.annotators.machines.actions import machines_of
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.fitting.machines import counts_machines
from annotate.models import Machine, MachineReport
from models_engine.models import Fit

# Estimators that learn how reliable each annotator is; the others know a machine by its share alone.
WITH_RELIABILITY = frozenset({"CrowdBT"})


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
        learns_reliability=fit is None or fit.estimator in WITH_RELIABILITY,
        report=ReportStatus(report) if report else None,
    )
