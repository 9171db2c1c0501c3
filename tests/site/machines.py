"""Machines that judge, for tests."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from annotate.annotators.machines.actions import add_machine, store_answers
from annotate.annotators.machines.answers import GivenAnswer, read_answer
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

    def answer(*shown: Item) -> GivenAnswer:
        chosen = chooses(*shown)
        return GivenAnswer(None if chosen is None else shown.index(chosen))

    found = pairs or combinations(machine.annotator.project.items.order_by("pk"), 2)
    return let_judge_sets(machine, answer, found)


def let_judge_sets(
    machine: Machine, answers: Callable[..., GivenAnswer], sets: Iterable[Sequence[Item]], criterion: int = 1
) -> int:
    """Let it answer each set as it stands and backwards; answers: called with the items in the order shown."""
    project = Project.objects.get(pk=machine.annotator.project_id)
    shown = [order for one in sets for order in (tuple(one), tuple(one)[::-1])]
    rows = [read_answer(project, tuple(item.pk for item in order), answers(*order)) for order in shown]
    return store_answers(machine=machine, criterion=Criterion(project, criterion), rows=rows, now=NOW)
