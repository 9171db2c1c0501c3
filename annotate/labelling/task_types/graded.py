"""How much better of two: one press on a scale from A clearly to B clearly."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.labelling.task_types.pair import Pair
from annotate.models import Project


class Graded(Pair):
    name = Project.TaskType.GRADED
    help_text = gettext_lazy(
        "A clearly, A slightly, B slightly, B clearly. The ranking counts how much better an item is, where its "
        "estimator can; the others count which one is better."
    )
    is_graded = True
    bar_template = "labelling/grades.html"
    key_help_template = "labelling/task_types/keys_of_grades.html"
    is_swiped = False

    def report_text(self, project: Project) -> str:
        return _("saw two items at a time, chose one and said how much better it is")
