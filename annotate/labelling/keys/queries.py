"""What a key of the task page may be chosen for."""

from django.utils.translation import gettext as _

from annotate.labelling.answer_options import extra_answers, grade_steps
from annotate.labelling.asked_tasks import tasks_now
from annotate.labelling.outcomes import LETTERS
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import Label, Project

Outcome = Label.Outcome


def key_actions(project: Project) -> dict[str, str]:
    """Return what a key may be chosen for in this project: the names of labelling.keys.bindings, in words."""
    others, task_type = extra_answers(project), task_type_of(project)
    if task_type.is_graded:
        actions = {step.place: step.words for step in grade_steps(project, others)}
        others = [other for other in others if other.value != Outcome.TIE]
    else:
        words, most = task_type.key_text(), max(task.k for task in tasks_now(project))
        actions = {str(place): words % {"letter": LETTERS[place - 1]} for place in range(1, most + 1)}
    actions |= {other.value: other.words for other in others}
    return actions | {"undo": _("Undo the last answer"), "help": _("Open the help")}
