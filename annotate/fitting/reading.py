"""Reads labels and items into arrays, in one query each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from django.db.models import Exists, Max, OuterRef, Q
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.answers import RULES, WEAK, Answers, Ints, counted_label_filter, read_answers
from annotate.fitting.comparisons import to_comparisons, to_mixed
from annotate.fitting.features import annotator_features, item_features
from annotate.fitting.machines import counts_machines, machine_answers
from annotate.labelling.asked_tasks import is_mixed, tasks_of
from annotate.models import AskedBy, Item, Label, MachineSet, PresentedItem, Project
from models_engine.analysis.machine_weights import machine_weights
from models_engine.data import Comparisons

Floats = NDArray[np.float64]


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
    answers = read_answers(criterion, up_to=up_to)
    n_people = len(np.unique(answers.annotators))
    if with_machines:
        answers = Answers.concatenate([answers, machine_answers(criterion)])
    item_ids, retired = read_items(criterion, with_machines)
    if not len(item_ids):
        return None
    annotator_ids, annotators = number_by_first_use(answers.annotators)
    is_graded = any(task.type.is_graded for task in tasks_of(project))
    data = comparisons_in(
        project,
        answers,
        item_ids,
        annotators=annotators,
        n_items=len(item_ids),
        n_annotators=len(annotator_ids),
        item_features=item_features(project, item_ids),
        annotator_features=annotator_features(project, annotator_ids),
        **({"grades": answers.grades} if is_graded else {}),
    )
    shares: Floats = np.zeros(0)
    if with_machines:
        weights, shares = machine_weights(data, n_people)
        data = data.with_weights(weights)
    return Labels(item_ids, ~retired, annotator_ids, data, n_people, shares, answers.rules)


def newer_answers(criterion: Criterion, last_label: int, item_ids: Ints, parts: Ints) -> Comparisons:
    """Return the labels of people that came after this one, over the items item_ids (n_items,), ascending; whose they
    are and how much better an item is are left out.

    parts (n_items,): only labels about items of one part are returned; those of part -1 have none.
    """
    answers = read_answers(criterion, after=last_label)
    if len(answers) and len(item_ids):
        places = np.minimum(np.searchsorted(item_ids, answers.items), len(item_ids) - 1)
        part = np.where(item_ids[places] == answers.items, parts[places], -1)
        apart = (part < 0) | (part != part[answers.starts][answers.rows])
        answers = answers.select(np.bincount(answers.rows, apart) == 0)
    annotators = np.zeros(len(answers), dtype=np.int64)
    return comparisons_in(
        criterion.project, answers, item_ids, annotators=annotators, n_items=len(item_ids), n_annotators=1
    )


def last_label_of(project: Project) -> int:
    """Return the key of the project's last label, 0 where it has none."""
    return Label.objects.filter(project=project).aggregate(last=Max("pk"))["last"] or 0


def comparisons_in(project: Project, answers: Answers, item_ids: Ints, **counts: Any) -> Comparisons:
    """Return answers as the engine takes them. item_ids (n_items,): ascending.   counts: as for to_comparisons."""
    items = np.searchsorted(item_ids, answers.items)
    if not is_mixed(project):
        chosen = np.where(answers.chosen == 0, -1, np.searchsorted(item_ids, answers.chosen))
        return to_comparisons(project, items.reshape(-1, project.k), chosen, answers.ranks, **counts)
    starts, sizes, rows = answers.starts, answers.sizes, answers.rows
    places_left = starts[rows] + sizes[rows] - 1 - np.arange(len(items))
    digits = answers.ranks[rows] // 10**places_left % 10
    chosen = answers.chosen[rows]
    ranks = np.where(answers.kinds[rows] == 0, (chosen != 0) & (chosen != answers.items), digits)
    sharing = [task.k for task in tasks_of(project) if task.type.may_share and task.shared_places]
    shared = np.maximum.reduceat(ranks, starts) < sizes - 1 if len(starts) else starts > 0
    weak = (answers.kinds == WEAK) & (shared | np.isin(sizes, sharing))  # could have shared a place, if it did not
    return to_mixed(items, starts, ranks, weak, **counts)


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
