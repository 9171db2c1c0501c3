"""A quick refit of a large CollaborativeGP after a few labels: only the sites they move are settled again."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.estimators.collaborative_posterior import CollaborativePosterior
from models_engine.estimators.collaborative_report import Found
from models_engine.inference.active_sites import Active, Known, Person, Settled, people_of, rows_of, settle
from models_engine.inference.batched_ep import Sites
from models_engine.inference.pair_sites import PairSites
from models_engine.summaries import AnnotatorSummary

__all__ = ["Matched", "matched_sites", "refit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TOLERANCE = 1e-3  # of the sites settled again: far below what new labels change
MOVED = 0.05  # in units of an answer's noise: an old answer whose margin moved by more is weighed again
MOST_ACTIVE = 1_500  # sites; with more, EP over everybody is as quick
ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Matched:
    """Sites of this fit as an earlier one knew them: precision, shift and copies (n_sites,), 0 where it did not.

    complete: whether every earlier site is still here (none was voided).
    """

    sites: Sites
    copies: Floats
    complete: bool


def matched_sites(old: PairSites, old_values: Sites, new: PairSites) -> Matched:
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
    return Matched(Sites(precision, shift), copies, int(found.sum()) == len(old))


def refit(
    sites: PairSites, matched: Matched, before: CollaborativePosterior, tick: Callable[[float], None]
) -> Found | None:
    """EP over the new sites, and those of their annotators that they move; None where that would not pay,
    did not converge, or rankings were given, whose sites share noise.

    All other sites keep their values, the scales and the shape of tastes those of the fit before. tick hears of steps.
    """
    fresh = matched.copies != sites.copies
    if sites.ranking is not None or not matched.complete or not 0 < fresh.sum() <= MOST_ACTIVE:
        return None
    tastes = before.tastes
    known = Known(tastes.taste, tastes.mean, tastes.covariance)
    old = np.flatnonzero(np.isin(sites.annotator, np.unique(sites.annotator[fresh])) & (matched.copies > 0))
    values = Sites(matched.sites.precision[old], matched.sites.shift[old])
    people = people_of(replace(sites, copies=matched.copies).select(old), values, known)
    for _ in range(ROUNDS):
        rows = np.flatnonzero(fresh)
        active = Active.of(sites.select(rows), people, known)
        start = Sites(matched.sites.precision[rows], matched.sites.shift[rows])
        settled = settle(active, start, matched.copies[rows], known, tolerance=TOLERANCE, on_iteration=tick)
        if settled.change >= TOLERANCE:
            return None
        moves = np.zeros(len(sites))
        moves[old] = margin_moves(active, settled, people, len(old))
        moved = ~fresh & (np.abs(moves) > MOVED)
        if not moved.any() or len(rows) + moved.sum() > MOST_ACTIVE:
            break
        fresh |= moved
    precision, shift = matched.sites.precision.copy(), matched.sites.shift.copy()
    precision[rows], shift[rows] = settled.sites.precision, settled.sites.shift
    scores, distance = _figures(before, active, settled, people)
    return Found(
        taste=tastes.taste,
        steepness=None,
        sites=Sites(precision, shift),
        mean=settled.mean,
        covariance=settled.covariance,
        loadings=tastes.loadings,
        scores=scores,
        figures=AnnotatorSummary(taste_distance=distance),
        log_evidence=before.diagnostics.objective[-1] + settled.gain,
        change=settled.change,
        n_iterations=settled.n_iterations,
        tolerance=TOLERANCE,
    )


def margin_moves(active: Active, settled: Settled, people: dict[int, Person], n_sites: int) -> Floats:
    """(n_sites,) how far the mean margin of each kept site of `people` has moved."""
    own, moves = rows_of(active.sites), np.zeros(n_sites)
    for annotator, person in people.items():
        rows = own.get(annotator, np.zeros(0, np.int64))
        towards = person.project(settled.move + settled.pull[rows] @ active.taste_side[rows])
        moves[person.rows] = person.margins(person.transfer @ towards)
    return moves


def _figures(
    before: CollaborativePosterior, active: Active, settled: Settled, people: dict[int, Person]
) -> tuple[Floats, Floats]:
    """Scores (n_annotators, c) and distances of tastes (n_annotators,): of those with active sites anew.

    With y = B'e and I = B'EB an annotator's pull and information, scores are L'y for loadings L = Sigma directions /
    root, and n distance^2 = tr(J Sigma) + |J Sigma y|^2 - tr(I Sigma J Sigma); the active sites add g' bend g to I.
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
    for annotator, rows in rows_of(sites).items():
        pull, before_pull = np.zeros(n), np.zeros(n)
        np.add.at(pull, sites.low[rows], settled.pull[rows])
        np.subtract.at(pull, sites.high[rows], settled.pull[rows])
        if annotator in people:
            person = people[annotator]
            towards = person.project(settled.move + settled.pull[rows] @ active.taste_side[rows])
            kept = person.residual - person.information @ towards
            both = person.back(np.stack([person.residual, kept]), n)
            before_pull, pull = both[0], pull + both[1]
        scores[annotator] = reach @ pull
        reached, reached_before = centred @ pull, centred @ before_pull
        held = np.einsum("ij,ik,jk->", settled.own_bend[np.ix_(rows, rows)], spread[rows], spread[rows], optimize=True)
        square[annotator] += reached @ reached - reached_before @ reached_before - held
    distance = np.sqrt(np.maximum(square, 1e-300) / max(1, n))
    return scores, distance
