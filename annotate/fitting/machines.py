"""Reads what machines answered, for a fit that counts it or a report that holds it against people's answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.models import MachineAnswer, Project
from models_engine.models import AnnotatorEstimate

Ints = NDArray[np.int64]
ITEMS_JUDGED = 2  # machines are asked about pairs


def counts_machines(project: Project) -> bool:
    """Return whether the project's fits count machines: the one rule that all of them go by."""
    return project.count_machines and project.k == ITEMS_JUDGED


def machine_rows(criterion: Criterion) -> Ints:
    """Return (2 n_answers, 6), two rows for each answer in the order shown: item, annotator, chosen item or 0, 0, 0, 0.

    Machines that were excluded are left out. One query.
    """
    answers = MachineAnswer.objects.filter(
        machine__annotator__project=criterion.project,
        machine__annotator__excluded_at=None,
        criterion=criterion.number,
    )
    columns = ("first_id", "second_id", "machine_id", "chosen_id")
    rows = answers.order_by("pk").values_list(*columns).iterator(20_000)
    shown = (
        (item, machine, chosen or 0, 0, 0, 0) for first, second, machine, chosen in rows for item in (first, second)
    )
    return np.fromiter(shown, dtype=np.dtype((np.int64, 6)))


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
