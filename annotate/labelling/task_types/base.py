"""Defines what every task type says of itself; the defaults are those of choosing one item."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from annotate.models import MAX_ITEMS_SHOWN, Label, Project
from models_engine.analysis.plan_design import Kind

Outcome = Label.Outcome
T = TypeVar("T")
PLACES = list("abcdefghijklmnopqrstuvwxyz")  # how a form names the items shown


class Order(NamedTuple):
    """What a form names. places: best first.   shared: which of them, from 0, share the place of the one before."""

    places: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()


class TaskType:
    """One task type. Places count from 0, in the order shown; an order names the best item first."""

    name: ClassVar[str]  # Project.TaskType
    outcome: ClassVar[Outcome] = Outcome.CHOICE
    is_graded: ClassVar[bool] = False  # a choice says how much better the item is
    # How the owner chooses it.
    help_text: ClassVar[Promise]
    n_items: ClassVar[tuple[int, int]] = (2, MAX_ITEMS_SHOWN)  # shown at a time, at least and at most
    may_share: ClassVar[bool] = False  # the owner says whether places may be shared (Project.shared_places)
    ranks_some: ClassVar[bool] = False  # the owner says how many are ranked (Project.m)
    # The task page: how the items stand, what is below each of them, and the bar that sends the answer ("": none).
    options_template: ClassVar[str] = "labelling/task_types/grid.html"
    item_template: ClassVar[str] = ""
    bar_template: ClassVar[str] = ""
    key_help_template: ClassVar[str] = "labelling/task_types/keys_by_item.html"
    item_has_key: ClassVar[bool] = False  # the key is shown beside the item's letter, and its card is what it presses
    is_swiped: ClassVar[bool] = False
    scrolls_together: ClassVar[bool] = True
    # The engine, its planner, the export of comparisons and other formats.
    design: ClassVar[Kind] = "choices"
    engine_layout: ClassVar[str] = "choices"  # a key of fitting.comparisons.LAYOUTS
    export_columns: ClassVar[tuple[str, ...]] = ("chosen",)  # columns of publishing.exports.comparisons
    names_last: ClassVar[bool] = False  # an answer names the worst of the items shown
    is_strict: ClassVar[bool] = False  # every answer tells all the items shown apart

    @property
    def title(self) -> str:
        return str(Project.TaskType(self.name).label)

    @property
    def is_fixed_size(self) -> bool:
        return self.n_items[0] == self.n_items[1]

    @property
    def is_ordered(self) -> bool:
        """Return whether an answer names items in order, instead of one item."""
        return self.outcome != Outcome.CHOICE

    def n_ranked(self, project: Project) -> int:
        """Return how many items an answer names."""
        return 1

    def shares_places(self, project: Project) -> bool:
        """Return whether an answer may give several items the same place: then they are tied."""
        return self.may_share and project.shared_places

    def tells_all_apart(self, project: Project) -> bool:
        """Return whether every answer tells all the items shown apart."""
        return self.is_strict and not self.shares_places(project)

    def on_page(self, k: int) -> "TaskType":
        """Return the task type whose page is shown for k items."""
        return self

    # --- Words ---

    def report_text(self, project: Project) -> str:
        """Return what people did, for the report: the end of a sentence about them."""
        return _("saw %(k)d items at a time and chose the best") % {"k": project.k}

    def instruction(self, project: Project) -> str:
        """Return the line above the items; empty where the buttons say it."""
        return project.instruction_line or self.usual_instruction(project)

    def usual_instruction(self, project: Project) -> str:
        return ""

    def key_text(self) -> str:
        """Return what the key of an item does, with `letter` to fill in."""
        return _("Choose %(letter)s")

    def key_help(self, project: Project) -> str:
        return _("Choose A, B and so on")

    def describe(self, letters: Sequence[str], project: Project) -> str:
        """Return what was answered, told to whom answered it."""
        return _("you chose %(letter)s") % {"letter": letters[0]}

    def describe_right_answer(self, letters: Sequence[str], project: Project) -> str:
        """Describe it as in “the right answer is ...”."""
        return ", ".join(letters)

    def marks(self, project: Project) -> list[tuple[str, str]]:
        """Return the marks that an answer gives, each to one item: name in the form, and words; of most tasks none."""
        return []

    # --- Answers ---

    def parse_order(self, data: Mapping[str, str], project: Project) -> Order:
        """Return the places that a form names, in order. Raises InvalidAnswer."""
        return Order()

    def encode_ranks(self, order: Sequence[int], k: int, shared: Sequence[int] = ()) -> str:
        """Encode Label.ranks: the rank of each of k items, one digit each; those not named share the last."""
        ranks = [len(order)] * k
        rank = -1
        for index, place in enumerate(order):
            rank += index not in shared
            ranks[place] = rank
        return "".join(map(str, ranks))

    def decode_ranks(self, ranks: str) -> list[int]:
        """Return the places that the answer named, in order; undoes encode_ranks."""
        places = sorted(range(len(ranks)), key=lambda place: ranks[place])
        return places[: int(max(ranks))]

    def decode_shared(self, ranks: str) -> tuple[int, ...]:
        """Return which of the places that the answer named, from 0, share the rank of the one before."""
        return ()

    def order_in_groups(self, groups: Sequence[Sequence[T]], *, with_rest: bool) -> tuple[T, ...]:
        """Return what an imported answer names. groups: best first; with_rest: the items left behind are the last
        group."""
        return (groups[0][0],)

    def answer_from_order(self, groups: Sequence[Sequence[T]], project: Project) -> list[T] | None:
        """Return what somebody names who holds the items in this order; None where the order does not say it."""
        return [groups[0][0]] if len(groups[0]) == 1 else None

    def exported(self, groups: Sequence[Sequence[T]], project: Project) -> list[list[T]]:
        """Return the items for each of export_columns. groups: those shown, best first."""
        return [[groups[0][0]]]

    def simulate(self, best_first: Sequence[int], project: Project) -> list[int]:
        """Return the places that a simulated person names who holds the items in this order."""
        return list(best_first[: self.n_ranked(project)])


def ranks_by_place(data: Mapping[str, str]) -> dict[int, int]:
    """Return the ranks from 1 that a form gives in `rank_a`, `rank_b`, ..."""
    given = {place: data.get(f"rank_{letter}", "") for place, letter in enumerate(PLACES[:MAX_ITEMS_SHOWN])}
    return {place: int(rank) for place, rank in given.items() if rank.isdecimal() and len(rank) < 4}


def shared_in(ranks: Sequence[object]) -> tuple[int, ...]:
    """Return which of these ranks, sorted, from 0, are equal to the one before."""
    return tuple(index for index in range(1, len(ranks)) if ranks[index] == ranks[index - 1])
