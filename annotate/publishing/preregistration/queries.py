"""Reads a frozen plan and its deviations for pages, the API and exports."""

import json
from dataclasses import dataclass
from typing import Any

from annotate.audit_log.sentences import shown_value
from annotate.models import Deviation, Preregistration, Project
from annotate.plan_values import differences, name_of, plan_values
from annotate.publishing.preregistration.forms import FreezeForm


@dataclass(frozen=True)
class Line:
    """A value of the plan: its name in words, and the value as people read it."""

    name: str
    value: str


@dataclass(frozen=True)
class DeviationLine:
    """A deviation in words; `row` is None where a change was not logged and shows only when values are compared."""

    row: Deviation | None
    name: str
    before: str
    after: str


def preregistration_of(project: Project) -> Preregistration | None:
    return Preregistration.objects.filter(project=project).select_related("actor").first()


def lines_of(frozen: Preregistration) -> list[Line]:
    plan: dict[str, Any] = json.loads(frozen.document)["plan"]
    return [Line(name_of(name), shown_value(plan[name])) for name in frozen.current if name in plan]


def statements_of(frozen: Preregistration) -> list[Line]:
    statements: dict[str, str] = json.loads(frozen.document)["statements"]
    labels = {name: str(field.label) for name, field in FreezeForm.base_fields.items()}
    return [Line(labels.get(name, name), text) for name, text in statements.items() if text]


def planned_now(project: Project) -> list[Line]:
    """Return what freezing would fix."""
    return [Line(name_of(name), shown_value(value)) for name, value in plan_values(project).items()]


def deviations_of(project: Project, frozen: Preregistration | None) -> list[DeviationLine]:
    """Return the deviations in their order, those that no log entry holds last; [] where no plan is frozen."""
    if frozen is None:
        return []
    rows = Deviation.objects.filter(project=project).select_related("actor").order_by("at", "pk")
    found = [line(row, row.field, row.before, row.after) for row in rows]
    return found + [line(None, *one) for one in differences(frozen.current, plan_values(project))]


def line(row: Deviation | None, field: str, before: Any, after: Any) -> DeviationLine:
    return DeviationLine(row, name_of(field), shown_value(before), shown_value(after))
