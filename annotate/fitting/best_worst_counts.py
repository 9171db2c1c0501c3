"""Counts how often each item was chosen as best and as worst, to be kept with a fit."""

import numpy as np
from numpy.typing import NDArray

from annotate.fitting.reading import Labels
from annotate.labelling.asked_tasks import is_mixed
from annotate.models import Project


def count_best_worst(project: Project, labels: Labels) -> dict[str, NDArray[np.int64]]:
    """Return (n_items,) arrays to be kept with the fit; {} where other tasks are asked, too or alone."""
    if project.task_type != Project.TaskType.BEST_WORST or is_mixed(project):
        return {}
    data = labels.data
    last = np.maximum.reduceat(data.ranks, data.starts[:-1])[data.rows] if data.n_labels else data.ranks
    ends = {"best": data.ranks == 0, "worst": data.ranks == last, "shown": np.ones(len(data.ranks), dtype=bool)}
    return {f"{name}_count": np.bincount(data.items[kept], minlength=data.n_items) for name, kept in ends.items()}
