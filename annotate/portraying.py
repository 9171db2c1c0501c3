"""Portrays a project's tastes while no fit waits: own rankings, places along the components, groups of annotators."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

import numpy as np
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from numpy.typing import NDArray

from annotate.criteria import seen_by
from annotate.fitting import Progress
from annotate.fitting_arrays import to_bytes
from annotate.fitting_stored import Known, in_main_part, known_tastes
from annotate.models import AnnotatorPortrait, Portrait
from annotate.on_the_side import FREE, MOST_PATIENCE, OnTheSide
from annotate.reconciler import LostClaim, due
from annotate.writing import room_for_others
from models_engine.errors import Cancelled
from models_engine.estimators.collaborative_people import Own, own_figures
from models_engine.groups import Groups, groups
from models_engine.models import MOST_COMPONENTS, AnnotatorEstimate, Fit

Floats = NDArray[np.float64]
# Answers from which somebody is said to have a taste, here and on their page; the others are in no group.
FEWEST_ANSWERS = 10
# Own rankings kept: 6 bytes for each item of each annotator, 24 MB at most; those with most labels come first.
MOST_CELLS = 4_000_000
# Making portraits takes a tenth of one engine process at most, however fast labels come in.
PAUSES = 10
SHORT = 5.0  # seconds: what takes longer always gives way to a fit
CHUNK = 50


def owed() -> QuerySet[Fit]:
    """Published fits with components of taste that have no portrait yet."""
    has_one = Portrait.objects.filter(
        project_id=OuterRef("project_id"), criterion=OuterRef("criterion"), fit_number=OuterRef("number")
    )
    fits = Fit.objects.filter(published=True, components__kind="tastes", n_labels__gt=0)
    return fits.exclude(Exists(has_one)).defer("arrays", "diagnostics").order_by("finished_at")


queue = OnTheSide(Portrait, owed)
claim_next, held, renew = queue.claim_next, queue.held, queue.renew
give_back, record_failure = queue.give_back, queue.record_failure


def gives_way(row: Portrait, *, now: datetime) -> bool:
    """Whether a fit waits and this portrait is not so short that, having given way often, it may go on."""
    return (row.gave_way < MOST_PATIENCE or row.seconds > SHORT) and due(now).exists()


@dataclass(frozen=True, eq=False)
class Tastes:
    """All over the annotators of a fit: scores and their sds (n_annotators, c), n_labels and who is grouped, own."""

    scores: Floats
    score_sds: Floats
    n_labels: NDArray[np.int64]
    grouped: NDArray[np.int64]
    found: Groups
    own: dict[int, bytes]


def make(row: Portrait, *, progress: Progress) -> None:
    """Raises Cancelled, LostClaim and InsufficientData."""
    started = time.perf_counter()
    fit = Fit.objects.filter(project_id=row.project_id, criterion=row.criterion, published=True).first()
    if fit is None or not fit.components:
        raise LostClaim(str(row.project_id))
    known = known_tastes(fit, seen_by(row.project, row.criterion), progress)
    kept = in_main_part(fit, known.item_ids)
    tastes = tastes_of(fit, known, kept, progress)
    write(row, fit, known, tastes, progress)
    seconds, now = time.perf_counter() - started, timezone.now()
    values = {
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "n_groups": tastes.found.n,
        "n_grouped": len(tastes.grouped),
        "bic": [round(value, 2) for value in tastes.found.bic],
        "arrays": to_bytes(arrays_of(fit, known, kept, tastes)),
        "made_at": now,
        "seconds": seconds,
        "not_before": now + timedelta(seconds=PAUSES * seconds),
    }
    if not held(row).update(**FREE, **values, gave_way=0, message=""):
        raise LostClaim(str(row.project_id))
    former = AnnotatorPortrait.objects.filter(annotator__project=row.project_id, criterion=row.criterion)
    delete(former.exclude(fit_number=fit.number))


def tastes_of(fit: Fit, known: Known, kept: NDArray[np.int64], progress: Progress) -> Tastes:
    """Own rankings are centred over the items kept: those of the ranking's largest part."""
    source = known.posterior.tastes
    scores = source.scores[:, :MOST_COMPONENTS]
    counted = dict(AnnotatorEstimate.objects.filter(fit=fit).values_list("annotator_id", "n_labels"))
    n_labels = np.array([counted.get(pk, 0) for pk in known.annotator_ids.tolist()], dtype=np.int64)
    room = MOST_CELLS // max(1, len(kept))
    stored = set(np.argsort(-n_labels, kind="stable")[:room].tolist())
    sds, own = np.ones_like(scores), {}
    for one in own_figures(source, kept):
        go_on(progress)
        sds[one.annotator] = one.score_sds[: scores.shape[1]]
        if one.annotator in stored:
            own[one.annotator] = packed(one)
    grouped = np.flatnonzero(n_labels >= FEWEST_ANSWERS)
    found = groups(scores[grouped], sds[grouped]) if len(grouped) else Groups(1, grouped, np.ones(0), ())
    return Tastes(scores, sds, n_labels, grouped, found, own)


def packed(one: Own) -> bytes:
    return np.stack([one.mean, one.sd, one.difference_sd]).astype(np.float16).tobytes()


def arrays_of(fit: Fit, known: Known, kept: NDArray[np.int64], tastes: Tastes) -> dict[str, NDArray]:
    """items (n_items,): primary keys.   utility, sd (n_items,): the consensus.   loadings (n_items, c), shares (c,).
    likes (n_groups, n_items): utility for a group's members less that for everybody else, along the components."""
    posterior = known.posterior.restrict(kept)
    loadings = known.posterior.tastes.loadings[kept, :MOST_COMPONENTS]
    scores, inside = tastes.scores[tastes.grouped], tastes.found.member
    likes = [
        loadings @ (scores[inside == group].mean(axis=0) - scores[inside != group].mean(axis=0))
        for group in range(tastes.found.n if tastes.found.n > 1 else 0)
    ]
    return {
        "items": known.item_ids[kept],
        "utility": posterior.utilities(),
        "sd": posterior.standard_deviations(),
        "loadings": loadings.astype(np.float32),
        "shares": np.array((fit.components or {}).get("shares", [])),
        "likes": np.array(likes, dtype=np.float32).reshape(len(likes), len(kept)),
    }


def write(row: Portrait, fit: Fit, known: Known, tastes: Tastes, progress: Progress) -> None:
    """The rows of this fit; nobody sees them before the portrait names it."""
    delete(AnnotatorPortrait.objects.filter(annotator__project=row.project_id, fit_number=fit.number))
    here = set(row.project.annotators.values_list("pk", flat=True))
    rows = (one for one in portraits(fit, known, tastes) if one.annotator_id in here)
    while chunk := list(islice(rows, CHUNK)):
        go_on(progress)
        with room_for_others():
            AnnotatorPortrait.objects.bulk_create(chunk)


def portraits(fit: Fit, known: Known, tastes: Tastes) -> Iterator[AnnotatorPortrait]:
    group = dict(zip(tastes.grouped.tolist(), tastes.found.member.tolist(), strict=True))
    certainty = dict(zip(tastes.grouped.tolist(), tastes.found.certainty.tolist(), strict=True))
    for place, annotator in enumerate(known.annotator_ids.tolist()):
        yield AnnotatorPortrait(
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


def delete(rows: QuerySet[AnnotatorPortrait]) -> None:
    keys = list(rows.values_list("pk", flat=True))
    for start in range(0, len(keys), CHUNK):
        with room_for_others():
            AnnotatorPortrait.objects.filter(pk__in=keys[start : start + CHUNK]).delete()


def go_on(progress: Progress) -> None:
    if progress(0, 0, float("nan")) is False:
        raise Cancelled("the engine was asked to stop, or a fit waits.")
