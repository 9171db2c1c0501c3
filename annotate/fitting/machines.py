"""Reads what machines answered, for a fit that counts it or a report that holds it against people's answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.labelling.asked_tasks import tasks_of
from annotate.labelling.item_sets import items_of_key
from annotate.models import MachineAnswer, Project
from models_engine.models import AnnotatorEstimate

Ints = NDArray[np.int64]


def counts_machines(project: Project) -> bool:
    """Return whether the project's fits count machines: the one rule that all of them go by."""
    return bool(project.count_machines)


def machine_rows(criterion: Criterion, kinds: Mapping[str, int], grades: Mapping[str, int]) -> Ints:
    """Return (n_shown, 8), the items of each answer in the order shown: item, annotator, chosen item or 0, ranks as a
    number or 0, grade or 0, 0, position, kind of outcome.

    kinds, grades: a number for each outcome and grade. Machines that were excluded are left out, and answers to kinds
    of task that the project neither asks nor asked. One query.
    """
    answers = MachineAnswer.objects.filter(
        machine__annotator__project=criterion.project,
        machine__annotator__excluded_at=None,
        criterion=criterion.number,
        task__in=[task.code for task in tasks_of(criterion.project)],
    )
    columns = ("item_set__key", "shown", "machine_id", "chosen_id", "ranks", "grade", "outcome")
    rows = answers.order_by("pk").values_list(*columns).iterator(20_000)
    return np.fromiter(shown_rows(rows, kinds, grades), dtype=np.dtype((np.int64, 8)))


def shown_rows(rows: Iterator[Any], kinds: Mapping[str, int], grades: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    for key, shown, machine, chosen, ranks, grade, outcome in rows:
        items, said = items_of_key(key), (machine, chosen or 0, int(ranks or 0), grades.get(grade, 0), 0)
        for position, place in enumerate(shown):
            yield items[int(place)], *said, position, kinds[outcome]


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
