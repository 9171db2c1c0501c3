"""Machines that judge, for tests."""

from collections.abc import Callable, Iterable
from itertools import combinations

from annotate.annotators.machines.actions import NewAnswer, add_machine, store_answers
from annotate.criteria import Criterion
from annotate.models import Item, Machine, Membership, Project
from tests.conftest import NOW


def make_machine(project: Project, name: str = "Judge", **values) -> Machine:
    owner = Membership.objects.get(project=project, role="owner").user
    told = {"program": "a model", "version": "1", "prompt": "Which is better?", **values}
    return add_machine(project=project, actor=owner, name=name, now=NOW, **told)


def let_judge(
    machine: Machine,
    chooses: Callable[[Item, Item], Item | None],
    pairs: Iterable[tuple[Item, Item]] | None = None,
) -> int:
    """Let it answer each pair, by default of all items, in both orders; None is a tie."""
    project = machine.annotator.project
    found = pairs or combinations(project.items.order_by("pk"), 2)
    shown = [order for one in found for order in (one, one[::-1])]
    rows = [NewAnswer((a.pk, b.pk), chosen.pk if (chosen := chooses(a, b)) else None) for a, b in shown]
    return store_answers(machine=machine, criterion=Criterion(project), rows=rows, now=NOW)
