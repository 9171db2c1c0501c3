"""Answers as the engine takes them: the sets shown and what was said of them, to Comparisons of the project's kind."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.labelling.task_types.registry import task_type_of
from annotate.models import Project
from models_engine.data import Comparisons

Ints = NDArray[np.int64]


def to_comparisons(project: Project, sets: Ints, chosen: Ints, ranks: Ints, **counts: Any) -> Comparisons:
    """Build the engine's comparisons from one label per row.

    sets (n_labels, k): item numbers in the order shown.   chosen (n_labels,): the chosen item's number, else -1.
    ranks (n_labels,): Label.ranks read as a number, 0 where it is empty.   counts: annotators, n_items, n_annotators,
    grades (n_labels,) where it was asked how much better the item is.
    """
    if project.k == 2:
        left = (chosen == sets[:, 0]) | (ranks == 1)  # "01"
        tie = (chosen < 0) & (ranks == 0)
        return Comparisons.from_pairs(sets[:, 0], sets[:, 1], np.where(tie, 0.5, left), **counts)
    return LAYOUTS[task_type_of(project).engine_layout](project, sets, chosen, ranks, **counts)


def to_mixed(items: Ints, starts: Ints, ranks: Ints, tied: NDArray[np.bool_], **counts: Any) -> Comparisons:
    """Return answers of several kinds of task as one Comparisons: each is the ranks of the items it was about.

    items, ranks (n_shown,): item numbers in the order shown and their ranks, 0 best.   starts (n_labels,): where each
    label begins.   tied (n_labels,): whether equal ranks share a place.   counts: as for to_comparisons.
    """
    ends = starts[1:]
    sets, places = np.split(items, ends), np.split(ranks, ends)
    if not len(starts):
        sets = places = []
    return Comparisons.from_ranks(places, sets, tied=tied if tied.any() else None, **counts)


def choices(project: Project, sets: Ints, chosen: Ints, ranks: Ints, **counts: Any) -> Comparisons:
    return Comparisons.from_choices(chosen, sets, **counts)


def best_worst(project: Project, sets: Ints, chosen: Ints, ranks: Ints, **counts: Any) -> Comparisons:
    digits, rows = digits_of(ranks, project.k), np.arange(len(sets))
    best, worst = digits.argmin(axis=1), digits.argmax(axis=1)
    return Comparisons.from_best_worst(sets[rows, best], sets[rows, worst], sets, **counts)


def rankings(project: Project, sets: Ints, chosen: Ints, ranks: Ints, **counts: Any) -> Comparisons:
    if task_type_of(project).shares_places(project):
        return Comparisons.from_ranks(digits_of(ranks, project.k), sets, tied=True, **counts)
    return Comparisons.from_rankings(best_first(sets, ranks, project.k), shown=sets, **counts)


def top(project: Project, sets: Ints, chosen: Ints, ranks: Ints, **counts: Any) -> Comparisons:
    n_ranked = task_type_of(project).n_ranked(project)
    return Comparisons.from_top(best_first(sets, ranks, project.k)[:, :n_ranked], sets, **counts)


def digits_of(ranks: Ints, k: int) -> Ints:
    """Return (n_labels, k): the rank of each item shown."""
    return ranks[:, None] // 10 ** np.arange(k - 1, -1, -1) % 10


def best_first(sets: Ints, ranks: Ints, k: int) -> Ints:
    return np.take_along_axis(sets, digits_of(ranks, k).argsort(axis=1, kind="stable"), axis=1)


LAYOUTS = {"choices": choices, "best_worst": best_worst, "rankings": rankings, "top": top}
