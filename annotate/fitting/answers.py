"""Reads what was shown and said into arrays, column by column; what machines answered has the same form."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import FilteredRelation, Q
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.labelling.asked_tasks import AskedTask, is_mixed, tasks_of
from annotate.labelling.outcomes import INFORMATIVE
from annotate.labelling.task_types.registry import BY_OUTCOME, is_ordered
from annotate.models import AskedBy, Label, PresentedItem

Ints = NDArray[np.int64]
Decoder = Callable[[Iterable[Any]], Iterable[int]]  # from what a column holds to numbers

LABEL = "presentation__label__"
SHOWN = "presentation__presented"
# How an answer says its ranks: by the item chosen, if any; by digits; by digits where equal ones share a place.
KINDS: dict[str, int] = {
    outcome: is_ordered(outcome) + BY_OUTCOME[outcome].may_share if outcome in BY_OUTCOME else 0
    for outcome in INFORMATIVE
}
WEAK = 2
GRADES: dict[str, int] = {
    grade: number for number, grade in enumerate((Label.Grade.SLIGHTLY, Label.Grade.CLEARLY), start=1)
}
RULES: dict[str, int] = {AskedBy.CONTROL: 1, AskedBy.ADAPTIVE: 2}
NOTHING: Ints = np.zeros(0, dtype=np.int64)
ROWS_AT_A_TIME = 500  # turned into columns; forty times as many leave the processor's cache before: 1.6 times the time


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers in their order. items (n_shown,): those shown, in the order shown; all others (n_answers,).

    sizes: how many items were shown.   annotators, chosen: primary keys; chosen is 0 where no item was.   ranks: the
    digits of Label.ranks as a number.   grades, rules, kinds: numbers of GRADES, of RULES, by which the question was
    chosen, and of KINDS.   These four are 0 where nothing was said, and where the project's kinds of task don't ask.
    """

    items: Ints
    sizes: Ints
    annotators: Ints
    chosen: Ints
    ranks: Ints
    grades: Ints
    rules: Ints
    kinds: Ints

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> Ints:
        """Return where the items of each answer begin, (n_answers,)."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def rows(self) -> Ints:
        """Return the answer that each item shown belongs to, (n_shown,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def select(self, kept: NDArray[np.bool_]) -> "Answers":
        """Return some of the answers. kept (n_answers,)."""
        others = {field.name: getattr(self, field.name)[kept] for field in fields(self) if field.name != "items"}
        return Answers(self.items[kept[self.rows]], **others)

    @classmethod
    def concatenate(cls, parts: Sequence["Answers"]) -> "Answers":
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def read_answers(
    criterion: Criterion,
    *,
    about: Collection[int] | None = None,
    after: int | None = None,
    up_to: int | None = None,
) -> Answers:
    """Return the answers that count by this criterion, in the order of the labels. One query, a row for each.

    about: only answers about at least one of these items, by primary key.   after, up_to: keys of labels, between which
    all are read.
    """
    tasks = tasks_of(criterion.project)
    shown = [f"shown_{place}" for place in range(max(task.k for task in tasks))]
    decoders = decoders_for(criterion, tasks)
    prefix = answer_path(criterion, "")
    paths = {"annotators": "annotator_id", "rules": "presentation__asked_by"} | {
        name: prefix + column
        for name, column in {"chosen": "chosen_id", "ranks": "ranks", "grades": "grade", "kinds": "outcome"}.items()
    }
    with_one = PresentedItem.objects.filter(item__in=about or ()).values("presentation")
    rows = (
        Label.objects.filter(project=criterion.project, **counted_label_filter(criterion, ""))
        .filter(Q() if about is None else Q(presentation__in=with_one))
        .filter(**({} if after is None else {"pk__gt": after}))
        .filter(**({} if up_to is None else {"pk__lte": up_to}))
        .annotate(**{name: at_place(place) for place, name in enumerate(shown)})
        .order_by("pk")
        .values_list(*(f"{name}__item_id" for name in shown), *(paths[name] for name in decoders))
    )
    return in_columns(rows.iterator(ROWS_AT_A_TIME), len(shown), decoders)


def at_place(place: int) -> FilteredRelation:
    """Return the way from a label to the item shown at this place."""
    return FilteredRelation(SHOWN, condition=Q(**{f"{SHOWN}__position": place}))


def decoders_for(criterion: Criterion, tasks: Sequence[AskedTask]) -> dict[str, Decoder]:
    """Return how to read the columns of Answers that say anything where these kinds of task are asked."""
    found: dict[str, Decoder] = {"annotators": iter, "chosen": number_or_0, "rules": numbers_by(RULES)}
    if any(task.type.is_ordered for task in tasks):
        found["ranks"] = lambda column: (int(digits or 0) for digits in column)
    if any(task.type.is_graded for task in tasks):
        found["grades"] = numbers_by(GRADES)
    if is_mixed(criterion.project):
        found["kinds"] = numbers_by(KINDS)
    return found


def number_or_0(column: Iterable[int | None]) -> Iterable[int]:
    return [number or 0 for number in column]


def numbers_by(codes: Mapping[str, int]) -> Decoder:
    """Return what reads a column of words as their numbers, 0 for others."""
    return lambda column: [codes.get(word, 0) for word in column]


def in_columns(rows: Iterable[Sequence[Any]], width: int, decoders: Mapping[str, Decoder]) -> Answers:
    """Return rows as Answers. A row has the items shown, None after the last of at most `width`, then a value for each
    of the decoders."""
    left = iter(rows)
    decode_place: Decoder = number_or_0 if "kinds" in decoders else tuple  # answers of one kind are of one size
    pieces: dict[str, list[Ints]] = {name: [NOTHING] for name in ("items", "sizes", *decoders)}
    while some := list(islice(left, ROWS_AT_A_TIME)):
        columns = list(zip(*some, strict=True))
        places: Ints = np.array([decode_place(column) for column in columns[:width]], dtype=np.int64).T
        pieces["items"].append(places[places > 0])
        pieces["sizes"].append(np.count_nonzero(places, axis=1))
        for (name, decode), column in zip(decoders.items(), columns[width:], strict=True):
            pieces[name].append(np.fromiter(decode(column), dtype=np.int64, count=len(some)))
    found = {name: np.concatenate(pieces.pop(name)) for name in list(pieces)}
    not_asked = np.zeros(len(found["sizes"]), dtype=np.int64)
    return Answers(**{field.name: found.get(field.name, not_asked) for field in fields(Answers)})


def answer_path(criterion: Criterion, label: str = LABEL) -> str:
    """Return the way from a label to the answer by this criterion. label: the way there, by default from a
    PresentedItem."""
    return label if criterion.number == 1 else f"{label}further__"


def counted_label_filter(criterion: Criterion, label: str = LABEL) -> dict[str, Any]:
    """Return what filters labels to those that say something by this criterion. label: the way there, by default from a
    PresentedItem."""
    answer = answer_path(criterion, label)
    return {
        f"{label}voided_at": None,
        f"{answer}outcome__in": INFORMATIVE,
        "presentation__purpose__in": criterion.project.counted_purposes,
        **({} if answer == label else {f"{answer}criterion": criterion.number}),
    }
