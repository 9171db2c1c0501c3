"""Ranking of the best few: some of the items shown, in order; the others are left."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.labelling.task_types.base import Outcome, T, TaskType
from annotate.labelling.task_types.ranking import Ranking
from annotate.models import MAX_ITEMS_SHOWN, Project


class Top(Ranking):
    name = Project.TaskType.TOP
    outcome = Outcome.TOP
    help_text = gettext_lazy("Put only the best few of each set in order.")
    n_items = (3, MAX_ITEMS_SHOWN)
    ranks_some = True
    engine_layout = "top"
    is_strict = False
    may_share = False

    def n_ranked(self, project: Project) -> int:
        return project.m or 0

    def report_text(self, project: Project) -> str:
        values = {"k": project.k, "m": self.n_ranked(project)}
        return _("saw %(k)d items at a time and put the best %(m)d in order") % values

    def usual_instruction(self, project: Project) -> str:
        if project.best_words:
            values = {"n": self.n_ranked(project), "best": project.best_words}
            return _("Rank %(n)d, “%(best)s” first, and leave the others.") % values
        return _("Rank the best %(n)d, best first, and leave the others.") % {"n": self.n_ranked(project)}

    def decode_ranks(self, ranks: str) -> list[int]:
        return TaskType.decode_ranks(self, ranks)

    def decode_shared(self, ranks: str) -> tuple[int, ...]:
        return ()

    def order_in_groups(self, groups: Sequence[Sequence[T]], *, with_rest: bool) -> tuple[T, ...]:
        return super().order_in_groups(groups[:-1] if with_rest else groups, with_rest=False)

    def answer_from_order(self, groups: Sequence[Sequence[T]], project: Project) -> list[T] | None:
        m = self.n_ranked(project)
        if not m or len(groups) <= m or any(len(group) > 1 for group in groups[:m]):
            return None
        return [group[0] for group in groups[:m]]

    def exported(self, groups: Sequence[Sequence[T]], project: Project) -> list[list[T]]:
        return [super().exported(groups, project)[0][: self.n_ranked(project)]]
