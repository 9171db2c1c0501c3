"""Best and worst of several: two marks are an answer."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.labelling.task_types.base import PLACES, Order, Outcome, T, TaskType
from annotate.models import MAX_ITEMS_SHOWN, Project

BEST, MIDDLE, WORST = 0, 1, 2  # ranks
MARKS = ("best", "worst")  # names of the form's fields


class BestWorst(TaskType):
    name = Project.TaskType.BEST_WORST
    design = "best_worst"
    outcome = Outcome.BEST_WORST
    help_text = gettext_lazy("Two choices in each set: much information for little work.")
    n_items = (3, MAX_ITEMS_SHOWN)
    item_template = "labelling/marks.html"
    bar_template = "labelling/task_types/done_bar.html"
    item_has_key = True
    engine_layout = "best_worst"
    names_last = True
    export_columns = ("best", "worst")

    def n_ranked(self, project: Project) -> int:
        return 2

    def report_text(self, project: Project) -> str:
        return _("saw %(k)d items at a time and chose the best and the worst") % {"k": project.k}

    def usual_instruction(self, project: Project) -> str:
        if project.best_words:
            return _("Mark one as “%(best)s” and one as “%(worst)s”.") % ends_of(project)
        return _("Mark the best and the worst.")

    def key_text(self) -> str:
        return _("Mark %(letter)s")

    def key_help(self, project: Project) -> str:
        if project.best_words:
            words = _("Mark A, B and so on: first “%(best)s”, then “%(worst)s”; press again to remove the mark")
            return words % ends_of(project)
        return _("Mark A, B and so on: first the best, then the worst; press again to remove the mark")

    def describe(self, letters: Sequence[str], project: Project) -> str:
        values = {"a": letters[0], "b": letters[-1]}
        if project.best_words:
            return _("you marked %(a)s as “%(best)s”, %(b)s as “%(worst)s”") % {**values, **ends_of(project)}
        return _("you called %(best)s best, %(worst)s worst") % {"best": letters[0], "worst": letters[-1]}

    def describe_right_answer(self, letters: Sequence[str], project: Project) -> str:
        if project.best_words:
            return f"{project.best_words}: {letters[0]}, {project.worst_words}: {letters[-1]}"
        return _("best %(best)s, worst %(worst)s") % {"best": letters[0], "worst": letters[-1]}

    def marks(self, project: Project) -> list[tuple[str, str]]:
        return list(zip(MARKS, ends_of(project).values(), strict=True))

    def parse_order(self, data: Mapping[str, str], project: Project) -> Order:
        return Order(tuple(PLACES.index(data[name]) for name in MARKS if data.get(name) in PLACES))

    def encode_ranks(self, order: Sequence[int], k: int, shared: Sequence[int] = ()) -> str:
        ranks = [MIDDLE] * k
        for place, rank in zip(order, (BEST, WORST), strict=False):
            ranks[place] = rank
        return "".join(map(str, ranks))

    def decode_ranks(self, ranks: str) -> list[int]:
        places = sorted(range(len(ranks)), key=lambda place: ranks[place])
        return [places[0], places[-1]]

    def order_in_groups(self, groups: Sequence[Sequence[T]], *, with_rest: bool) -> tuple[T, ...]:
        return (groups[0][0], groups[-1][0])

    def answer_from_order(self, groups: Sequence[Sequence[T]], project: Project) -> list[T] | None:
        first, last = groups[0], groups[-1]
        return [first[0], last[0]] if len(first) == len(last) == 1 and len(groups) > 1 else None

    def exported(self, groups: Sequence[Sequence[T]], project: Project) -> list[list[T]]:
        return [[groups[0][0]], [groups[-1][0]]]

    def simulate(self, best_first: Sequence[int], project: Project) -> list[int]:
        return [best_first[0], best_first[-1]]


def ends_of(project: Project) -> dict[str, str]:
    """Return the words for both ends: the owner's, or the usual ones."""
    return {"best": project.best_words or _("Best"), "worst": project.worst_words or _("Worst")}
