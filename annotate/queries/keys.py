"""What a key of the task page may be chosen for."""

from django.utils.translation import gettext as _

from annotate.models import Label, Project
from annotate.orders import ASKED, LETTERS
from annotate.queries.labelling import others_of, scale

Outcome = Label.Outcome


def key_actions(project: Project) -> dict[str, str]:
    """What a key may be chosen for in this project: the names of annotate.keys, in words."""
    others = others_of(project)
    if project.task_type == Project.TaskType.GRADED:
        actions = {step.place: step.words for step in scale(others)}
        others = [other for other in others if other.value != Outcome.TIE]
    else:
        pressing = {Outcome.CHOICE: _("Choose %(letter)s"), Outcome.BEST_WORST: _("Mark %(letter)s")}
        words = pressing.get(ASKED[Project.TaskType(project.task_type)], _("Rank %(letter)s next"))
        actions = {str(place): words % {"letter": LETTERS[place - 1]} for place in range(1, project.k + 1)}
    actions |= {other.value: other.words for other in others}
    return actions | {"undo": _("Undo the last answer"), "help": _("Open the help")}
