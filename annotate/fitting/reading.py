"""Reads labels and items into arrays, in one query each."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from django.db.models import Exists, Max, OuterRef, Q
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.comparisons import to_comparisons, to_mixed
from annotate.fitting.features import annotator_features, item_features
from annotate.fitting.machines import counts_machines, machine_rows
from annotate.labelling.asked_tasks import is_mixed, tasks_of
from annotate.labelling.outcomes import INFORMATIVE
from annotate.labelling.task_types.registry import BY_OUTCOME, is_ordered
from annotate.models import AskedBy, Item, Label, MachineSet, PresentedItem, Project
from models_engine.analysis.machine_weights import machine_weights
from models_engine.data import Comparisons

Ints = NDArray[np.int64]


Floats = NDArray[np.float64]


LABEL = "presentation__label__"
RULES = {AskedBy.CONTROL: 1, AskedBy.ADAPTIVE: 2}
# Columns of the table of answers (read_answers).
ITEM, ANNOTATOR, CHOSEN, RANKS, GRADE, RULE, POSITION, KIND = range(8)
# How an answer says its ranks: by the item chosen, if any; by digits; by digits where equal ones share a place.
KINDS: dict[str, int] = {
    outcome: is_ordered(outcome) + BY_OUTCOME[outcome].may_share if outcome in BY_OUTCOME else 0
    for outcome in INFORMATIVE
}
WEAK = 2
GRADES: dict[str, int] = {
    grade: number for number, grade in enumerate((Label.Grade.SLIGHTLY, Label.Grade.CLEARLY), start=1)
}


class Evidence(Protocol):
    """What a ranking is made of, as far as places ask for it: Comparisons, or CountCells."""

    @property
    def n_items(self) -> int: ...
    def n_comparisons(self) -> Ints: ...
    def connected_parts(self, ranked: NDArray[np.bool_] | None = None) -> Ints: ...


@dataclass(frozen=True, eq=False)
class RankedItems:
    """A project's evidence and its items.

    item_ids (n_items,): primary keys, ascending, of every item that is not retired or has evidence; ranked (n_items,):
    which are not retired.   annotator_ids (n_annotators,): by their first evidence.
    """

    item_ids: Ints
    ranked: NDArray[np.bool_]
    annotator_ids: Ints
    data: Evidence

    def parts(self) -> Ints:
        """Return (n_items,) number of the connected part; those with most items that are ranked come first."""
        return self.data.connected_parts(self.ranked)

    def ranked_parts(self) -> Iterator[tuple[int, Ints]]:
        """Yield (number, items ranked and compared) of each part that has any, the largest first."""
        kept = np.flatnonzero(self.ranked & (self.data.n_comparisons() > 0))
        parts = self.parts()[kept]
        order = np.argsort(parts, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(parts[order])) + 1):
            if len(places):
                yield int(parts[places[0]]), kept[places]


@dataclass(frozen=True, eq=False)
class Labels(RankedItems):
    """A project's unvoided labels that say something, in the order they were given.

    annotator_ids (n_annotators,): by their first label, so that newcomers come last; people first, n_people of them,
    then machines where these count.
    """

    data: Comparisons
    n_people: int
    machine_shares: Floats  # (n_machines,) how much of a person's comparison each machine's counts for
    rules: Ints  # (n_labels,) which rule chose its question: RULES, else 0

    @cached_property
    def of_people(self) -> Comparisons:
        """Return the labels without those of machines."""
        if self.n_people == len(self.annotator_ids):
            return self.data
        return self.data.subset(np.flatnonzero(self.data.annotators < self.n_people))

    @cached_property
    def fair(self) -> Comparisons:
        """Return the labels of people whose question was not chosen by the ranking so far: what depends on which items
        are compared, such as agreement, is computed on these."""
        if not self.n_adaptive:
            return self.of_people
        by_people = self.data.annotators < self.n_people
        return self.data.subset(np.flatnonzero(by_people & (self.rules != RULES[AskedBy.ADAPTIVE])))

    @cached_property
    def unchosen(self) -> Comparisons:
        """Return the labels of `fair`, and those of machines: what is counted of each annotator."""
        if not self.n_adaptive:
            return self.data
        return self.data.subset(np.flatnonzero(self.rules != RULES[AskedBy.ADAPTIVE]))

    @property
    def n_adaptive(self) -> int:
        return int(np.count_nonzero(self.rules == RULES[AskedBy.ADAPTIVE]))

    @property
    def n_machine_labels(self) -> int:
        return self.data.n_labels - self.of_people.n_labels


def read_labels(criterion: Criterion, *, machines: bool | None = None, up_to: int | None = None) -> Labels | None:
    """Return the labels in one query, the items in another; None for a project without items.

    Where there are several criteria, what the labels say by this one.   machines: whether what machines answered is
    among the labels, weighed by how far it agrees with people; None: as the project says.   up_to: the key of the last
    label that is read, None for all.
    """
    project = criterion.project
    with_machines = counts_machines(project) if machines is None else machines
    table = read_answers(criterion, up_to=up_to)
    n_people = len(np.unique(table[:, ANNOTATOR]))
    if with_machines:
        table = np.concatenate([table, machine_rows(criterion, KINDS, GRADES)])
    starts = np.flatnonzero(table[:, POSITION] == 0)
    item_ids, retired = read_items(criterion, with_machines)
    if not len(item_ids):
        return None
    first = table[starts]
    annotator_ids, annotators = number_by_first_use(first[:, ANNOTATOR])
    is_graded = any(task.type.is_graded for task in tasks_of(project))
    data = comparisons_in(
        project,
        table,
        item_ids,
        annotators=annotators,
        n_items=len(item_ids),
        n_annotators=len(annotator_ids),
        item_features=item_features(project, item_ids),
        annotator_features=annotator_features(project, annotator_ids),
        **({"grades": first[:, GRADE]} if is_graded else {}),
    )
    shares: Floats = np.zeros(0)
    if with_machines:
        weights, shares = machine_weights(data, n_people)
        data = data.with_weights(weights)
    return Labels(item_ids, ~retired, annotator_ids, data, n_people, shares, first[:, RULE])


def newer_answers(criterion: Criterion, last_label: int, item_ids: Ints, parts: Ints) -> Comparisons:
    """Return the labels of people that came after this one, over the items item_ids (n_items,), ascending; whose they
    are and how much better an item is are left out.

    parts (n_items,): only labels about items of one part are returned; those of part -1 have none.
    """
    table = read_answers(criterion, after=last_label)
    starts = np.flatnonzero(table[:, POSITION] == 0)
    if len(starts) and len(item_ids):
        places = np.minimum(np.searchsorted(item_ids, table[:, ITEM]), len(item_ids) - 1)
        part = np.where(item_ids[places] == table[:, ITEM], parts[places], -1)
        label = np.cumsum(table[:, POSITION] == 0) - 1
        apart = (part < 0) | (part != part[starts][label])
        table = table[(np.bincount(label, apart) == 0)[label]]
    n_labels = int(np.count_nonzero(table[:, POSITION] == 0))
    annotators = np.zeros(n_labels, dtype=np.int64)
    return comparisons_in(
        criterion.project, table, item_ids, annotators=annotators, n_items=len(item_ids), n_annotators=1
    )


def last_label_of(project: Project) -> int:
    """Return the key of the project's last label, 0 where it has none."""
    return Label.objects.filter(project=project).aggregate(last=Max("pk"))["last"] or 0


def read_answers(
    criterion: Criterion,
    *,
    about: Collection[int] | None = None,
    after: int | None = None,
    up_to: int | None = None,
) -> Ints:
    """Return (n_shown, 8) what was shown and said, in the order of the labels and of their items: the columns ITEM to
    KIND. One query.

    about: only answers about at least one of these items, by primary key.   after, up_to: keys of labels, between which
    all are read.
    """
    said = (answer_path(criterion) + name for name in ("chosen_id", "ranks", "grade", "outcome"))
    columns = ("item_id", "position", f"{LABEL}annotator_id", *said, "presentation__asked_by")
    with_one = PresentedItem.objects.filter(item__in=about or ()).values("presentation")
    asked = Q() if about is None else Q(presentation__in=with_one)
    rows = (
        PresentedItem.objects.filter(
            asked, presentation__label__project=criterion.project, **counted_label_filter(criterion)
        )
        .filter(**({} if after is None else {f"{LABEL}pk__gt": after}))
        .filter(**({} if up_to is None else {f"{LABEL}pk__lte": up_to}))
        .order_by("presentation__label__pk", "position")
        .values_list(*columns)
    )
    numbers = (
        (item, annotator, chosen or 0, int(ranks or 0), GRADES.get(grade, 0), RULES.get(rule, 0), position, KINDS[said])
        for item, position, annotator, chosen, ranks, grade, said, rule in rows.iterator(20_000)
    )
    return np.fromiter(numbers, dtype=np.dtype((np.int64, 8)))


def comparisons_in(project: Project, table: Ints, item_ids: Ints, **counts: Any) -> Comparisons:
    """Return the answers of a table (read_answers) as the engine takes them. counts: as for to_comparisons."""
    items = np.searchsorted(item_ids, table[:, ITEM])
    if not is_mixed(project):
        first = table[:: project.k]
        chosen = np.where(first[:, CHOSEN] == 0, -1, np.searchsorted(item_ids, first[:, CHOSEN]))
        return to_comparisons(project, items.reshape(-1, project.k), chosen, first[:, RANKS], **counts)
    starts = np.flatnonzero(table[:, POSITION] == 0)
    sizes = np.diff(np.append(starts, len(table)))
    digits = table[:, RANKS] // 10 ** (np.repeat(sizes, sizes) - 1 - table[:, POSITION]) % 10
    others = (table[:, CHOSEN] != 0) & (table[:, CHOSEN] != table[:, ITEM])
    ranks = np.where(table[:, KIND] == 0, others, digits)
    weak = (table[starts, KIND] == WEAK) & (
        np.maximum.reduceat(ranks, starts) < sizes - 1 if len(starts) else starts > 0
    )
    return to_mixed(items, starts, ranks, weak, **counts)


def answer_path(criterion: Criterion) -> str:
    """Return the way from a PresentedItem to the answer by this criterion."""
    return LABEL if criterion.number == 1 else f"{LABEL}further__"


def counted_label_filter(criterion: Criterion) -> dict[str, Any]:
    """Return what filters PresentedItem for labels that say something by this criterion."""
    answer = answer_path(criterion)
    return {
        f"{LABEL}voided_at": None,
        f"{answer}outcome__in": INFORMATIVE,
        "presentation__purpose__in": criterion.project.counted_purposes,
        **({} if answer == LABEL else {f"{answer}criterion": criterion.number}),
    }


def read_items(criterion: Criterion, machines: bool) -> tuple[Ints, NDArray[np.bool_]]:
    """Return (primary keys ascending, which are retired). Retired items with labels stay: those tell of other items
    too."""
    used = Q(Exists(PresentedItem.objects.filter(item=OuterRef("pk"), **counted_label_filter(criterion))))
    if machines:
        judged = {"item": OuterRef("pk"), "machineset__answers__criterion": criterion.number}
        used |= Q(Exists(MachineSet.items.through.objects.filter(**judged)))
    rows = Item.objects.filter(Q(retired_at=None) | used, project=criterion.project).order_by("pk")
    pairs = list(rows.values_list("pk", "retired_at"))
    ids = np.array([pk for pk, _ in pairs], dtype=np.int64)
    return ids, np.array([retired_at is not None for _, retired_at in pairs], dtype=bool)


def number_by_first_use(ids: Ints) -> tuple[Ints, Ints]:
    """Return (distinct ids by their first appearance, the number of each row's id among them)."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse.ravel()]
