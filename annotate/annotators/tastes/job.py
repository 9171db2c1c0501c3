"""Computes the taste map: own rankings, scores along the components, groups of annotators."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.utils import timezone
from numpy.typing import NDArray

from annotate.core.transactions import yielding_write_transaction
from annotate.criteria import Criterion
from annotate.fitting.arrays import to_bytes
from annotate.fitting.stored_posterior import FittedTastes, load_tastes, main_part_rows
from annotate.jobs.queues import Progress
from annotate.locks import lock_project
from annotate.models import AnnotatorTaste, Project, TasteMap
from annotate.models.leased_jobs import LeaseLost
from models_engine.analysis.groups import Enough, Groups, enough_to_tell, find_groups
from models_engine.analysis.signs import surely_differs
from models_engine.errors import Cancelled
from models_engine.estimators.collaborative.annotators import AnnotatorUtilities, annotator_utilities
from models_engine.models import MAX_COMPONENTS, AnnotatorEstimate, Fit

Floats = NDArray[np.float64]
# Answers from which somebody is said to have a taste, here and on their page; the others are in no group.
MIN_ANSWERS = 10
# Own rankings kept: 6 bytes for each item of each annotator, 24 MB at most; those with most labels come first.
MAX_CELLS = 4_000_000
# Taste maps take a tenth of one worker's time at most, however fast labels come in.
PAUSE_FACTOR = 10
CHUNK = 50


@dataclass(frozen=True, eq=False)
class Tastes:
    """All over the annotators of a fit: scores and their sds (n_annotators, c), n_labels and who is grouped, own.

    n_told: how many leading components are more than noise; groups are looked for along these.
    enough: where these are too few to tell, what would be enough."""

    scores: Floats
    score_sds: Floats
    n_labels: NDArray[np.int64]
    grouped: NDArray[np.int64]
    found: Groups
    own: dict[int, bytes]
    n_told: int
    enough: Enough


def work(row: TasteMap, progress: Progress) -> None:
    """Raise Cancelled, LeaseLost and InsufficientData."""
    started = time.perf_counter()
    fit = Fit.objects.filter(project_id=row.project_id, criterion=row.criterion, published=True).first()
    if fit is None or not fit.components:
        raise LeaseLost(str(row.project_id))
    known = load_tastes(fit, Criterion(row.project, row.criterion), progress)
    kept = main_part_rows(fit, known.item_ids)
    tastes = compute_tastes(fit, known, kept, progress)
    write_tastes(row, fit, known, tastes, progress)
    seconds, now = time.perf_counter() - started, timezone.now()
    values: dict[str, Any] = {
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "n_groups": tastes.found.n,
        "n_grouped": len(tastes.grouped),
        "bic": [round(value, 2) for value in tastes.found.bic],
        "arrays": to_bytes(map_arrays(fit, known, kept, tastes)),
        "made_at": now,
        "seconds": seconds,
        "not_before": now + timedelta(seconds=PAUSE_FACTOR * seconds),
    }
    row.complete(**values, gave_way=0, message="", crossings=0, given_up=None)
    former = AnnotatorTaste.objects.filter(annotator__project=row.project_id, criterion=row.criterion)
    delete_tastes(former.exclude(fit_number=fit.number))


def compute_tastes(fit: Fit, known: FittedTastes, kept: NDArray[np.int64], progress: Progress) -> Tastes:
    """Compute tastes; own rankings are centred over the items kept: those of the ranking's largest part."""
    source = known.posterior.tastes
    scores = source.scores[:, :MAX_COMPONENTS]
    counted = dict(AnnotatorEstimate.objects.filter(fit=fit).values_list("annotator_id", "n_labels"))
    n_labels = np.array([counted.get(pk, 0) for pk in known.annotator_ids.tolist()], dtype=np.int64)
    room = MAX_CELLS // max(1, len(kept))
    stored = set(np.argsort(-n_labels, kind="stable")[:room].tolist())
    sds, own = np.ones_like(scores), {}
    for one in annotator_utilities(source, kept):
        check_progress(progress)
        sds[one.annotator] = one.score_sds[: scores.shape[1]]
        if one.annotator in stored:
            own[one.annotator] = pack_ranking(one)
    grouped = np.flatnonzero(n_labels >= MIN_ANSWERS)
    n_told = min(int(source.n_told), scores.shape[1])
    found = find_groups(scores[grouped, :n_told], sds[grouped, :n_told])
    # Where no component is more than noise, the first is what little is known.
    known_sds = sds[grouped, : max(n_told, 1)]
    enough = enough_to_tell(known_sds) if found.n == 0 and len(grouped) else Enough(None, None)
    return Tastes(scores, sds, n_labels, grouped, found, own, n_told, enough)


def pack_ranking(one: AnnotatorUtilities) -> bytes:
    """Return rows of float16: utility, its sd, that of the difference to the consensus, and 1 where that is said
    surely."""
    sure = surely_differs(one.wrong_sign)
    return np.stack([one.mean, one.sd, one.difference_sd, sure]).astype(np.float16).tobytes()


def map_arrays(fit: Fit, known: FittedTastes, kept: NDArray[np.int64], tastes: Tastes) -> dict[str, NDArray]:
    """items (n_items,): primary keys.   utility, sd (n_items,): the consensus.   loadings (n_items, c), shares (c,).
    n_told: how many of these are more than noise.   likes (n_groups, n_items): utility for a group's members less that
    for everybody else, along these.   enough (2,): people, or answers of each as a multiple, that would be enough to
    look for groups; NaN where nothing tried is."""
    posterior = known.posterior.restrict(kept)
    loadings = known.posterior.tastes.loadings[kept, :MAX_COMPONENTS]
    scores, inside = tastes.scores[tastes.grouped, : tastes.n_told], tastes.found.member
    likes = [
        loadings[:, : tastes.n_told] @ (scores[inside == group].mean(axis=0) - scores[inside != group].mean(axis=0))
        for group in range(tastes.found.n if tastes.found.n > 1 else 0)
    ]
    return {
        "items": known.item_ids[kept],
        "utility": posterior.utilities(),
        "sd": posterior.standard_deviations(),
        "loadings": loadings.astype(np.float32),
        "shares": np.array((fit.components or {}).get("shares", [])),
        "n_told": np.array(tastes.n_told),
        "enough": np.array([tastes.enough.annotators, tastes.enough.answers], dtype=np.float64),
        "likes": np.array(likes, dtype=np.float32).reshape(len(likes), len(kept)),
    }


def write_tastes(row: TasteMap, fit: Fit, known: FittedTastes, tastes: Tastes, progress: Progress) -> None:
    """Write the rows of this fit; nobody sees them before the taste map names it."""
    delete_tastes(AnnotatorTaste.objects.filter(annotator__project=row.project_id, fit_number=fit.number))
    rows = taste_rows(fit, known, tastes)
    while chunk := list(islice(rows, CHUNK)):
        check_progress(progress)
        with yielding_write_transaction():
            try:
                annotators = lock_project(row.project_id).annotators  # nobody is erased until they are written
            except Project.DoesNotExist as error:
                raise LeaseLost(str(row.project_id)) from error
            here = set(annotators.filter(pk__in=[one.annotator_id for one in chunk]).values_list("pk", flat=True))
            AnnotatorTaste.objects.bulk_create(one for one in chunk if one.annotator_id in here)


def taste_rows(fit: Fit, known: FittedTastes, tastes: Tastes) -> Iterator[AnnotatorTaste]:
    group = dict(zip(tastes.grouped.tolist(), tastes.found.member.tolist(), strict=True))
    certainty = dict(zip(tastes.grouped.tolist(), tastes.found.certainty.tolist(), strict=True))
    for place, annotator in enumerate(known.annotator_ids.tolist()):
        yield AnnotatorTaste(
            annotator_id=annotator,
            criterion=fit.criterion,
            fit_number=fit.number,
            n_labels=int(tastes.n_labels[place]),
            scores=np.round(tastes.scores[place], 4).tolist(),
            score_sds=np.round(tastes.score_sds[place], 4).tolist(),
            group=group.get(place),
            certainty=certainty.get(place),
            own=tastes.own.get(place),
        )


def delete_tastes(rows: QuerySet[AnnotatorTaste]) -> None:
    keys = list(rows.values_list("pk", flat=True))
    for start in range(0, len(keys), CHUNK):
        with yielding_write_transaction():
            AnnotatorTaste.objects.filter(pk__in=keys[start : start + CHUNK]).delete()


def check_progress(progress: Progress) -> None:
    if progress(0, 0, float("nan")) is False:
        raise Cancelled("the engine was asked to stop, or a fit waits.")
