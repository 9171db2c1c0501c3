"""Reads what machines answered, for a fit that counts it or a report that holds it against people's answers."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from annotate.criteria import Criterion
from annotate.fitting.answers import GRADES, KINDS, ROWS_AT_A_TIME, Answers, Ints
from annotate.labelling.asked_tasks import tasks_of
from annotate.labelling.item_sets import items_of_key
from annotate.models import MachineAnswer, Project
from models_engine.models import AnnotatorEstimate


def counts_machines(project: Project) -> bool:
    """Return whether the project's fits count machines: the one rule that all of them go by."""
    return bool(project.count_machines)


def machine_answers(criterion: Criterion) -> Answers:
    """Return what machines answered, the annotators their keys. One query.

    Machines that were excluded are left out, and answers to kinds of task that the project neither asks nor asked.
    """
    answers = MachineAnswer.objects.filter(
        machine__annotator__project=criterion.project,
        machine__annotator__excluded_at=None,
        criterion=criterion.number,
        task__in=[task.code for task in tasks_of(criterion.project)],
    )
    columns = ("item_set__key", "shown", "machine_id", "chosen_id", "ranks", "grade", "outcome")
    rows = answers.order_by("pk").values_list(*columns).iterator(ROWS_AT_A_TIME)
    sets, others = [], []
    for key, shown, machine, chosen, ranks, grade, outcome in rows:
        items = items_of_key(key)
        sets.append([items[int(place)] for place in shown])
        others.append((machine, chosen or 0, int(ranks or 0), GRADES.get(grade, 0), 0, KINDS[outcome]))
    everything: Ints = np.fromiter(chain.from_iterable(sets), dtype=np.int64)
    sizes: Ints = np.fromiter(map(len, sets), dtype=np.int64)
    return Answers(everything, sizes, *np.array(others, dtype=np.int64).reshape(-1, 6).T)


def machines_in_fit(estimates: Sequence[AnnotatorEstimate], shares: Sequence[float]) -> list[dict[str, Any]]:
    """Return what a fit learned of each machine that it counts, as JSON.

    estimates: an AnnotatorEstimate for each; their reliability is None where the estimator has none.
    shares: Labels.machine_shares.
    """
    names = ("n_labels", "agreement", "reliability", "reliability_low", "reliability_high")
    return [
        {"annotator": one.annotator_id, "share": float(share), **{name: getattr(one, name) for name in names}}
        for one, share in zip(estimates, shares, strict=True)
    ]
