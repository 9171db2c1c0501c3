"""A quick refit of a large CollaborativeGP after a few new labels: EP on the sites that change only."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.collaborative.report import EPOutcome
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.active_sites import (
    ActiveResult,
    ActiveSites,
    AnnotatorSites,
    FixedPoint,
    rows_by_annotator,
    run_active_ep,
    solve_kept_sites,
)
from models_engine.inference.tastes.reliability import Reliabilities
from models_engine.summaries import AnnotatorSummary

__all__ = ["REFIT_TOLERANCE", "MatchedSites", "match_sites", "refit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
REFIT_TOLERANCE = 1e-3  # of the sites of a large fit: far below what new labels change
MIN_MARGIN_MOVE = 0.05  # in units of an answer's noise: an old site whose margin changed by more becomes active
MAX_ACTIVE_SITES = 1_500  # with more, EP over all annotators is as quick
MAX_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class MatchedSites:
    """Values of this fit's sites in an earlier fit: precision, shift and copies (n_sites,), 0 for new sites.

    complete: whether every earlier site is still present (no label was voided).
    """

    sites: Sites
    copies: Floats
    complete: bool


def match_sites(old: PairSites, old_values: Sites, new: PairSites) -> MatchedSites:
    """Find each new site among the old ones, by annotator, items and outcome."""
    both = np.concatenate([old.keys, new.keys])
    order = np.lexsort(both.T[::-1])
    ordered = both[order]
    fresh = np.ones(len(both), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.empty(len(both), dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    where = np.full(len(both) + 1, -1)
    where[group[: len(old)]] = np.arange(len(old))
    source = where[group[len(old) :]]
    found = source >= 0
    precision, shift, copies = (
        np.where(found, np.append(values, 0.0)[source], 0.0)
        for values in (old_values.precision, old_values.shift, old.copies)
    )
    return MatchedSites(Sites(precision, shift), copies, int(found.sum()) == len(old))


def refit(
    sites: PairSites,
    matched: MatchedSites,
    before: CollaborativePosterior,
    known: Reliabilities | None,
    side: Floats | None,
    on_step: Callable[[float], None],
) -> EPOutcome | None:
    """Run EP over the new sites and those of the same annotators that change with them.

    Returns None if there are too many, EP did not converge, or there are rankings, whose sites share noise. All other
    sites, the scales, the cut points, the shape of tastes, the `known` reliabilities and the side biases `side`
    (n_annotators,) keep the values of the earlier fit. on_step is called after each step.
    """
    fresh = matched.copies != sites.copies
    if sites.ranking is not None or not matched.complete or not 0 < fresh.sum() <= MAX_ACTIVE_SITES:
        return None
    tastes = before.tastes
    lapses = None if known is None else known.lapse
    cuts = None if before.likelihood.cuts is None else np.array(before.likelihood.cuts)
    fixed_point = FixedPoint(tastes.taste, tastes.mean, tastes.covariance, lapses, cuts, side)
    old = np.flatnonzero(np.isin(sites.annotator, np.unique(sites.annotator[fresh])) & (matched.copies > 0))
    values = Sites(matched.sites.precision[old], matched.sites.shift[old])
    annotators = solve_kept_sites(replace(sites, copies=matched.copies).select(old), values, fixed_point)
    for _ in range(MAX_ROUNDS):
        rows = np.flatnonzero(fresh)
        active = ActiveSites.of(sites.select(rows), annotators, fixed_point)
        start = Sites(matched.sites.precision[rows], matched.sites.shift[rows])
        result = run_active_ep(
            active, start, matched.copies[rows], fixed_point, tolerance=REFIT_TOLERANCE, on_iteration=on_step
        )
        if result.change >= REFIT_TOLERANCE:
            return None
        moves = np.zeros(len(sites))
        moves[old] = margin_moves(active, result, annotators, len(old))
        moved = ~fresh & (np.abs(moves) > MIN_MARGIN_MOVE)
        if not moved.any() or len(rows) + moved.sum() > MAX_ACTIVE_SITES:
            break
        fresh |= moved
    precision, shift = matched.sites.precision.copy(), matched.sites.shift.copy()
    precision[rows], shift[rows] = result.sites.precision, result.sites.shift
    scores, distance = _figures(before, active, result, annotators)
    return EPOutcome(
        taste=tastes.taste,
        steepness=None,
        sites=Sites(precision, shift),
        mean=result.mean,
        covariance=result.covariance,
        loadings=tastes.loadings,
        scores=scores,
        figures=AnnotatorSummary(taste_distance=distance),
        log_evidence=before.diagnostics.objective[-1] + result.gain,
        change=result.change,
        n_iterations=result.n_iterations,
        tolerance=REFIT_TOLERANCE,
    )


def margin_moves(
    active: ActiveSites, result: ActiveResult, annotators: dict[int, AnnotatorSites], n_sites: int
) -> Floats:
    """Return the change of the mean margin of each fixed site of `annotators`, (n_sites,)."""
    own, moves = rows_by_annotator(active.sites), np.zeros(n_sites)
    for annotator, one in annotators.items():
        rows = own.get(annotator, np.zeros(0, np.int64))
        towards = one.project(result.move + result.shift_change[rows] @ active.taste_side[rows])
        moves[one.rows] = one.margins(one.transfer @ towards)
    return moves


def _figures(
    before: CollaborativePosterior, active: ActiveSites, result: ActiveResult, annotators: dict[int, AnnotatorSites]
) -> tuple[Floats, Floats]:
    """Update scores (n_annotators, c) and taste distances (n_annotators,) of the annotators with active sites.

    With y = B'e and I = B'EB an annotator's residual and information, scores are L'y for loadings L = Sigma directions
    / root, and n distance^2 = tr(J Sigma) + |J Sigma y|^2 - tr(I Sigma J Sigma); the active sites add g' P g to I, P
    their local_precision_change.
    """
    tastes, sites, n = before.tastes, active.sites, active.sites.n_items
    size = np.linalg.norm(tastes.loadings, axis=0)
    reach = (tastes.loadings / np.maximum(size, 1e-150) ** 2).T @ tastes.taste
    centred = tastes.taste - tastes.taste.mean(axis=0)
    scores, distance = np.zeros((sites.n_annotators, len(size))), np.zeros(sites.n_annotators)
    scores[: len(tastes.scores)] = tastes.scores
    square = np.full(sites.n_annotators, float(np.trace(centred)))
    if before.annotators.taste_distance is not None:
        square[: len(tastes.scores)] = n * before.annotators.taste_distance**2
    spread = active.gain @ centred.T
    for annotator, rows in rows_by_annotator(sites).items():
        pull, before_pull = np.zeros(n), np.zeros(n)
        np.add.at(pull, sites.low[rows], result.shift_change[rows])
        np.subtract.at(pull, sites.high[rows], result.shift_change[rows])
        if annotator in annotators:
            one = annotators[annotator]
            towards = one.project(result.move + result.shift_change[rows] @ active.taste_side[rows])
            kept = one.residual - one.information @ towards
            both = one.to_items(np.stack([one.residual, kept]), n)
            before_pull, pull = both[0], pull + both[1]
        scores[annotator] = reach @ pull
        reached, reached_before = centred @ pull, centred @ before_pull
        held = np.einsum(
            "ij,ik,jk->", result.local_precision_change[np.ix_(rows, rows)], spread[rows], spread[rows], optimize=True
        )
        square[annotator] += reached @ reached - reached_before @ reached_before - held
    distance = np.sqrt(np.maximum(square, 1e-300) / max(1, n))
    return scores, distance
