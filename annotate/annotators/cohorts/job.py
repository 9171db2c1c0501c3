"""Fits two cohorts, each from the labels of its own members, and stores both; claimed like a run record."""

from typing import Any

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from annotate.annotators.cohorts.groupings import TAG, groupings, members
from annotate.annotators.cohorts.queries import MIN_LABELS, MIN_MEMBERS
from annotate.core.stored_messages import NotEnoughData
from annotate.criteria import Criterion
from annotate.fitting.arrays import to_bytes
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.leaderboard.cohorts import Cohort, cohort_boards
from annotate.fitting.published import published_fit
from annotate.fitting.reading import Labels
from annotate.fitting.stored_posterior import require_labels
from annotate.jobs.queues import Progress
from annotate.models import CohortComparison
from models_engine.analysis.scores import compute_scores
from models_engine.data import Comparisons
from models_engine.estimators.several import fit_each
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit

Status = CohortComparison.Status
Ints = NDArray[np.int64]
MAX_BOARDS = 12  # cohorts with a leaderboard of their own
TOO_FEW = {
    "first": gettext_noop(
        "The first cohort has too few answers to be compared: %(labels)d from %(people)d annotators. It needs "
        "at least %(least_labels)d from %(least_people)d."
    ),
    "second": gettext_noop(
        "The second cohort has too few answers to be compared: %(labels)d from %(people)d annotators. It "
        "needs at least %(least_labels)d from %(least_people)d."
    ),
}
APART = gettext_noop(
    "Too few items were compared by both cohorts: %(kept)d of %(items)d, and at least 2 are needed. Try "
    "again when there are more answers."
)


class NotComparable(NotEnoughData):
    pass


def work(row: CohortComparison, progress: Progress) -> None:
    """Raise Cancelled, LeaseLost and NotComparable.

    Each cohort is fitted alone, and not averaged from the members' own utilities in one fit of all: that fit takes
    everybody's taste to be scattered around one consensus, so it pulls cohorts together, and its intervals for their
    difference held the true one for 57% of the items of a simulated crowd where these held it for 97%.
    """
    criterion = Criterion(row.project, row.criterion)
    fit = published_fit(criterion)
    if fit is None or fit.estimator not in ESTIMATORS:
        raise NotComparable(gettext_noop("There is no ranking yet. Try again once there is one."))
    labels = require_labels(criterion, machines=False)
    inside = np.isin(labels.annotator_ids, list(members(criterion, row.by, row.first)))
    other = ~inside
    if row.second:
        other = np.isin(labels.annotator_ids, list(members(criterion, row.by, row.second)))
    both = inside & other  # who has both of two tags says nothing of their difference
    inside, other = inside & ~both, other & ~both
    rows = [np.flatnonzero(cohort[labels.data.annotators]) for cohort in (inside, other)]
    sizes = [[len(np.unique(labels.data.annotators[one])), len(one)] for one in rows]
    for (n_people, n_labels), name in zip(sizes, ("first", "second"), strict=True):
        check_enough(n_people, n_labels, name)
    boards = cohort_boards(
        criterion, labels, list_cohorts(row), progress, least_people=MIN_MEMBERS, least_labels=MIN_LABELS
    )
    try:
        arrays = to_bytes(compare_cohorts(labels, rows, fit, progress))
    except NotComparable:  # as where each context has few items
        if not any(one["rows"] for one in boards.get("cohorts", [])):
            raise
        arrays = None
    values: dict[str, Any] = {
        "status": Status.READY,
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "sizes": sizes,
        "arrays": arrays,
        "boards": boards,
        "finished_at": timezone.now(),
        "message": "",
    }
    row.complete(**values)


def list_cohorts(row: CohortComparison) -> list[Cohort]:
    """Return the cohorts whose leaderboards are made: all of what divides the annotators, the largest first; of tags,
    which may overlap, the two compared."""
    criterion = Criterion(row.project, row.criterion)
    division = next((one for one in groupings(criterion) if one.key == row.by), None)
    keys = [one.key for one in division.values] if division and row.by != TAG else [row.first, row.second]
    asked = dict.fromkeys([row.first, *filter(None, [row.second]), *filter(None, keys)])
    found = [Cohort(key, members(criterion, row.by, key)) for key in list(asked)[:MAX_BOARDS]]
    if row.by == TAG and not row.second:
        everybody = set(row.project.annotators.values_list("pk", flat=True))
        found.append(Cohort("", everybody - set(found[0].members)))
    return found


def check_enough(n_people: int, n_labels: int, name: str) -> None:
    if n_people < MIN_MEMBERS or n_labels < MIN_LABELS:
        values = {"labels": n_labels, "people": n_people, "least_labels": MIN_LABELS, "least_people": MIN_MEMBERS}
        raise NotComparable(TOO_FEW[name], **values)


def compare_cohorts(labels: Labels, rows: list[Ints], fit: Fit, progress: Progress) -> dict[str, NDArray]:
    """items (n_items,): those that both cohorts compared, in the largest connected part of either.   first, first_sd,
    second, second_sd (n_items,): utilities centred over these items. first_scores, second_scores (n_items, 3): scores
    with the ends of their intervals. The cohorts share no label, so that the variance of a difference is the sum of
    both."""
    halves = [labels.data.subset(one) for one in rows]
    kept = np.flatnonzero(labels.ranked & in_largest_part(halves[0], labels) & in_largest_part(halves[1], labels))
    if len(kept) < 2:
        raise NotComparable(APART, kept=len(kept), items=len(labels.item_ids))
    found: dict[str, NDArray] = {"items": labels.item_ids[kept]}
    estimator = ESTIMATORS[fit.estimator].estimator()
    posteriors, _where = fit_on_cluster(lambda: fit_each(estimator, halves, seed=fit.seed, progress=progress))
    for name, posterior in zip(("first", "second"), posteriors, strict=True):
        own = posterior.restrict(kept)
        scores = compute_scores(own)
        found |= {name: own.utilities(), f"{name}_sd": own.standard_deviations()}
        found[f"{name}_scores"] = np.stack([scores.score, scores.low, scores.high], axis=1)
    return found


def in_largest_part(data: Comparisons, labels: Labels) -> NDArray[np.bool_]:
    compared: NDArray[np.bool_] = data.n_comparisons() > 0
    return compared & (data.connected_parts(labels.ranked) == 0)
