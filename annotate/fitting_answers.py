"""Answers as the engine takes them: the sets shown and what was said of them, to Comparisons of the project's kind."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.models import Project
from models_engine.data import Comparisons

Ints = NDArray[np.int64]
TaskType = Project.TaskType


def to_comparisons(project: Project, sets: Ints, chosen: Ints, ranks: Ints, **counts: Any) -> Comparisons:
    """sets (n_labels, k): item numbers in the order shown.   chosen (n_labels,): the chosen item's number, else -1.

    ranks (n_labels,): Label.ranks read as a number, 0 where it is empty.   counts: annotators, n_items, n_annotators.
    """
    k, rows = project.k, np.arange(len(sets))
    if k == 2:
        left = (chosen == sets[:, 0]) | (ranks == 1)  # "01"
        tie = (chosen < 0) & (ranks == 0)
        return Comparisons.from_pairs(sets[:, 0], sets[:, 1], np.where(tie, 0.5, left), **counts)
    if project.task_type == TaskType.BEST:
        return Comparisons.from_choices(chosen, sets, **counts)
    digits = ranks[:, None] // 10 ** np.arange(k - 1, -1, -1) % 10
    if project.task_type == TaskType.BEST_WORST:
        best, worst = digits.argmin(axis=1), digits.argmax(axis=1)
        return Comparisons.from_best_worst(sets[rows, best], sets[rows, worst], sets, **counts)
    best_first = np.take_along_axis(sets, digits.argsort(axis=1, kind="stable"), axis=1)
    if project.task_type == TaskType.RANKING:
        return Comparisons.from_rankings(best_first, shown=sets, **counts)
    return Comparisons.from_top(best_first[:, : project.m], sets, **counts)
