"""Freezes a project's plan as its preregistration, and adds the reason of a deviation."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.conf import settings
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.locks import lock_project
from annotate.models import Deviation, EventVerb, Preregistration, Project, User
from annotate.plan_values import canonical, digest, plan_values

FORMAT = 1


class AlreadyFrozen(UserError):
    def __init__(self) -> None:
        super().__init__(_("The plan is frozen already. What you change now is listed as a deviation."))


class AlreadyExplained(UserError):
    def __init__(self) -> None:
        super().__init__(_("This deviation has its reason already, which stays as it is."))


def freeze_plan(*, project: Project, actor: User, statements: Mapping[str, str], now: datetime) -> Preregistration:
    """Freeze the plan as it stands. statements: texts of the owner, by name. Raises AlreadyFrozen."""
    with write_transaction():
        lock_project(project.pk)
        if Preregistration.objects.filter(project=project).exists():
            raise AlreadyFrozen
        values, n_labels = plan_values(project), project.labels.filter(voided_at=None).count()
        about = {
            "project": project.name,
            "project_id": str(project.pk),
            "frozen_at": now.astimezone(UTC).isoformat(),
            "n_labels": n_labels,
            "software": f"Crowdrank {settings.VERSION}",
        }
        text = canonical({"format": FORMAT, "about": about, "plan": values, "statements": dict(statements)})
        frozen = Preregistration.objects.create(
            project=project,
            document=text,
            digest=digest(text),
            current=values,
            n_labels=n_labels,
            at=now,
            actor=actor,
        )
        record_event(project, actor, EventVerb.PLAN_FROZEN, now, digest=frozen.digest)
    return frozen


def explain_deviation(*, deviation: Deviation, actor: User, reason: str, now: datetime) -> None:
    """Add the reason, once. Raises AlreadyExplained."""
    with write_transaction():
        if not Deviation.objects.filter(pk=deviation.pk, reason="").update(reason=reason):
            raise AlreadyExplained
        record_event(deviation.project, actor, EventVerb.DEVIATION_EXPLAINED, now, field=deviation.field)
