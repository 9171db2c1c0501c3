"""Kinds of task that a project asks side by side, or asked before a change, and which kind a presentation is of.

Presentation.task is "" where the presentation asks what the project's own settings say. A change of those writes down
what it was; a further kind (Project.further_tasks) is written down as it is drawn.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.db.models import ExpressionWrapper, F, IntegerField, QuerySet, Value
from django.db.models.functions import Length, Replace
from django.utils.translation import gettext as _

from annotate.labelling.task_types.base import TaskType
from annotate.labelling.task_types.registry import TASK_TYPES
from annotate.models import ItemSet, Presentation, Project

SHARED = "shared"
MAIN = {one.outcome.value for one in TASK_TYPES.values()}
SETTINGS = ("task_type", "k", "m", "shared_places")  # of Project, that say what its own kind of task is


@dataclass(frozen=True)
class AskedTask:
    """A kind of task: what Project says of its own kind, by the same names."""

    task_type: str
    k: int
    m: int | None = None
    shared_places: bool = False

    @property
    def code(self) -> str:
        """Return what Presentation.task holds."""
        return ":".join([self.task_type, str(self.k), *([str(self.m)] if self.m else []), *self._shared])

    @property
    def _shared(self) -> list[str]:
        return [SHARED] if self.shared_places else []

    @property
    def type(self) -> TaskType:
        return TASK_TYPES[self.task_type]


def task_of(project: Project) -> AskedTask:
    """Return the project's own kind of task."""
    return AskedTask(*(getattr(project, name) for name in SETTINGS))


def read_task(code: str) -> AskedTask:
    """Return the kind that Presentation.task names; undoes AskedTask.code."""
    name, k, *more = code.split(":")
    m = next((int(part) for part in more if part.isdecimal()), None)
    return AskedTask(name, int(k), m, SHARED in more)


def further_tasks(project: Project) -> list[tuple[AskedTask, int]]:
    """Return the kinds asked besides the project's own, each with its share in percent."""
    return [(AskedTask(*(one.get(name) for name in SETTINGS)), one["percent"]) for one in project.further_tasks]


def tasks_now(project: Project) -> list[AskedTask]:
    """Return the kinds that are asked now, the project's own first."""
    return [task_of(project), *(task for task, _percent in further_tasks(project))]


def tasks_of(project: Project) -> list[AskedTask]:
    """Return the kinds that are asked now or have been asked, each once, the project's own first."""
    return list(dict.fromkeys([*tasks_now(project), *map(read_task, project.earlier_tasks)]))


def is_mixed(project: Project) -> bool:
    """Return whether answers may be of several kinds."""
    return bool(project.further_tasks or project.earlier_tasks)


def report_text(project: Project) -> str:
    """Return what people did, by each kind of task: the end of a sentence about them. Asks only where a kind is asked
    no more: a copy of a project knows such kinds, by which nobody was asked there."""
    done: set[str] = set()
    if project.earlier_tasks:
        found = Presentation.objects.filter(project=project.pk, task__in=project.earlier_tasks, label__isnull=False)
        done = set(found.order_by().values_list("task", flat=True).distinct())
    now = tasks_now(project)
    tasks = [task for task in tasks_of(project) if task in now or task.code in done]
    sentences = [task.type.report_text(with_task(project, task)) for task in tasks]
    return _(", or ").join(sentences)


def shows_pairs_only(project: Project) -> bool:
    return all(task.k == 2 for task in tasks_of(project))


def shows_pairs(project: Project) -> bool:
    """Return whether some answers are about two items."""
    return any(task.k == 2 for task in tasks_of(project))


def is_asked(project: Project, code: str) -> bool:
    """Return whether the kind with this code is asked or has been."""
    return not code or read_task(code) in tasks_of(project)


def project_for_task(project: Project, code: str) -> Project:
    """Return the project as the kind with this code asks it: itself for "", else a copy that is never saved."""
    return with_task(project, read_task(code)) if code else project


def with_task(project: Project, task: AskedTask) -> Project:
    """Return a copy that asks this kind; the owner's line above the items is about their own kind alone."""
    asked = copy.copy(project)
    asked.mean_k = mean_size(project)
    for name in SETTINGS:
        setattr(asked, name, getattr(task, name))
    if task != task_of(project):
        asked.instruction_line = ""
    return asked


def mean_size(project: Project) -> float:
    """Return how many items the tasks asked now show on average."""
    if project.mean_k is not None:
        return project.mean_k
    return project.k + sum(percent * (task.k - project.k) for task, percent in further_tasks(project)) / 100


def draw_task(project: Project, token: str) -> str:
    """Return the code of the kind that the presentation with this token asks, by the owner's shares; "": the own."""
    if not project.further_tasks or not token:
        return ""
    left = int.from_bytes(sha256(f"task:{token}".encode()).digest()[:6]) / 2**48 * 100
    for task, percent in further_tasks(project):
        left -= percent
        if left < 0:
            return task.code
    return ""


def codes_to_try(project: Project, drawn: str) -> list[str]:
    """Return the codes of the kinds to ask, the drawn one first: the others where it has no set left."""
    others = ["", *(task.code for task, _percent in further_tasks(project))]
    return list(dict.fromkeys([drawn, *others]))


def code_for(
    project: Project, outcome: str, n_items: int, *, n_named: int = 0, graded: bool = False, shared: bool = False
) -> str:
    """Return the code of the kind of task that has such an answer (n_named: items that it names, graded: says how much
    better one is, shared: with equal places); "", the project's own, where none fits better."""

    def misfits(task: AskedTask) -> tuple[bool, ...]:
        other = outcome in MAIN and task.type.outcome != outcome
        named = with_task(project, task) if n_named else None
        count = named is not None and task.type.is_ordered and task.type.n_ranked(named) != n_named
        return task.k != n_items, other, count, task.type.is_graded != graded, task.shared_places != shared

    best = min(tasks_of(project), key=misfits)  # of equals the first
    return best.code if best != task_of(project) else ""


def of_size(sets: QuerySet[ItemSet], k: int) -> QuerySet[ItemSet]:
    """Return those of k items, for projects whose sets differ in size."""
    dashes = Length("key") - Length(Replace(F("key"), Value("-"), Value("")))
    return sets.alias(n_dashes=ExpressionWrapper(dashes, IntegerField())).filter(n_dashes=k - 1)


def note_earlier(project: Project, before: AskedTask, removed: Iterable[AskedTask] = ()) -> list[str]:
    """Write down of what kind the presentations so far are, and return Project.earlier_tasks as it is then.

    before: the project's own kind until now.   removed: kinds that are asked no more. The caller's transaction holds
    it. A project without answers has asked no earlier kind: what it showed by one is not answered any more.
    """
    if before != task_of(project):
        Presentation.objects.filter(project=project, task="").update(task=before.code)
        removed = [before, *removed]
    if not project.labels.exists():
        return project.earlier_tasks
    now = {task.code for task in tasks_now(project)}
    codes = dict.fromkeys([*project.earlier_tasks, *(task.code for task in removed)])
    return [code for code in codes if code not in now]


def as_json(task: AskedTask, percent: int) -> dict[str, Any]:
    return {**{name: getattr(task, name) for name in SETTINGS}, "percent": percent}
