"""Ranking of several: all the items shown, in order."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.core.errors import InvalidAnswer
from annotate.labelling.task_types.base import Order, Outcome, T, TaskType, ranks_by_place, shared_in
from annotate.models import Project


class Ranking(TaskType):
    name = Project.TaskType.RANKING
    design = "rankings"
    outcome = Outcome.RANKING
    help_text = gettext_lazy(
        "Put the whole set in order, best first, by tapping, keys or dragging. Each task gives the most information."
    )
    options_template = "labelling/ranking.html"
    bar_template = "labelling/task_types/done_bar.html"
    key_help_template = "labelling/task_types/keys_of_ranking.html"
    item_has_key = True
    scrolls_together = False
    engine_layout = "rankings"
    export_columns = ("top",)
    is_strict = True
    may_share = True

    def n_ranked(self, project: Project) -> int:
        return project.k

    def report_text(self, project: Project) -> str:
        if self.shares_places(project):
            words = _("saw %(k)d items at a time and put them in order, where several items could share a place")
            return words % {"k": project.k}
        return _("saw %(k)d items at a time and put them in order") % {"k": project.k}

    def usual_instruction(self, project: Project) -> str:
        if project.best_words:
            values = {"n": self.n_ranked(project), "best": project.best_words}
            return _("Put all %(n)d in order, “%(best)s” first.") % values
        return _("Put all %(n)d in order, best first.") % {"n": self.n_ranked(project)}

    def instruction(self, project: Project) -> str:
        """Return the line above the items; that places may be shared is said below the owner's own line, too."""
        line = super().instruction(project)
        if not self.shares_places(project):
            return line
        return f"{line} {_('Items that are equal may share a place.')}"

    def key_text(self) -> str:
        return _("Rank %(letter)s next")

    def key_help(self, project: Project) -> str:
        return _("Give A, B and so on the next place; press again to remove it")

    def describe(self, letters: Sequence[str], project: Project) -> str:
        return _("you ranked %(letters)s") % {"letters": ", ".join(letters)}

    def parse_order(self, data: Mapping[str, str], project: Project) -> Order:
        """Raise InvalidAnswer where a rank is given twice or left out before a lower one, unless places are shared."""
        ranks = ranks_by_place(data)
        order = sorted(ranks, key=lambda place: ranks[place])
        if self.shares_places(project):
            return Order(tuple(order), shared_in([ranks[place] for place in order]))
        for expected, place in enumerate(order, start=1):
            if ranks[place] < expected:
                raise InvalidAnswer(_("Two items have place %(n)d. Give each place to one item.") % {"n": ranks[place]})
            if ranks[place] > expected:
                raise InvalidAnswer(_("No item has place %(n)d. Give it to one of them.") % {"n": expected})
        return Order(tuple(order))

    def decode_ranks(self, ranks: str) -> list[int]:
        return sorted(range(len(ranks)), key=lambda place: ranks[place])

    def decode_shared(self, ranks: str) -> tuple[int, ...]:
        return shared_in(sorted(ranks))

    def order_in_groups(self, groups: Sequence[Sequence[T]], *, with_rest: bool) -> tuple[T, ...]:
        return tuple(item for group in groups for item in group)

    def answer_from_order(self, groups: Sequence[Sequence[T]], project: Project) -> list[T] | None:
        is_strict = all(len(group) == 1 for group in groups)
        return [item for group in groups for item in group] if is_strict or self.shares_places(project) else None

    def exported(self, groups: Sequence[Sequence[T]], project: Project) -> list[list[T]]:
        return [[group[0] for group in groups if len(group) == 1]]
