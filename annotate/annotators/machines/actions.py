"""Writes machines: added, excluded, removed; what they answered; whether it counts; requests of a report."""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext as _

from annotate.annotators.machines.answers import NewAnswer
from annotate.annotators.machines.sets import digits
from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion
from annotate.jobs.fit_requests import request_fit
from annotate.labelling.item_sets import items_of_key, set_key
from annotate.locks import advisory_lock, check_items_there, lock_project
from annotate.models import (
    MAX_MACHINES,
    Annotator,
    EventVerb,
    Item,
    Machine,
    MachineAnswer,
    MachineReport,
    MachineSet,
    Project,
    User,
)
from annotate.participation.joining.pseudonyms import is_taken, normalize_name
from annotate.projects.actions import change_project

Status = MachineReport.Status


class MachineNameTaken(UserError):
    def __init__(self, name: str) -> None:
        super().__init__(
            _("Somebody in this project is already called “%(name)s”. Choose another name.") % {"name": name}
        )


class TooManyMachines(UserError):
    def __init__(self) -> None:
        super().__init__(
            _("There are %(limit)d machines already, which is the limit. Remove one first.") % {"limit": MAX_MACHINES}
        )


class MachineExcluded(UserError):
    def __init__(self, name: str) -> None:
        super().__init__(_("The machine “%(name)s” is excluded. Readmit it before it answers.") % {"name": name})


class NoMachineAnswers(UserError):
    def __init__(self) -> None:
        super().__init__(_("No machine has answered yet. Ask for a report once one has."))


def add_machine(
    *,
    project: Project,
    actor: User,
    name: str,
    program: str,
    version: str = "",
    prompt: str = "",
    prompt_hash: str = "",
    price: Decimal | None = None,
    currency: str = "",
    now: datetime,
) -> Machine:
    """Raise MachineNameTaken and TooManyMachines. prompt_hash: of a prompt that is not told."""
    name = normalize_name(name)
    if prompt:
        prompt_hash = sha256(prompt.encode()).hexdigest()
    with write_transaction():
        project = lock_project(project.pk)
        if is_taken(project, name):
            raise MachineNameTaken(name)
        if machines_of(project).count() >= MAX_MACHINES:
            raise TooManyMachines
        annotator = Annotator.everyone.create(
            project=project, pseudonym=name, source=Annotator.Source.MACHINE, joined_at=now
        )
        values = {"program": program, "version": version, "prompt": prompt, "prompt_hash": prompt_hash}
        machine = Machine.objects.create(annotator=annotator, price=price, currency=currency, **values)
        record_event(project, actor, EventVerb.MACHINE_ADDED, now, annotator=annotator, program=str(machine))
    return machine


def machines_of(project: Project) -> Any:
    return Machine.objects.filter(annotator__project=project).select_related("annotator")


def store_answers(*, machine: Machine, criterion: Criterion, rows: Sequence[NewAnswer], now: datetime) -> int:
    """Store what is new among these and return how many that is: the first answer to a set in an order stays.

    Raises MachineExcluded and ItemsDeleted.
    """
    with write_transaction():
        advisory_lock(machine.annotator.project_id, shared=True)
        project = Project.objects.get(pk=machine.annotator.project_id)
        annotator = Annotator.everyone.get(pk=machine.pk)
        if annotator.excluded_at:
            raise MachineExcluded(annotator.pseudonym)
        check_items_there(project, {item for row in rows for item in row.items})
        sets = store_sets(project, {set_key(row.items) for row in rows})
        answers = MachineAnswer.objects.filter(machine=machine)
        before = answers.count()
        MachineAnswer.objects.bulk_create(
            [new_answer(machine, criterion, row, sets[set_key(row.items)], now) for row in rows],
            ignore_conflicts=True,
            batch_size=200,
        )
        n_new = int(answers.count() - before)
        if n_new and project.count_machines:
            request_fit(project)
    return n_new


def store_sets(project: Project, keys: Collection[str]) -> dict[str, int]:
    """Return the row of each set by its key, new ones included."""
    rows = MachineSet.objects.filter(project=project, key__in=keys)
    known = set(rows.values_list("key", flat=True))
    new = [MachineSet(project=project, key=key) for key in sorted(set(keys) - known)]
    MachineSet.objects.bulk_create(new, ignore_conflicts=True)
    found = dict(rows.values_list("key", "pk"))
    links = MachineSet.items.through
    links.objects.bulk_create(
        (links(machineset_id=found[one.key], item_id=item) for one in new for item in items_of_key(one.key)),
        ignore_conflicts=True,
    )
    return found


def new_answer(machine: Machine, criterion: Criterion, row: NewAnswer, item_set: int, now: datetime) -> MachineAnswer:
    place = {item: at for at, item in enumerate(sorted(row.items))}
    return MachineAnswer(
        machine=machine,
        criterion=criterion.number,
        item_set_id=item_set,
        shown=digits(place[item] for item in row.items),
        task=row.task,
        outcome=row.outcome,
        chosen_id=row.chosen,
        ranks=row.ranks,
        grade=row.grade,
        prompt_version=row.prompt_version,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        cost=machine.price if row.cost is None else row.cost,
        seconds=row.seconds,
        created_at=now,
    )


def item_ids(project: Project, keys: Collection[str]) -> dict[str, int]:
    return dict(Item.objects.filter(project=project, key__in=keys).values_list("key", "pk"))


def set_counting(*, project: Project, actor: User, on: bool, now: datetime) -> bool:
    """Switch on or off that the ranking counts what machines answered; False where it was so before."""
    return bool(change_project(project=project, actor=actor, values={"count_machines": on}, now=now))


def set_excluded(*, machine: Machine, actor: User, on: bool, now: datetime) -> bool:
    """Exclude a machine, whose answers stay and count nowhere, or readmit it; False where it was so before."""
    with write_transaction():
        project = lock_project(machine.annotator.project_id)
        rows = Annotator.everyone.filter(pk=machine.pk, excluded_at__isnull=on)
        if not rows.update(excluded_at=now if on else None):
            return False
        verb = EventVerb.MACHINE_EXCLUDED if on else EventVerb.MACHINE_READMITTED
        record_event(project, actor, verb, now, annotator=machine.annotator)
        if project.count_machines:
            request_fit(project)
    return True


def remove_machine(*, machine: Machine, actor: User, now: datetime) -> int:
    """Delete a machine with its answers; how many these were. Removed already, there are none."""
    with write_transaction():
        project = lock_project(machine.annotator.project_id)
        if not Machine.objects.filter(pk=machine.pk).exists():
            return 0
        n = MachineAnswer.objects.filter(machine=machine).count()
        name = machine.annotator.pseudonym
        MachineAnswer.objects.filter(machine=machine).delete()
        MachineSet.objects.filter(project=project, answers=None).delete()
        Annotator.everyone.filter(pk=machine.pk).delete()
        record_event(project, actor, EventVerb.MACHINE_REMOVED, now, name=name, answers=n)
        if n and project.count_machines:
            request_fit(project)
    return n


def request_report(*, criterion: Criterion, actor: User, now: datetime) -> MachineReport:
    """Request the report on machines by this criterion, again where there is one. Raises NoMachineAnswers."""
    project = criterion.project
    with write_transaction():
        lock_project(project.pk)
        answers = MachineAnswer.objects.filter(machine__annotator__project=project, criterion=criterion.number)
        if not answers.exists():
            raise NoMachineAnswers
        row, is_new = MachineReport.objects.get_or_create(
            project=project, criterion=criterion.number, defaults={"asked_by": actor, "asked_at": now}
        )
        if not is_new and row.status in (Status.READY, Status.FAILED):
            asked = {"status": Status.ASKED, "asked_by": actor, "asked_at": now, "attempts": 0, "message": ""}
            MachineReport.objects.filter(pk=row.pk).update(**asked)
        record_event(project, actor, EventVerb.MACHINES_REPORTED, now)
    row.refresh_from_db()
    return row
