"""Every task type, by its name in Project.task_type and by the outcome of its answers."""

from annotate.labelling.task_types.base import TaskType
from annotate.labelling.task_types.best import Best
from annotate.labelling.task_types.best_worst import BestWorst
from annotate.labelling.task_types.graded import Graded
from annotate.labelling.task_types.pair import Pair
from annotate.labelling.task_types.ranking import Ranking
from annotate.labelling.task_types.top import Top
from annotate.models import Label, Project

TASK_TYPES: dict[str, TaskType] = {
    str(one.name): one for one in (Pair(), Graded(), Best(), BestWorst(), Ranking(), Top())
}
# Of several task types with the same outcome the one that shows more than two items.
BY_OUTCOME: dict[str, TaskType] = {str(one.outcome): one for one in TASK_TYPES.values()}


def task_type_of(project: Project) -> TaskType:
    return TASK_TYPES[project.task_type]


def ordered_task_type(outcome: str) -> TaskType | None:
    """Return the task type whose answers are orders with this outcome; None where an outcome orders nothing."""
    found = BY_OUTCOME.get(outcome)
    return found if found and found.is_ordered else None


def is_ordered(outcome: str) -> bool:
    return ordered_task_type(outcome) is not None


MAIN_OUTCOMES = tuple(Label.Outcome(outcome) for outcome in BY_OUTCOME)
