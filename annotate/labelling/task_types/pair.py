"""Better of two: one press is an answer."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.labelling.task_types.base import TaskType
from annotate.models import Project


class Pair(TaskType):
    name = Project.TaskType.PAIR
    design = "pairs"
    help_text = gettext_lazy("Two at a time, one press for each answer. The usual choice.")
    n_items = (2, 2)
    bar_template = "labelling/task_types/choose_bar.html"
    key_help_template = "labelling/task_types/keys_of_pair.html"
    is_swiped = True

    def report_text(self, project: Project) -> str:
        return _("saw two items at a time and chose one")
