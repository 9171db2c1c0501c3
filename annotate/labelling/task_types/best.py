"""Best of several: one press below an item is an answer."""

from django.utils.translation import gettext_lazy

from annotate.labelling.task_types.base import TaskType
from annotate.labelling.task_types.pair import Pair
from annotate.models import Project


class Best(TaskType):
    name = Project.TaskType.BEST
    help_text = gettext_lazy("One press chooses the best of up to ten. Quick, but it says little about the others.")
    item_template = "labelling/choose_button.html"

    def on_page(self, k: int) -> TaskType:
        return Pair() if k == 2 else self
