"""Fits two cohorts, each from the labels of its own members, and keeps them side by side; claimed like a run record."""

from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from annotate.asked_for import AskedFor
from annotate.cohorts import members
from annotate.criteria import seen_by
from annotate.fitting import Progress
from annotate.fitting_arrays import to_bytes
from annotate.fitting_rows import Labels
from annotate.fitting_stored import fitted, labels_of
from annotate.models import CohortComparison
from annotate.queries.project import published_fit
from annotate.reconciler import LostClaim
from annotate.stored_words import NotComparable, stored
from models_engine.data import Comparisons
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit

Status = CohortComparison.Status
Ints = NDArray[np.int64]
FEWEST_MEMBERS, FEWEST_LABELS = 2, 20


queue = AskedFor(CohortComparison, lambda _owner: stored("died"), "arrays")
owed, claim_next, held = queue.owed, queue.claim_next, queue.held
renew, give_back, record_failure = queue.renew, queue.give_back, queue.record_failure


def make(row: CohortComparison, *, progress: Progress) -> None:
    """Raises Cancelled, LostClaim and NotComparable.

    Each cohort is fitted alone, and not averaged from the members' own utilities in one fit of all: that fit takes
    everybody's taste to be scattered around one consensus, so it pulls cohorts together, and its intervals for their
    difference held the true one for 57% of the items of a simulated crowd where these held it for 97%.
    """
    project = seen_by(row.project, row.criterion)
    fit = published_fit(project)
    if fit is None or fit.estimator not in ESTIMATORS:
        raise NotComparable("no fit")
    labels = labels_of(project)
    inside = np.isin(labels.annotator_ids, list(members(project, row.by, row.first)))
    other = ~inside
    if row.second:
        other = np.isin(labels.annotator_ids, list(members(project, row.by, row.second)))
    both = inside & other  # who has both of two tags says nothing of their difference
    inside, other = inside & ~both, other & ~both
    rows = [np.flatnonzero(cohort[labels.data.annotators]) for cohort in (inside, other)]
    sizes = [[len(np.unique(labels.data.annotators[one])), len(one)] for one in rows]
    for (n_people, n_labels), name in zip(sizes, ("first", "second"), strict=True):
        check_enough(n_people, n_labels, name)
    arrays = side_by_side(labels, rows, fit, progress)
    values = {
        "status": Status.READY,
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "sizes": sizes,
        "arrays": to_bytes(arrays),
        "finished_at": timezone.now(),
        "message": "",
    }
    free: dict[str, Any] = {"owner": "", "lease_until": None}
    if not held(row).update(**values, **free):
        raise LostClaim(str(row.project_id))


def check_enough(n_people: int, n_labels: int, name: str) -> None:
    if n_people < FEWEST_MEMBERS or n_labels < FEWEST_LABELS:
        values = {"labels": n_labels, "people": n_people, "least_labels": FEWEST_LABELS, "least_people": FEWEST_MEMBERS}
        raise NotComparable(f"few {name}", **values)


def side_by_side(labels: Labels, rows: list[Ints], fit: Fit, progress: Progress) -> dict[str, NDArray]:
    """items (n_items,): those that both cohorts compared, in the largest connected part of either.   first, first_sd,
    second, second_sd (n_items,): utilities centred over these items. The cohorts share no label, so that the variance
    of a difference is the sum of both."""
    halves = [labels.data.subset(one) for one in rows]
    kept = np.flatnonzero(labels.ranked & in_largest_part(halves[0], labels) & in_largest_part(halves[1], labels))
    if len(kept) < 2:
        raise NotComparable("apart", kept=len(kept), items=len(labels.item_ids))
    found: dict[str, NDArray] = {"items": labels.item_ids[kept]}
    for name, data in zip(("first", "second"), halves, strict=True):
        own = fitted(ESTIMATORS[fit.estimator], data, fit.seed, progress).restrict(kept)
        found |= {name: own.utilities(), f"{name}_sd": own.standard_deviations()}
    return found


def in_largest_part(data: Comparisons, labels: Labels) -> NDArray[np.bool_]:
    compared: NDArray[np.bool_] = data.n_comparisons() > 0
    return compared & (data.connected_parts(labels.ranked) == 0)
